"""Predictions against the table of model times in the notes, and what a fitted machine changes."""

from dataclasses import replace
from math import log, sqrt

import pytest
from hand_models import hand_models

from allreduce_bench.algorithms import AlgorithmError, builtin
from allreduce_bench.models.forms import Form
from allreduce_bench.models.machine import Machine, MachineError, Prices, bare_machine
from allreduce_bench.models.model import Model, ModelPart, Parameter, SizeEnd, SizeTime, bounds
from allreduce_bench.models.prediction import BEST, CompetingModels, Layout, competing_models, predict
from allreduce_bench.schedule.algorithm import Topology

ALPHA_S, BETA_S_PER_BYTE = 5e-6, 8e-11
BARE = bare_machine(ALPHA_S, BETA_S_PER_BYTE)
K, M = 1 << 10, 1 << 20
SIZES = (K, 16 * K, 128 * K, M, 16 * M, 64 * M, 1024 * M)
TABLE = {  # microseconds, of an event simulation of its own with the best segments
    (16, "ring"): (150, 153, 170, 307, 2667, 10216, 161211),
    (16, "recursive_doubling"): (20.3, 25.2, 61.9, 355, 5389, 21495, 343617),
    (16, "rabenseifner"): (40.2, 42.5, 59.7, 197, 2557, 10106, 161101),
    (16, "two_tree"): (65.5, 73.5, 130, 387, 3425, 12173, 177405),
    (128, "ring"): (1270, 1273, 1291, 1437, 3933, 11924, 171727),
    (128, "recursive_doubling"): (35.6, 44.2, 108, 622, 9430, 37616, 601330),
    (128, "rabenseifner"): (70.2, 72.6, 90.8, 237, 2733, 10724, 170527),
    (128, "two_tree"): (121, 136, 213, 528, 3821, 12910, 180188),
    (1024, "ring"): (10230, 10233, 10251, 10398, 12912, 20957, 181861),
    (1024, "rabenseifner"): (100, 103, 121, 268, 2782, 10827, 171731),
    (1024, "two_tree"): (182, 204, 297, 656, 4155, 13519, 182445),
    (24576, "ring"): (245750, 245753, 245771, 245918, 248434, 256487, 417542),
    (24576, "recursive_doubling"): (81.3, 101, 248, 1422, 21555, 85979, 1374470),
    (24576, "rabenseifner"): (150, 155, 192, 486, 5519, 21624, 343737),
    (24576, "two_tree"): (272, 305, 417, 828, 4573, 14264, 185156),
    (24576, "naive"): (124888, 155086, 380563, 2184375, 3.3e7, 1.3e8, 2.1e9),
}
ROUNDED = {"two_tree": 0.03, "naive": 0.03, "rabenseifner": 0.007}  # powers of two; two digits; blocks of whole bytes


@pytest.mark.parametrize("ranks, name", TABLE)
def test_bare_predictions_are_those_of_the_notes(ranks, name):
    times = [one.prediction.time_s * 1e6 for one in predict(BARE, [ranks], SIZES, algorithms=[name], segment=BEST)]
    assert times == pytest.approx(TABLE[ranks, name], rel=ROUNDED.get(name, 0.004))


def test_two_levels_are_those_of_the_notes():
    """8 ranks a node, 2 us and 100 GB/s within, p = 24576."""
    machine = bare_machine(ALPHA_S, BETA_S_PER_BYTE, within=Prices(2e-6, 1e-11))
    sizes = (K, M, 64 * M, 1024 * M)
    nested = predict(machine, [24576], sizes, 8, ["hierarchical_ring"])
    flat = predict(machine, [24576], sizes, 8, ["ring"])
    assert [one.prediction.time_s * 1e6 for one in nested] == pytest.approx([30738, 30777, 33254, 70996], rel=1e-3)
    assert [one.prediction.time_s * 1e6 for one in flat] == pytest.approx([245750, 245918, 256487, 417542], rel=1e-3)
    assert {one.nodes for one in nested} == {3072}


@pytest.mark.parametrize("size_bytes, pieces", [(M, 8), (16 * M, 33), (64 * M, 66), (1024 * M, 262)])
def test_the_best_segment_is_the_power_of_two_near_that_of_the_closed_form(size_bytes, pieces):
    (one,) = predict(BARE, [1024], [size_bytes], algorithms=["two_tree"], segment=BEST)
    assert one.segment_nbytes.bit_count() == 1 and 1 / sqrt(2) < size_bytes / 2 / one.segment_nbytes / pieces < sqrt(2)


def part(priced_as: str = "ring", alpha_s: float = 1e-6, beta: float = 1e-10, **form) -> ModelPart:
    found = [Parameter("alpha_s", "", 0.0, alpha_s, None, None, True)]
    found.append(Parameter("beta_s_per_byte", "", 0.0, beta, None, None, True))
    return ModelPart(priced_as, Form(**form), tuple(found))


RING = Model(
    "ring",
    (part(),),
    run="monday",
    dtype="float32",
    op="sum",
    itemsize=4,
    ranks=(2, 4, 8),
    size_bytes=(8, 16 * M),
    reach_log=0.1,
    reach_log_per_doubling=0.05,
)
TREE = replace(RING, competitor="two_tree", parts=(part("two_tree"),), segment=16 * K)


def test_times_of_a_fitted_machine_have_intervals_that_widen_and_are_speculative_far_away():
    cells = predict(Machine((RING,)), [4, 16, 17, 64], [64 * K])
    assert [one.prediction.speculative for one in cells] == [False, False, True, True]
    widths = [one.prediction.high_s / one.prediction.low_s for one in cells]
    assert widths == sorted(widths) and widths[0] < widths[1] < widths[3]
    assert cells[0].prediction.time_s == pytest.approx(6 * (1e-6 + 16 * K * 1e-10))


def test_pipelines_are_cut_as_they_were_measured_unless_one_asks():
    assert predict(Machine((TREE,)), [8], [M])[0].segment_nbytes == 64 * K
    assert predict(Machine((TREE,)), [8], [M], segment=8 * K)[0].segment_nbytes == 8 * K
    assert predict(BARE, [8], [M], algorithms=["tree"])[0].segment_nbytes == 128 * K
    assert predict(BARE, [8], [M], algorithms=["ring"])[0].segment_nbytes is None


def knotted() -> ModelPart:
    """Messages from 16 KiB up cost a rendezvous, and their bytes less."""
    names = [(name, above) for above in (0.0, 16.0 * K) for name in ("alpha_s", "beta_s_per_byte")]
    values = [1e-6, 4e-10, 2e-5, 1e-10]
    found = [Parameter(name, "", above, value, None, None, True) for (name, above), value in zip(names, values)]
    return ModelPart("two_tree", Form(knots=(16.0 * K,)), tuple(found))


@pytest.mark.parametrize("size_bytes", [100, 64 * K, M, 25 * M])
@pytest.mark.parametrize("found", [part("two_tree"), part("tree", alpha_s=1e-4), part("tree", beta=1e-12), knotted()])
def test_hardly_a_segment_is_better_than_the_best(found, size_bytes):
    is_better_by_at_most(1.03, Machine((replace(RING, competitor=found.priced_as, parts=(found,)),)), 24, size_bytes)


@pytest.mark.parametrize("ranks_per_node", [5, 16])
def test_hardly_a_segment_is_better_where_nodes_have_prices_of_their_own(ranks_per_node):
    machine = bare_machine(ALPHA_S, BETA_S_PER_BYTE, within=Prices(3e-6, 1 / 120e9))
    layout = {"ranks_per_node": ranks_per_node, "nic_bytes_per_s": 100e9}
    is_better_by_at_most(1.03, machine, 64, 25 * M, algorithms=["two_tree"], **layout)


def is_better_by_at_most(ratio: float, machine: Machine, ranks: int, size_bytes: int, **layout) -> None:
    (best,) = predict(machine, [ranks], [size_bytes], segment=BEST, **layout)
    pieces = [*range(1, 40), *(round(40 * 1.1**power) for power in range(70))]
    others = [
        predict(machine, [ranks], [size_bytes], segment=max(4, size_bytes // number), **layout) for number in pieces
    ]
    assert best.prediction.time_s <= min(other[0].prediction.time_s for other in others) * ratio


@pytest.mark.parametrize("alpha_s, beta, segment", [(0.0, 1e-10, 4), (1e-6, 0.0, M)])
def test_what_costs_nothing_is_used_freely(alpha_s, beta, segment):
    machine = Machine((replace(RING, competitor="tree", parts=(part("tree", alpha_s, beta),)),))
    assert predict(machine, [24], [M], segment=BEST)[0].segment_nbytes == segment


def test_models_compete_where_run_dtype_and_op_are_the_same():
    others = (replace(RING, run="tuesday"), replace(RING, competitor="ring@pipelined"), replace(RING, dtype="int32"))
    found = competing_models(Machine((RING, TREE, *others)))
    assert [(group.where, list(group.models)) for group in found] == [
        ("monday, float32 sum, warm cache", ["ring", "two_tree", "ring@pipelined"]),
        ("tuesday, float32 sum, warm cache", ["ring"]),
        ("monday, int32 sum, warm cache", ["ring"]),
    ]


def test_a_name_is_ours_or_the_logs():
    machine = Machine((replace(RING, competitor="ring_over"), TREE))
    for name in ("ring", "ring_over", "default-ring"):
        (group,) = competing_models(machine, [name])
        assert list(group.models) == ["ring_over"]


@pytest.mark.parametrize(
    "machine, name, kind, words",
    [
        (BARE, "rign", AlgorithmError, "unknown algorithm 'rign'; did you mean ring. 'allreduce-bench list' shows all"),
        (BARE, "native", MachineError, "unknown without measurements"),
        (
            Machine((RING, TREE)),
            "naive",
            MachineError,
            "naive was not.*file has ring, two_tree",
        ),
        (Machine((RING,)), "native", MachineError, "native was not fitted"),
        (
            Machine((RING,)),
            "rign",
            AlgorithmError,
            "algorithm 'rign'",
        ),
        (Machine(()), "ring", MachineError, "ring was not fitted"),
    ],
)
def test_what_was_not_fitted_is_refused(machine, name, kind, words):
    with pytest.raises(kind, match=words):
        predict(machine, [4], [8], algorithms=[name])


def test_a_machine_without_models_is_refused():
    with pytest.raises(MachineError, match="holds no model"):
        competing_models(Machine(()))


def test_two_levels_need_to_know_the_nodes():
    links = [(name, link) for link in ("within", "between") for name in ("alpha_s", "beta_s_per_byte")]
    prices = tuple(Parameter(name, link, 0.0, 1e-6, None, None, True) for name, link in links)
    machine = Machine((replace(RING, parts=(ModelPart("ring", Form(levels=2), prices),)),))
    with pytest.raises(MachineError, match="ring: its model"):
        predict(machine, [8], [64])
    assert predict(machine, [8], [64], ranks_per_node=4)[0].nodes == 2
    known = replace(machine.models[0], ranks_per_node=2.0)
    assert predict(Machine((known,)), [8], [64])[0].nodes == 4


def test_a_library_is_as_fast_as_the_part_that_it_would_switch_to():
    native = replace(RING, competitor="native", parts=(part("ring"), part("recursive_doubling")))
    small, large = predict(Machine((native,)), [16], [8, 16 * M])
    assert small.prediction.time_s == pytest.approx(4 * (1e-6 + 8e-10))
    assert large.prediction.time_s == pytest.approx(30 * (1e-6 + M * 1e-10))


def test_beyond_four_times_the_measured_sizes_there_is_no_time_unless_requested():
    group, farther = CompetingModels([RING]), CompetingModels([RING], FARTHER)
    near, far = group.at("ring", 4, 64 * M), group.at("ring", 4, 65 * M)
    assert near.prediction.speculative and near.prediction.size_factor == 4 and not near.cannot
    assert (
        far.prediction is None
        and far.cannot
        == "ring: no time beyond 4 times the measured sizes (8 B to 16 MiB) unless --extrapolate is given"
    )
    assert farther.at("ring", 4, 65 * M).prediction.time_s > near.prediction.time_s
    assert not group.at("ring", 4, 16 * M).prediction.speculative and group.at("ring", 4, 2).prediction.speculative
    assert group.winner(4, 65 * M) is None and CompetingModels(list(BARE.models)).at("ring", 4, 1).prediction


def test_nobody_is_the_fastest_of_all_where_another_is_refused():
    """Of the tree, measured up to 4 KiB only, nothing is known at 64 KiB."""
    group = CompetingModels([RING, replace(TREE, size_bytes=(8, 4 * K))])
    assert group.winner(4, 4 * K) and group.at("two_tree", 4, 64 * K).too_far
    assert group.at("ring", 4, 64 * K).prediction and group.winner(4, 64 * K) is None
    asked = CompetingModels([RING, replace(TREE, size_bytes=(8, 4 * K))], FARTHER)
    assert asked.winner(4, 64 * K) is not None


def test_the_winner_at_the_most_ranks_is_kept_as_far_as_it_is_as_good():
    """On 8 ranks the tree was faster at 1 MiB, where the models have the ring; between powers of two they count."""
    times = {"ring": (1e-6, 1e-3), "two_tree": (2e-6, 1e-4)}
    kept = [
        replace(model, winner_kept_to=16, at_most_ranks=tuple(map(SizeTime, (8, M), times[model.algorithm])))
        for model in (RING, TREE)
    ]
    group = CompetingModels(kept)
    alone = CompetingModels([replace(model, winner_kept_to=0) for model in kept])
    assert [group.winner(16, size_bytes).series for size_bytes in (8, M)] == ["ring", "two_tree"] and not group.equals(
        16, M
    )
    for ranks in (8, 12, 32):
        assert not group.keeps_winner(ranks) and group.winner(ranks, M) == alone.winner(ranks, M)
    assert alone.winner(16, M).series == "ring"
    assert not CompetingModels(kept, Layout(2)).keeps_winner(16)
    assert group.winner(16, 128 * M) is None  # too far from the measured sizes


def test_those_are_equal_whose_times_lie_in_each_others_intervals():
    near = replace(RING, competitor="naive", parts=(part("ring", alpha_s=1.08e-6, beta=1.08e-10),))
    apart = replace(RING, competitor="naive", parts=(part("ring", alpha_s=1.2e-6, beta=1.2e-10),))
    assert CompetingModels([RING, near]).equals(4, M) == ["naive"]
    assert CompetingModels([RING, apart]).equals(4, M) == []
    sure = replace(near, reach_log=0.01)  # whose own interval does not hold the ring's time
    assert CompetingModels([RING, sure]).equals(4, M) == []
    assert CompetingModels([replace(RING, reach_log=None), near]).equals(4, M) == []


def test_beyond_the_measured_sizes_a_model_follows_the_times_at_their_end_and_its_interval_widens():
    """Times at 16 MiB are twice the model's on 4 ranks and as the model's on 16: on 8 they are sqrt(2) times."""
    off = replace(RING, reach_log=0.1, reach_log_per_doubling=0.03, largest=(SizeEnd(4, log(2)), SizeEnd(16, 0.0)))
    models, follows = CompetingModels([replace(off, largest=())]), CompetingModels([off])
    for ranks, factor in ((4, 2), (8, sqrt(2)), (16, 1)):
        alone, shifted = (group.at("ring", ranks, 64 * M).prediction for group in (models, follows))
        assert shifted.time_s == pytest.approx(factor * alone.time_s)
        assert shifted.high_s / shifted.time_s == pytest.approx(alone.high_s / alone.time_s)
    widths = [one.high_s / one.time_s for one in (follows.at("ring", 4, n * M).prediction for n in (16, 32, 64))]
    assert widths == sorted(set(widths))
    within = [group.at("ring", 4, 16 * M).prediction for group in (models, follows)]
    assert within[0] == within[1] and follows.at("ring", 4, 16 * M + 4).prediction.time_s < within[0].time_s * 1.001


def test_below_the_sizes_ranks_without_times_at_their_end_take_half_of_the_uniform_fit():
    """The uniform fit takes four times as long: a time on 32 ranks becomes twice the model's, that on 8 follows."""
    uniform = part("ring", alpha_s=4e-6, beta=4e-10)
    ends = (SizeEnd(4, log(2)), SizeEnd(16, log(2)))
    one = replace(RING, size_bytes=(64, M), reach_log=0.1, reach_log_per_doubling=0.1, uniform=uniform, smallest=ends)
    group, alone = CompetingModels([one]), CompetingModels([replace(one, smallest=(), uniform=None)])
    for ranks, size_bytes, factor in (
        (32, 32, 2),
        (32, 16, 2),
        (8, 16, 2),
        (8, 32, sqrt(2)),
        (2, 48, 4 ** (0.415 / 2)),
    ):
        times = [models.at("ring", ranks, size_bytes).prediction.time_s for models in (group, alone)]
        assert times[0] == pytest.approx(factor * times[1], rel=0.001)
    below, above = (group.at("ring", 8, size_bytes).prediction for size_bytes in (32, 2 * M))
    assert log(below.high_s / below.time_s) == pytest.approx(0.25) and log(above.high_s / above.time_s) < 0.21


def test_a_library_grows_half_as_its_times_at_the_end_do():
    """Its model stays flat, its times fall with the size: to a quarter the geometric mean halves."""
    ends = (SizeEnd(4, 0.0, 1.0), SizeEnd(16, 0.0, 1.0))
    group = CompetingModels([replace(RING, competitor="native", size_bytes=(64, M), smallest=ends)])
    at_end, below = (group.at("native", 4, size_bytes).prediction.time_s for size_bytes in (64, 16))
    assert below == pytest.approx(at_end / 2, rel=0.01)


def test_what_an_algorithm_needs_is_respected(monkeypatch):
    choosy = builtin()["ring"]._replace(needs=frozenset({"power-of-two"}))
    monkeypatch.setitem(builtin(), "ring", choosy)
    group = CompetingModels([RING, replace(RING, competitor="naive", parts=(part("naive"),))])
    assert group.at("ring", 6, 64 * K).prediction is None
    cannot = group.at("ring", 6, 64 * K).cannot
    assert cannot and cannot == choosy.unmet(6, Topology.one_node(6))
    assert [group.fastest(ranks, M).series for ranks in (6, 8)] == ["naive", "ring"]


def test_of_equals_the_one_with_the_shortest_name_wins():
    (group,) = competing_models(BARE, ["hierarchical_ring", "parameter_server_sharded", "ring"])
    assert group.fastest(7, M).series == "ring"


def test_no_prediction_is_below_the_bounds():
    for machine in (BARE, bare_machine(ALPHA_S, BETA_S_PER_BYTE, 1e-11, Prices(1e-6, 1e-11))):
        for one in predict(machine, [2, 3, 8, 24, 64, 100], [8, 64 * K, 16 * M], 8, segment=BEST):
            least = bounds(machine.models, one.ranks, one.nodes, one.size_bytes)
            assert one.prediction.time_s >= max(least) * (1 - 1e-12), one


FARTHER = Layout(extrapolate=True)  # than 4 times the measured sizes


def flat(measured: int = M, beta: float = 0.0) -> Model:
    """A library whose times do not depend on the size, as far as that was measured: 9.2 ms."""
    found = (
        Parameter("call_s", "", 0.0, 9.233e-3, 9e-3, 9.4e-3, True),
        Parameter("alpha_s", "", 0.0, 0.0, None, 1e-4, False),
        Parameter("beta_s_per_byte", "", 0.0, beta, None, 9.233e-3 / measured, False),
    )
    fields = {"ranks": (2, 4), "size_bytes": (8, measured), "reach_log": 0.05}
    return Model("native", (ModelPart("rabenseifner", Form(call=True), found),), **fields)


def measured_ring() -> Model:
    ring = next(model for model in bare_machine(5e-6, 4e-9).models if model.algorithm == "ring")
    return replace(ring, ranks=(2, 4), size_bytes=(8, M), reach_log=0.05)


@pytest.mark.parametrize("beta", [0.0, 1.6e-10])
def test_a_model_that_knows_no_bytes_has_no_time_below_the_bound_and_is_never_the_fastest(beta):
    group = CompetingModels([flat(beta=beta), measured_ring()], FARTHER)
    small, large = group.at("native", 4, 8), group.at("native", 4, 16 * M)
    assert small.prediction.unidentified == "beta" and group.winner(4, 8).series == "ring"
    assert group.bounds(4, 16 * M).bandwidth_s == pytest.approx(1.5 * 16 * M * 4e-9)
    assert (large.prediction, large.limit) == (None, "bandwidth") and "beta not identified" in large.cannot
    assert group.fastest(4, 16 * M).series == "ring" and group.winner(4, 16 * M) is None
    alone = CompetingModels([flat(beta=beta)])
    assert alone.winner(4, 8) is None


def bounded_alpha(reach_log: float, call: bool = False) -> Model:
    """A library whose messages cost at most 134 us, whatever the width of its intervals."""
    found = (
        Parameter("alpha_s", "", 0.0, 1.44e-5, None, 1.34e-4, False),
        Parameter("beta_s_per_byte", "", 0.0, 3.2e-10, 1e-10, 1.7e-9, True),
    )
    found = (Parameter("call_s", "", 0.0, 1e-4, 9e-5, 1.1e-4, True), *found) if call else found
    fields = {"ranks": (2, 3), "size_bytes": (8, M), "reach_log": reach_log}
    return Model("native", (ModelPart("rabenseifner", Form(call=call), found),), **fields)


@pytest.mark.parametrize("reach_log", [0.05, 0.9, 3.2])
def test_a_wide_interval_identifies_nothing(reach_log):
    group = CompetingModels([bounded_alpha(reach_log), measured_ring()], FARTHER)
    assert group.at("native", 4, 64 * K).prediction.unidentified == "alpha"
    assert group.fastest(4, 64 * K).series == "native" and group.winner(4, 64 * K) is None
    assert group.at("native", 4, 64 * M).prediction.unidentified == ""  # 480 us of 33 ms


def test_a_call_stands_for_messages_only_near_to_the_measured_ranks():
    group = CompetingModels([bounded_alpha(0.1, call=True)])
    found = {ranks: group.at("native", ranks, 8).prediction for ranks in (2, 6, 7, 64)}
    assert [one.unidentified for one in found.values()] == ["", "", "alpha", "alpha"]


def test_a_library_may_take_less_where_its_model_does():
    """On 4 ranks it need not fold, as on the 3 that were measured: what these took at least says nothing of it."""
    group = CompetingModels([bounded_alpha(0.1)])
    three, four = (group.at("native", ranks, M).prediction for ranks in (3, 4))
    assert four.time_s < three.least_s and four.least_s < four.time_s


def test_a_time_that_was_measured_shows_that_a_bound_is_none():
    """Native took less for 16 MiB than the ring's beta allows any algorithm: then its own beta counts, too."""
    group = CompetingModels([flat(16 * M, 1.6e-10), measured_ring()])
    native = group.at("native", 4, 16 * M)
    assert native.prediction and native.prediction.unidentified == "beta" and group.winner(4, 16 * M) is None
    assert group.bounds(4, 16 * M).bandwidth_s == pytest.approx(1.5 * 16 * M * 1.6e-10)


def test_an_identified_model_is_raised_to_the_bound_of_the_others():
    two = part("ring")
    parameters = (two.parameters[0]._replace(value=0.0), *two.parameters[1:])
    lean = replace(RING, parts=(two._replace(parameters=parameters),))
    group = CompetingModels([lean, replace(RING, competitor="two_tree", parts=(part("two_tree"),))])
    raised = group.at("ring", 8, 8)
    assert raised.limit == "latency" and raised.prediction.time_s == pytest.approx(group.bounds(8, 8).latency_s)
    assert raised.prediction.time_s <= raised.prediction.high_s and group.winner(8, 8) is None


def test_nothing_is_below_the_bounds():
    machines = [Machine(tuple(hand_models(("native", "ring", "two_tree"))))]
    machines += [bare_machine(5e-6, 3.2e-10, within=Prices(1e-6, 5e-12))]
    machines += [Machine((flat(), measured_ring())), Machine((flat(16 * M), measured_ring()))]
    for machine in machines:
        layouts = [Layout(4, extrapolate=True), Layout(4, nic_bytes_per_s=3.125e9, extrapolate=True)]
        for group in [group for layout in layouts for group in competing_models(machine, layout=layout)]:
            for ranks, size_bytes in ((4, 8), (8, 64 * K), (12, 16 * M), (64, 1024 * M)):
                least, low_end = (max(group.bounds(ranks, size_bytes, low)) * (1 - 1e-9) for low in (False, True))
                for one in (group.at(series, ranks, size_bytes) for series in group.models):
                    if one.prediction:
                        assert one.prediction.time_s >= least and (one.prediction.low_s or least) >= low_end


def test_the_ranks_of_a_node_wait_for_their_port():
    """VGG-16 on 512 ranks of 128 nodes: 2 127/128 n bytes leave a node at 25 Gbit/s."""
    size_bytes, rate = 553_430_176, 3.125e9
    machine = bare_machine(5e-6, 1 / rate, within=Prices(1e-6, 5e-12))
    own, shared = (
        {one.series: one for one in predict(machine, [512], [size_bytes], 4, nic_bytes_per_s=port)}
        for port in (None, rate)
    )
    least_s = 2 * 127 / 128 * size_bytes / rate
    assert own["rabenseifner"].prediction.time_s < 0.3 * least_s
    assert all(one.prediction.time_s >= least_s for one in shared.values())
    ring, flat_ring = shared["hierarchical_ring"], shared["ring"]
    assert ring.limit == "port" and ring.prediction.time_s == pytest.approx(least_s, rel=0.03)
    assert flat_ring.limit == "" and flat_ring.prediction == own["ring"].prediction
    assert shared["recursive_doubling"].prediction.time_s > 4 * 7 * size_bytes / rate


def test_an_interval_reaches_down_to_the_bounds_at_the_lower_ends():
    """The bound is an estimate: beta 300 ps/B may be 27, so a time may be shorter than the bound at 300 ps/B."""
    (own,) = RING.parts
    alpha, beta = own.parameters
    wide = own._replace(parameters=(alpha._replace(low=5e-7, high=2e-6), beta._replace(low=1e-11, high=1e-9)))
    group = CompetingModels([replace(RING, parts=(wide,), reach_log=3.2)])
    found = group.at("ring", 4, 16 * M)
    assert found.prediction.time_s >= group.bounds(4, 16 * M).bandwidth_s == pytest.approx(1.5 * 16 * M * 1e-10)
    assert found.prediction.low_s < 0.2 * found.prediction.time_s
    assert found.prediction.low_s >= group.bounds(4, 16 * M, at_low_ends=True).bandwidth_s
    assert group.bounds(4, 16 * M, at_low_ends=True) == pytest.approx((2 * 5e-7, 1.5 * 16 * M * 1e-11))


def test_a_library_whose_port_nobody_knows_is_not_the_fastest_where_others_wait_for_theirs():
    native = replace(RING, competitor="native", parts=(part("rabenseifner", 9e-7, 9e-11),))
    halving = replace(RING, competitor="rabenseifner", parts=(part("rabenseifner"),))
    for rate, told in ((None, True), (1e12, True), (2e10, False)):
        group = CompetingModels([native, halving], Layout(4, nic_bytes_per_s=rate))
        own, ours = (group.at(series, 16, 64 * K) for series in ("native", "rabenseifner"))
        assert own.no_port == bool(rate) and not ours.no_port
        assert own.limit == "" and (ours.limit == "port") != told and group.is_lower_bound(own) != told
        assert group.fastest(16, 64 * K).series == "native" and (group.winner(16, 64 * K) is not None) == told
        assert group.at("native", 4, 64 * K).no_port is False  # one node


def test_given_prices_are_those_of_algorithms_with_parameters_too():
    names = ["hierarchical:ring+ring", "hierarchical_ring", "torus:2x4", "hierarchical:ring+naive"]
    found = {one.series: one.prediction for one in predict(BARE, [8], [1 << 20], 4, names)}
    assert found.keys() == set(names) and found["hierarchical:ring+naive"] is None
    assert found["hierarchical:ring+ring"].time_s == found["hierarchical_ring"].time_s > 0
    assert found["torus:2x4"].time_s > 0
