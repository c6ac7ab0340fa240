"""One test of the whole family: every built-in algorithm is proved, priced, and held against what is known of it."""

from functools import cache

import pytest
from interpreters import FULL

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import verify

ALGORITHMS = builtin()
SIZES = [*range(1, 41), 64] if FULL else [*range(1, 18), 33]
# Prices (alpha, beta, gamma). The time of a schedule is that of its longest path, and a path's is linear in the prices.
# So a cost that is linear, too, is below it nowhere if so at no single price; if it meets it inside, then everywhere.
SINGLE_PRICES = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
INSIDE = (5, 1, 0.5)

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def layouts(size: int) -> list[Topology]:
    """One node; equal and unequal nodes; ranks not numbered node by node."""
    every_third = [rank % 3 for rank in range(size)]
    growing = [int((8 * rank + 1) ** 0.5 - 1) // 2 for rank in range(size)]  # nodes of 1, 2, 3, … ranks
    from_both_ends = [min(rank, size - 1 - rank) // 2 for rank in range(size)]
    labels = [
        [0] * size,
        every_third,
        growing,
        from_both_ends,
        *([rank // k for rank in range(size)] for k in (1, 2, 4)),
    ]
    return list(dict.fromkeys(map(Topology.from_labels, labels)))


@cache
def heeds_layouts(name: str) -> bool:
    """Whether the schedules of 12 ranks depend on which nodes these are on."""
    found, needs = ALGORITHMS[name], ALGORITHMS[name].needs
    on_one_node = found.schedules(12, Topology.one_node(12), 100, 100)
    return bool(needs) or any(found.schedules(12, topology, 100, 100) != on_one_node for topology in layouts(12))


def cases(name: str, size: int):
    """Layouts, counts and segments for `size` ranks; where an algorithm ignores one of them, one value of it."""
    found = ALGORITHMS[name]
    for topology in layouts(size) if heeds_layouts(name) else [Topology.one_node(size)]:
        if found.unmet(size, topology):
            continue
        for count in sorted({0, 1, size - 1, size, size + 1, 3 * size + 2}):
            for segment in sorted({1, 3, size, max(count, 1)}) if found.segmented else [max(count, 1)]:
                yield topology, count, segment


@every_algorithm
def test_every_schedule_is_proved(name):
    for size in SIZES:
        for topology, count, segment in cases(name, size):
            proof = verify(ALGORITHMS[name].schedules(size, topology, count, segment), count)
            assert proof.sent * size >= 2 * (size - 1) * count  # no all-reduce can do with less
            flattest, deepest = (size - 1).bit_length(), size - 1  # of sums: a binary tree, and a chain
            assert flattest <= proof.depth <= deepest or count == proof.depth == 0, (size, count, segment)


@every_algorithm
def test_no_algorithm_depends_on_the_layout_or_the_segment_without_saying_so(name):
    """`cases` tries several layouts and segments only where they matter; this is what it relies on."""
    found, count = ALGORITHMS[name], 100
    for size in (4, 6, 7, 8, 12, 16) if not heeds_layouts(name) else ():
        plain = found.schedules(size, Topology.one_node(size), count, count)
        assert all(found.schedules(size, topology, count, count) == plain for topology in layouts(size))
    one_node = Topology.one_node(12)
    assert (found.schedules(12, one_node, count, 7) != found.schedules(12, one_node, count, count)) == found.segmented


# The verified table of the design notes. Critical path in units of alpha, for p ranks.
RANKS = (2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 64, 1024)
RING = (2, 4, 6, 8, 12, 14, 22, 30, 46, 62, 126, 2046)
ODD_FOLDED = (2, 4, 4, 6, 8, 6, 8, 8, 10, 10, 12, 20)
ROUNDS_OF_BOTH_PHASES = (2, 4, 4, 6, 6, 6, 8, 8, 10, 10, 12, 20)  # 2 ceil(log2 p)
CRITICAL_PATH = [  # algorithm, ranks per node (None: one node), segments k, one number for each of RANKS
    ("naive", None, 1, (1, 2, 3, 4, 6, 7, 11, 15, 23, 31, 63, 1023)),
    ("parameter_server", None, 1, RING),
    ("parameter_server_sharded", None, 1, RING),
    ("ring", None, 1, RING),
    ("hierarchical_ring", 4, 1, (None, None, 6, None, None, 8, 10, 12, 16, 20, 36, 516)),
    ("hierarchical_ring", 8, 1, (None, None, None, None, None, 14, None, 16, 18, 20, 28, 268)),
    ("recursive_doubling", None, 1, (1, 3, 2, 4, 4, 3, 5, 4, 6, 5, 6, 10)),
    ("rabenseifner", None, 1, (2, 4, 4, 6, 6, 6, 8, 8, 10, 10, 12, 20)),
    ("tree", None, 1, (2, 4, 4, 6, 8, 8, 10, 12, 14, 16, 20, 36)),
    ("tree", None, 16, (32, 64, 64, 66, 68, 69, 70, 73, 74, 77, 81, 97)),
    ("two_tree", None, 1, (2, 4, 6, 6, 8, 9, 11, 13, 14, 16, 20, 36)),
    ("two_tree", None, 16, (32, 64, 66, 66, 68, 70, 72, 73, 74, 76, 80, 96)),
    ("circulant", None, 1, ROUNDS_OF_BOTH_PHASES),
    ("pat", None, 1, ROUNDS_OF_BOTH_PHASES),
    ("swing", None, 1, ODD_FOLDED),
    ("bine", None, 1, ODD_FOLDED),
    ("bine_lat", None, 1, (1, 3, 2, 4, 4, 3, 5, 4, 6, 5, 6, 10)),
    ("bidirectional_ring", None, 1, tuple(2 * hops for hops in RING)),  # two rings, one after the other
    (
        "torus",
        None,
        1,
        tuple(4 * rounds for rounds in (1, 2, 4, 4, 6, 8, 10, 12, 16, 20, 28, 124)),
    ),  # four parts, or two
    ("rabenseifner_radix", None, 1, (2, 4, 6, 8, 12, 8, 10, 12, 12, 14, 18, 30)),  # rounds of radix 4, 3, 2, or a prime
    ("dual_root", None, 1, (1, 3, 3, 5, 6, 6, 8, 10, 12, 14, 18, 34)),
    ("dual_root", None, 16, (16, 33, 33, 50, 51, 51, 53, 55, 57, 59, 63, 79)),
]
# The same notes: elements sent by one rank at most, in units of the vector, to three decimals.
TWO_TIMES = (1.000, 1.333, 1.500, 1.600, 1.714, 1.750, 1.833, 1.875, 1.917, 1.938, 1.969, 1.998)  # 2(p-1)/p
# At 7 ranks six blocks of 37 or 38 elements are exchanged; equal ones make it 2.667, those of the notes 2.665.
TWO_TIMES_ODD_FOLDED = (1, 2, 1.5, 2.5, 2.661, 1.75, *TWO_TIMES[6:])
P_LESS_ONE = (1, 2, 3, 4, 6, 7, 11, 15, 23, 31, 63, 1023)
SENT = {
    "naive": P_LESS_ONE,
    "parameter_server": P_LESS_ONE,
    "parameter_server_sharded": TWO_TIMES,
    "ring": TWO_TIMES,
    "hierarchical_ring": TWO_TIMES,
    "recursive_doubling": (1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 10),
    "rabenseifner": (1, 2, 1.5, 2.5, 2.5, 1.75, 2.75, 1.875, 2.875, 1.938, 1.969, 1.998),
    "tree": (1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3),
    "two_tree": (1, 1.5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    "circulant": TWO_TIMES,
    "pat": TWO_TIMES,
    "swing": TWO_TIMES_ODD_FOLDED,
    "bine": TWO_TIMES_ODD_FOLDED,
    "bine_lat": (1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 10),
    "bidirectional_ring": TWO_TIMES,
    "torus": TWO_TIMES,
    "rabenseifner_radix": TWO_TIMES,
    "dual_root": (1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3),
}
SHORT = {
    "recursive_doubling",
    "tree",
    "two_tree",
    "bine_lat",
    "dual_root",
}  # enough so to be played on 1024 ranks in no time


def test_the_tables_of_what_is_known_are_complete():
    for table in ({row[0] for row in CRITICAL_PATH}, SENT, KEEPS_RANK_ORDER):
        assert set(ALGORITHMS) <= set(table)


@pytest.mark.parametrize("name, per_node, segments, path", CRITICAL_PATH)
def test_steps_and_volume_are_those_of_the_verified_table(name, per_node, segments, path):
    wrong = []
    for size, messages, sent in zip(RANKS, path, SENT[name]):
        if messages is None or (size > 64 and name not in SHORT and not FULL):
            continue
        count = 32 * size  # equal blocks, halves and segments
        segment = count // segments // (2 if name == "two_tree" else 1)
        topology = Topology.filled(size, per_node or size)
        schedules = ALGORITHMS[name].schedules(size, topology, count, segment)
        measured = price(schedules, alpha=1, beta=0).time, verify(schedules, count).sent / count
        if measured != (messages, pytest.approx(sent, abs=6e-4)):
            wrong.append((size, measured, (messages, sent)))
    assert not wrong


@pytest.mark.parametrize("name", [name for name, found in ALGORITHMS.items() if found.exact])
def test_an_exact_cost_equals_the_priced_schedule_where_blocks_and_nodes_are_equal(name):
    found = ALGORITHMS[name]
    for size in SIZES:
        for topology in [Topology.filled(size, k) for k in (1, 2, 3, 4, 8, size) if size % k == 0]:
            count = 12 * size
            if found.unmet(size, topology):
                continue
            schedules, cost = found.schedules(size, topology, count, count), found.cost(size, topology, count, count)
            for alpha, beta, gamma in (*SINGLE_PRICES, INSIDE):
                path = price(schedules, alpha, beta, gamma)
                assert path[1:] == cost[:3]
                assert path.time == pytest.approx(alpha * cost.messages + beta * cost.elements + gamma * cost.reduced)


@every_algorithm
def test_a_declared_cost_is_never_below_the_priced_schedule(name):
    found = ALGORITHMS[name]
    for size in SIZES:
        for topology, count, segment in cases(name, size):
            schedules, cost = (
                found.schedules(size, topology, count, segment),
                found.cost(size, topology, count, segment),
            )
            for alpha, beta, gamma in SINGLE_PRICES:
                declared = alpha * cost.messages + beta * cost.elements + gamma * cost.reduced
                time = price(schedules, alpha, beta, gamma).time
                assert time <= declared * (1 + 1e-9), (size, topology, count, segment, (alpha, beta, gamma))


# The second table of the notes: from which p on the ranks' bits may differ, and where rank order is kept.
SAME_BITS_BELOW = {"naive": 3, "bine_lat": 8}
KEEPS_RANK_ORDER = {
    "naive": lambda size: size < 3,
    "parameter_server": lambda size: True,
    "parameter_server_sharded": lambda size: size < 3,
    "ring": lambda size: size < 3,
    "hierarchical_ring": lambda size: size < 3,  # on one node
    "recursive_doubling": lambda size: True,
    "rabenseifner": lambda size: True,
    "tree": lambda size: size < 4,
    "two_tree": lambda size: size % 2 == 0 or size < 5,
    "circulant": lambda size: size < 3,
    "pat": lambda size: size < 3,
    "swing": lambda size: size < 6,
    "bine": lambda size: size < 6,
    "bine_lat": lambda size: size < 8,
    "bidirectional_ring": lambda size: size < 3,
    "torus": lambda size: size < 3,
    "rabenseifner_radix": lambda size: size < 3,
    "dual_root": lambda size: True,
}


@pytest.mark.parametrize("name", sorted(KEEPS_RANK_ORDER))
def test_equal_bits_and_rank_order_are_as_known(name):
    for size in SIZES:
        count = 4 * size
        schedules = ALGORITHMS[name].schedules(size, Topology.one_node(size), count, count // 4)
        proof = verify(schedules, count)
        assert proof.same_bits == (size < SAME_BITS_BELOW.get(name, size + 1)), size
        assert proof.rank_ordered == KEEPS_RANK_ORDER[name](size), size


@every_algorithm
def test_every_algorithm_introduces_itself(name):
    found = ALGORITHMS[name]
    assert found.name == name and found.module.startswith("allreduce_bench.algorithms.")
    assert found.summary.endswith(".") and found.formula
    assert found.doc and found.why and found.best and found.source


@every_algorithm
def test_a_schedule_is_repeatable(name):
    for size in (2, 5, 8):
        args = size, Topology.filled(size, 3), 5 * size + 1, 4
        assert ALGORITHMS[name].schedules(*args) == ALGORITHMS[name].schedules(*args)
