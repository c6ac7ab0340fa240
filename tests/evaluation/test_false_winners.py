"""False winners: a sample of tests/studies/winners.py."""

import numpy as np
import pytest
from drawn_tables import SCENARIOS, SIZES, Setting, drawn_table
from interpreters import in_turn, interpreters
from twins import beside_load, measured_twins
from winners import is_too_often, made_tables, outcome, share, winners_of

from allreduce_bench.evaluation.summary import judge_rows


def drawn(scenario, seed=1, **changed):
    values = {"launches": 5, "spread": 1e-4, "algorithms": 3, "calls": 20, **changed}
    return drawn_table(np.random.default_rng(seed), Setting(scenario, **values))


@pytest.fixture
def without_noise(monkeypatch):
    """Calls that all take the true time, but for the spread of launches."""
    monkeypatch.setattr("drawn_tables.NOISE", 1e-4)
    monkeypatch.setattr("drawn_tables.CELLS_A_SPIKE", float("inf"))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_drawn_table_knows_its_truth(scenario):
    table = drawn(scenario)
    assert len(table.rows) == 3 * len(SIZES) and set(table.fastest) == {*SIZES}
    assert {len(row["launch_medians"]) for row in table.rows} == {5}
    names = {*table.fastest.values()}
    assert len(names) == {"equal": 1, "faster": 1, "crossing": 2, "two states": 1}[scenario]
    assert (None in names) == (scenario in ("equal", "two states")) and (table.switch is not None) == (len(names) == 2)


def test_without_noise_the_faster_one_wins_everywhere_and_the_switch_is_found(without_noise):
    assert outcome(drawn("faster")) == (0, 0, False, 0, len(SIZES), None)
    false, _, is_missed, missed, _, off = outcome(drawn("crossing"))
    assert (false, is_missed) == (0, False) and missed <= 2 and off < 1


def test_a_winner_among_equals_is_counted_as_false(without_noise):
    table = drawn("equal")
    for row in table.rows:
        if row["competitor"] == "a1":
            row["time_s"] /= 2
            row["launch_medians"] = {name: time_s / 2 for name, time_s in row["launch_medians"].items()}
    assert (outcome(table).false, outcome(table).false_cells) == (1, len(SIZES))


def test_shares_come_with_their_interval(capsys):
    assert share(20, 400) == "5.0 % [3.3, 7.6]"
    assert not is_too_often(15, 400) and is_too_often(25, 400) and not is_too_often(0, 0)
    made_tables(1, [3], 1, algorithms=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 16 and lines[-1].startswith("two states, 10%, 50%, 3")


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_the_ring_is_measured_beside_its_twin_and_load_ends(python):
    in_turn(1, python)
    with beside_load() as loops:
        (rows,) = measured_twins(python, 1, launches=1)
        assert loops and all(loop.poll() is None for loop in loops)
    assert all(loop.returncode is not None for loop in loops)
    assert {row["competitor"] for row in rows if row["state"] == "done"} == {"ring", "ring_b"}
    assert winners_of(judge_rows(rows)) <= {(2, row["size_bytes"], row["competitor"]) for row in rows}
