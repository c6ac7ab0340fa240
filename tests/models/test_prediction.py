"""Predictions against the table of model times in the notes, and what measured times change."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hand_models import hand_model, hand_models

from allreduce_bench.algorithms import AlgorithmError, builtin
from allreduce_bench.models.bounds import bounds
from allreduce_bench.models.intervals import FAR, NEAR, HeldOut, Range
from allreduce_bench.models.machine import Machine, MachineError, Prices, bare_machine
from allreduce_bench.models.prediction import BEST, CompetingModels, Layout, Predicted, competing_models
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


def predict(
    machine: Machine,
    ranks: Sequence[int],
    sizes: Sequence[int],
    names: Iterable[str] = (),
    layout: Layout = Layout(),  # noqa: B008  # a tuple: it cannot change
) -> list[Predicted]:
    """The predictions of all models at each of `ranks` and `sizes`."""
    return [
        group.predict(series, number, size_bytes)
        for group in competing_models(machine, names, layout)
        for number in ranks
        for size_bytes in sizes
        for series in group.models
    ]


@pytest.mark.parametrize("ranks, name", TABLE)
def test_bare_predictions_are_those_of_the_notes(ranks, name):
    times = [one.time_s * 1e6 for one in predict(BARE, [ranks], SIZES, [name], Layout(segment=BEST))]
    assert times == pytest.approx(TABLE[ranks, name], rel=ROUNDED.get(name, 0.004))


def test_two_levels_are_those_of_the_notes():
    """8 ranks a node, 2 us and 100 GB/s within, p = 24576."""
    machine = bare_machine(ALPHA_S, BETA_S_PER_BYTE, within=Prices(2e-6, 1e-11))
    sizes = (K, M, 64 * M, 1024 * M)
    nested = predict(machine, [24576], sizes, ["hierarchical_ring"], Layout(8))
    flat = predict(machine, [24576], sizes, ["ring"], Layout(8))
    assert [one.time_s * 1e6 for one in nested] == pytest.approx([30738, 30777, 33254, 70996], rel=1e-3)
    assert [one.time_s * 1e6 for one in flat] == pytest.approx([245750, 245918, 256487, 417542], rel=1e-3)
    assert {one.nodes for one in nested} == {3072}
    with pytest.raises(MachineError, match="ranks-per-node"):
        predict(machine, [24576], sizes, ["ring"])


@pytest.mark.parametrize("size_bytes, pieces", [(M, 8), (16 * M, 33), (64 * M, 66), (1024 * M, 262)])
def test_the_best_segment_is_the_power_of_two_near_that_of_the_closed_form(size_bytes, pieces):
    (one,) = predict(BARE, [1024], [size_bytes], ["two_tree"], Layout(segment=BEST))
    assert one.segment_nbytes.bit_count() == 1 and 1 / sqrt(2) < size_bytes / 2 / one.segment_nbytes / pieces < sqrt(2)


def test_no_best_segment_takes_much_longer_than_the_least_of_all():
    """700 random layouts and prices: within 1.05 times the least over segments of all lengths, four an octave."""
    random, beyond = np.random.default_rng(1), []
    for number in range(700):
        nodes, per_node = int(2 ** random.uniform(1, 10)), int(2 ** random.uniform(0, 5))
        alphas, betas = 10 ** random.uniform(-6.5, -4, 2), 10 ** random.uniform(-11.5, -9, 2)
        machine = bare_machine(alphas[0], betas[0], 0.0, Prices(alphas[1], betas[1]))
        size_bytes, name = int(2 ** random.uniform(4, 28)), ("tree", "two_tree", "dual_root")[number % 3]
        (group,) = competing_models(machine, [name], Layout(per_node, BEST, 4))
        found, model = group.predict(name, nodes * per_node, size_bytes), group.models[name]
        count = max(1, size_bytes // 4)
        lengths = {min(count, round(2 ** (step / 4))) for step in range(4 * count.bit_length() + 1)}
        least_s = min(model.price_s(nodes * per_node, nodes, size_bytes, segment) for segment in lengths)
        beyond.append(found.time_s / least_s)
    assert max(beyond) <= 1.05 and min(beyond) > 0.9


RING, TREE = (hand_model(name, (2, 4, 8), run="monday") for name in ("ring", "tree"))


def scaled(model, factor):
    """The model with times of `factor(ranks, size_bytes)` times what its prices say."""
    cells = (cell._replace(time_s=cell.time_s * factor(cell.ranks, cell.size_bytes)) for cell in model.cells)
    return replace(model, cells=tuple(cells))


def test_a_measured_cell_gives_its_time_and_others_begin_at_it():
    group = CompetingModels([scaled(RING, lambda p, n: 3.0)])
    measured, beyond = group.predict("ring", 8, 1024), group.predict("ring", 16, 1024)
    assert measured.is_measured and measured.time_s == next(
        3 * cell.time_s for cell in RING.cells if cell[:3] == (8, 0, 1024)
    )
    alone = RING.price_s(16, None, 1024, None)
    assert beyond.time_s == pytest.approx(3 * alone) and not beyond.is_measured
    assert (beyond.low_s, beyond.high_s) == pytest.approx((beyond.time_s / 1.8, beyond.time_s * 1.8))


def test_intervals_widen_with_the_distance_and_end():
    """2 times: 1.8; 8 times: 3; beyond: none without asking, and then speculative."""
    group, asked = CompetingModels([RING]), CompetingModels([RING], Layout(extrapolate=True))
    found = [group.predict("ring", ranks, 1024) for ranks in (16, 17, 64)]
    widths = [one.high_s / one.time_s for one in found]
    assert widths == pytest.approx([1.8, 3, 3])
    refused, far = group.predict("ring", 65, 1024), asked.predict("ring", 65, 1024)
    assert refused.time_s is None and refused.is_refused and "8 times the measured ranks" in refused.cannot
    assert far.is_speculative and far.time_s > 0 and far.low_s is None
    assert CompetingModels([hand_model("ring", (32, 64))]).predict("ring", 4, 8).high_s
    assert group.predict("ring", 3, 8).high_s


def test_where_enough_ratios_were_held_out_their_range_counts():
    known = replace(RING, ranges=(Range(NEAR, 0.9, 1.2, 12), Range(FAR, 0.5, 1.5, 9)))
    group = CompetingModels([known])
    near, far = group.predict("ring", 16, 1024), group.predict("ring", 32, 1024)
    assert (near.low_s, near.high_s) == pytest.approx((0.9 * near.time_s, 1.2 * near.time_s))
    assert far.high_s == pytest.approx(3 * far.time_s)


def test_sizes_far_beyond_the_measured_ones_are_refused():
    group, asked = CompetingModels([RING]), CompetingModels([RING], Layout(extrapolate=True))
    near, far = group.predict("ring", 4, 16 * M), group.predict("ring", 4, 17 * M)
    assert near.high_s == pytest.approx(4 * near.time_s, rel=0.05) and far.time_s is None
    assert "4 times the measured sizes (8 B to 4 MiB)" in far.cannot
    assert asked.predict("ring", 4, 17 * M).is_speculative
    assert group.predict("ring", 4, 4).time_s == group.predict("ring", 4, 8).time_s


def test_a_model_of_no_use_predicts_nothing_but_what_was_measured():
    useless = replace(RING, held_out=HeldOut(0.4, 1.3, 10))
    group, asked = CompetingModels([useless]), CompetingModels([useless], Layout(extrapolate=True))
    refused = group.predict("ring", 16, 1024)
    assert refused.time_s is None and "do not use this model" in refused.cannot and "130%" in refused.cannot
    assert asked.predict("ring", 16, 1024).time_s and group.predict("ring", 8, 1024).is_measured


def test_the_winner_at_the_largest_ranks_is_kept_unless_another_is_beyond_its_interval():
    """The tree is slower on 8 ranks at 8 B. On 16 the ring takes more, within 1.8 times; on 64 more than 3 times."""
    slow = scaled(TREE, lambda p, n: 1.6)
    group = CompetingModels([RING, slow])
    ratios = {p: group.predict("ring", p, 8).time_s / group.predict("tree", p, 8).time_s for p in (8, 16, 64)}
    assert ratios[8] < 1 < ratios[16] < 1.8 < 3 < ratios[64]
    found = {p: group.fastest(p, 8) for p in ratios}
    assert [found[p].predicted.series for p in ratios] == ["ring", "ring", "tree"]
    assert [found[p].is_sure for p in ratios] == [True, True, False]


def test_series_without_a_common_number_of_ranks_are_compared_by_prediction_alone():
    group = CompetingModels([RING, hand_model("tree", (3, 6))])
    assert group.fastest(8, 4 * M).predicted.series == "ring" and not group.fastest(8, 4 * M).is_sure
    assert CompetingModels([RING]).fastest(5, 8).is_sure


def test_other_links_change_the_times_as_they_change_the_price():
    """Ten times the beta: long vectors take ten times as long, short ones as before, scaled as they were measured."""
    measured = scaled(RING, lambda p, n: 2.0)
    beta = RING.parameters[1].value
    group, slower = CompetingModels([measured]), CompetingModels([measured], Layout(beta_s_per_byte=10 * beta))
    for size_bytes, least, most in ((4 * M, 9, 10), (8, 1, 1.01)):
        ratio = slower.predict("ring", 8, size_bytes).time_s / group.predict("ring", 8, size_bytes).time_s
        assert least <= ratio <= most
    assert not slower.predict("ring", 8, 8).is_measured and slower.predict("ring", 8, 8).low_s
    with_gamma = CompetingModels([measured], Layout(beta_s_per_byte=beta, gamma_s_per_byte=beta))
    expected_s = 1.5 * group.predict("ring", 8, 4 * M).time_s
    assert with_gamma.predict("ring", 8, 4 * M).time_s == pytest.approx(expected_s, rel=0.02)


@pytest.mark.parametrize("times", [0.1, 1.0, 10.0])
def test_with_other_links_times_do_not_fall_as_sizes_grow(times):
    """Measured at 8 B were times of 1 MiB."""
    odd = scaled(RING, lambda p, n: 1000.0 if n == 8 else 1.0)
    group = CompetingModels([odd], Layout(beta_s_per_byte=times * RING.parameters[1].value * 1.001))
    sizes = 2 ** np.arange(2, 24)
    for ranks in (*RING.ranks, 6):
        predicted = [group.predict("ring", ranks, int(size)) for size in sizes]
        assert (np.diff([one.time_s for one in predicted]) >= 0).all()
        assert all(one.low_s <= one.time_s <= one.high_s for one in predicted)


def test_faster_links_leave_the_time_of_a_short_vector():
    """The model has no alpha: a longer vector, priced by its bytes alone, would take less than 8 B were measured."""
    late = scaled(RING, lambda p, n: 1000.0 if n <= 1024 else 1.0)
    group = CompetingModels([late], Layout(beta_s_per_byte=RING.parameters[1].value / 250))
    measured = next(cell.time_s for cell in late.cells if (cell.ranks, cell.size_bytes) == (4, 8))
    assert group.predict("ring", 4, 8).time_s == pytest.approx(measured, rel=0.2)


def test_another_segment_changes_the_time_as_it_changes_the_price():
    tree = hand_model("two_tree", (4, 8))
    whole, cut = CompetingModels([tree]), CompetingModels([tree], Layout(segment=4 * K))
    measured, other = whole.predict("two_tree", 8, 4 * M), cut.predict("two_tree", 8, 4 * M)
    priced = [tree.price_s(8, None, 4 * M, elements) for elements in (32 * K, K)]
    assert measured.is_measured and other.time_s / measured.time_s == pytest.approx(priced[1] / priced[0])
    assert (measured.segment_nbytes, other.segment_nbytes, other.is_measured) == (128 * K, 4 * K, False)


@pytest.mark.parametrize("has_cells", [False, True])
def test_no_prediction_is_below_the_bounds(has_cells):
    """2,000 random prices, ranks, layouts and sizes, of given prices and of measured times that stray from them."""
    random, below = np.random.default_rng(2), 0
    for number in range(1000):
        alpha, within = 10 ** random.uniform(-7, -4, 2)
        beta, beta_within = 10 ** random.uniform(-12, -8, 2)
        per_node = int(2 ** random.uniform(0, 5)) if number % 2 else 1
        if has_cells:
            names = random.choice(["ring", "tree", "recursive_doubling", "rabenseifner"], 2, replace=False)
            models = [hand_model(str(name), (2, 4, 8), prices=(alpha, beta), sizes=(8, 4 * K, M)) for name in names]
            strays = random.lognormal(0, 0.7, (9, 2))
            models = [
                replace(
                    model, cells=tuple(c._replace(time_s=c.time_s * s) for c, s in zip(model.cells, strays[:, place]))
                )
                for place, model in enumerate(models)
            ]
            machine = Machine(tuple(models))
        else:
            machine = bare_machine(alpha, beta, 0.0, Prices(within, beta_within) if number % 3 else None)
        port = 1 / beta if number % 5 == 0 else None
        layout = Layout(per_node, BEST, 4, nic_bytes_per_s=port, extrapolate=True)
        ranks, size_bytes = int(2 ** random.uniform(1, 10)), int(2 ** random.uniform(2, 24))
        (group,) = competing_models(machine, [] if has_cells else ["ring", "two_tree", "rabenseifner"], layout)
        least = max(group.bounds(ranks, size_bytes))
        for series in group.models:
            one = group.predict(series, ranks, size_bytes)
            below += one.time_s is not None and one.time_s < least * (1 - 1e-9)
            assert one.low_s is None or one.low_s <= one.time_s <= one.high_s
    assert below == 0


def test_a_time_below_the_bound_is_raised_to_it():
    """A library takes as long on 2, 4 and 8 ranks; messages have to double on 64, by the prices of the ring."""
    native = hand_model("native", (2, 4, 8), 1.0, "recursive_doubling", is_library=True)
    flat = scaled(native, lambda p, n: 1 / np.log2(p))
    group = CompetingModels([flat, RING])
    measured, raised = group.predict("native", 8, 8), group.predict("native", 64, 8)
    assert measured.is_measured and max(group.bounds(8, 8)) <= measured.time_s
    assert raised.limit == "latency" and raised.time_s == pytest.approx(2 * measured.time_s)
    assert raised.low_s <= raised.time_s <= raised.high_s and group.is_lower_bound(raised)


def test_the_ranks_of_a_node_wait_for_their_port():
    """VGG-16 on 512 ranks of 128 nodes: 2 127/128 n bytes leave a node at 25 Gbit/s."""
    size_bytes, rate = 553_430_176, 3.125e9
    machine = bare_machine(5e-6, 1 / rate, within=Prices(1e-6, 5e-12))
    own, shared = (
        {one.series: one for one in predict(machine, [512], [size_bytes], (), Layout(4, nic_bytes_per_s=port))}
        for port in (None, rate)
    )
    least_s = 2 * 127 / 128 * size_bytes / rate
    assert own["rabenseifner"].time_s < 0.3 * least_s
    assert all(one.time_s >= least_s for one in shared.values())
    ring, flat_ring = shared["hierarchical_ring"], shared["ring"]
    assert ring.limit == "port" and ring.time_s == pytest.approx(least_s, rel=0.03)
    assert flat_ring.limit == "" and flat_ring == own["ring"]
    assert shared["recursive_doubling"].time_s > 4 * 7 * size_bytes / rate
    assert bounds(machine.models, 512, 128, size_bytes, rate).bandwidth_s == pytest.approx(least_s)


def test_a_library_whose_port_nobody_knows_is_not_the_fastest_where_others_wait_for_theirs():
    native = hand_model("native", (2, 4), 0.9, "rabenseifner")
    halving = hand_model("rabenseifner", (2, 4))
    for rate, told in ((None, True), (1e12, True), (2e10, False)):
        group = CompetingModels([native, halving], Layout(4, nic_bytes_per_s=rate))
        own, ours = (group.predict(series, 16, 64 * K) for series in ("native", "rabenseifner"))
        assert own.no_port == bool(rate) and not ours.no_port
        assert own.limit == "" and (ours.limit == "port") != told and group.is_lower_bound(own) != told
        assert group.fastest(16, 64 * K).predicted.series == ("native" if told else "rabenseifner")
        assert group.predict("native", 4, 64 * K).no_port is False  # one node


def test_what_an_algorithm_needs_is_respected(monkeypatch):
    choosy = builtin()["ring"]._replace(needs=frozenset({"power-of-two"}))
    monkeypatch.setitem(builtin(), "ring", choosy)
    group = CompetingModels([RING, hand_model("naive", (2, 4, 8), 3.0)])
    assert group.predict("ring", 6, 64 * K).cannot == choosy.unmet(6, Topology.one_node(6))
    assert [group.fastest(ranks, M).predicted.series for ranks in (6, 8)] == ["naive", "ring"]


def test_of_equals_the_one_with_the_shortest_name_wins():
    (group,) = competing_models(BARE, ["hierarchical_ring", "parameter_server_sharded", "ring"])
    assert group.fastest(7, M).predicted.series == "ring" and group.fastest(7, M).is_sure


def test_given_prices_are_those_of_algorithms_with_parameters_too():
    names = ["hierarchical:ring+ring", "hierarchical_ring", "torus:2x4", "hierarchical:ring+naive"]
    found = {one.series: one.time_s for one in predict(BARE, [8], [1 << 20], names, Layout(4))}
    assert found.keys() == set(names) and found["hierarchical:ring+naive"] is None
    assert found["hierarchical:ring+ring"] == found["hierarchical_ring"] > 0 and found["torus:2x4"] > 0


def test_series_of_one_run_and_type_compete():
    machine = Machine((RING, TREE, replace(RING, dtype="float64"), replace(TREE, run="tuesday")))
    assert [len(group.models) for group in competing_models(machine)] == [2, 1, 1]
    assert [group.where for group in competing_models(machine)][0] == "monday, float32 sum"
    assert [*competing_models(Machine((RING, replace(RING, segment=7))))[0].models] == ["ring None", "ring 7"]


def test_names_that_were_not_fitted_are_refused():
    machine = Machine(tuple(hand_models(("ring", "native"))))
    assert [*competing_models(machine, ["native"])[0].models] == ["native"]
    with pytest.raises(MachineError, match="rabenseifner was not fitted; this machine file has ring, native"):
        competing_models(machine, ["rabenseifner"])
    with pytest.raises(AlgorithmError, match="unknown algorithm 'rign'"):
        competing_models(machine, ["rign"])
    with pytest.raises(MachineError, match="holds no model"):
        competing_models(Machine(()))
    with pytest.raises(MachineError, match="unknown without measurements"):
        competing_models(BARE, ["native"])
