"""The maps of winners of the example machines are those that `predict --map` prints."""

from click.testing import CliRunner

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.pages.gallery.charts import MACHINES, MAP_SIZES, winners_on


def test_a_map_has_a_winner_for_every_field():
    for machine in MACHINES:
        won = winners_on(machine, MAP_SIZES[:1])
        assert len(won.winners) == len(machine.ranks) and all(len(row) == 1 for row in won.winners)
        assert all(row[0] in builtin() for row in won.winners)
        assert sum(won.cells_of(name) for name in builtin()) == len(machine.ranks)


def test_a_map_is_what_predict_says():
    machine = MACHINES[2]
    won = winners_on(machine._replace(ranks=(16, 48)), [8, 1 << 20])
    words = "predict -n 16,48 --sizes 8,1M --alpha 5us --bandwidth 100Gbit --map --ranks-per-node 8"
    result = CliRunner().invoke(main, [*words.split(), "--alpha-within", "1us", "--bandwidth-within", "400Gbit"])
    rows = [line.split()[1:] for line in result.stdout.splitlines() if line.split()[:1] in (["16"], ["48"])]
    assert rows == [list(row) for row in won.winners]


def test_prices_are_told_with_their_units():
    assert [machine.prices_text for machine in MACHINES] == [
        "a message 0.500 us, 80 Gbit/s",
        "a message 30.0 us, 10 Gbit/s",
        "between nodes, whose ranks share the port: a message 5.00 us, 100 Gbit/s; "
        "within a node of 8 ranks: a message 1.00 us, 400 Gbit/s",
    ]
