"""The proof is tested by damage: schedules that are broken on purpose must be refused, and for the right reason."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreters import FULL

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.verify import Proof, Refusal, rendezvous, verify

ALGORITHMS = builtin()
MOST_STEPS = 120  # of all ranks, of schedules that are damaged in every place


def schedules_of(name: str, size: int, two_ranges: bool = False) -> tuple[list[list[Step]], int]:
    """Schedules of unequal blocks and nodes, and their count; with `two_ranges` long messages are made of two."""
    count = 3 * size + 1
    schedules = ALGORITHMS[name].schedules(size, Topology.filled(size, 3), count, max(1, count // 4))
    if two_ranges:
        schedules = [
            [step._replace(send=halves(step.send), recv=halves(step.recv)) for step in own] for own in schedules
        ]
    return schedules, count


def halves(ranges):
    return tuple(half for span in ranges for half in split(span, 2) if half)


def is_all_reduce(schedules, count) -> bool:
    """A second, slow opinion: plays every element by itself; a value is a number with one digit per rank."""
    size, values = len(schedules), [[256**rank] * count for rank, _ in enumerate(schedules)]
    place, parcel, wish = [-1] * size, [None] * size, [None] * size

    def next_step(rank):
        place[rank] += 1
        if place[rank] < len(schedules[rank]):
            dest, send, source, recv, reduce, original = schedules[rank][place[rank]]
            out, into = ([element for span in ranges for element in span] for ranges in (send, recv))
            assert all(0 <= element < count for element in out + into)
            assert len(set(out)) == len(out) and len(set(into)) == len(into) and rank not in (dest, source)
            assert (dest is None) == (not out) and (source is None) == (not into)
            assert reduce or original or not set(out) & set(into)
            parcel[rank] = (
                None if dest is None else (dest, out, [256**rank if original else values[rank][e] for e in out])
            )
            wish[rank] = None if source is None else (source, into, reduce)

    def deliver() -> bool:
        for rank in range(size):
            if place[rank] < len(schedules[rank]) and parcel[rank] is wish[rank] is None:
                next_step(rank)
                return True
            if parcel[rank] and wish[parcel[rank][0]] and wish[parcel[rank][0]][0] == rank:
                dest, out, carried = parcel[rank]
                _, into, reduce = wish[dest]
                assert out == into
                for element, value in zip(into, carried):
                    values[dest][element] = values[dest][element] + value if reduce else value
                parcel[rank] = wish[dest] = None
                return True
        return False

    try:
        while deliver():
            pass
    except (AssertionError, IndexError):
        return False
    finished = all(index == len(own) for index, own in zip(place, schedules))
    return finished and values == [[sum(256**rank for rank in range(size))] * count] * size


def replaced(schedules, *changes):
    """A copy in which each (rank, index, steps) of `changes` stands in place of step `index` of `rank`."""
    copy = [[[step] for step in own] for own in schedules]
    for rank, index, steps in changes:
        copy[rank][index] = steps
    return [[step for steps in own for step in steps] for own in copy]


def sites(schedules):
    return [(rank, index, step) for rank, own in enumerate(schedules) for index, step in enumerate(own)]


def messages(schedules):
    """The (rank, index) of the sender and of the receiver of every message."""
    for rank, index, dest_index, _ in rendezvous(schedules):
        if dest_index is not None:
            yield rank, index, schedules[rank][index].dest, dest_index


def shifted(ranges, by):
    return tuple(range(span.start + by, span.stop + by) for span in ranges)


def without_send(step):
    return [step._replace(dest=None, send=(), original=False)] if step.recv else []


def without_recv(step):
    return [step._replace(source=None, recv=(), reduce=False)] if step.send else []


def drop_step(schedules):
    for rank, index, _ in sites(schedules):
        yield replaced(schedules, (rank, index, []))


def double_step(schedules):
    for rank, index, step in sites(schedules):
        yield replaced(schedules, (rank, index, [step, step]))


def drop_message(schedules):
    """Nobody waits for ever: both ends forget it."""
    for sender, i, receiver, j in messages(schedules):
        sent, received = without_send(schedules[sender][i]), without_recv(schedules[receiver][j])
        yield replaced(schedules, (sender, i, sent), (receiver, j, received))


def double_message(schedules):
    for sender, i, receiver, j in messages(schedules):
        sent, received = schedules[sender][i], schedules[receiver][j]
        again, into = without_recv(sent), without_send(received)
        yield replaced(schedules, (sender, i, [sent, *again]), (receiver, j, [received, *into]))


def flip_reduce(schedules):
    for rank, index, step in sites(schedules):
        yield replaced(schedules, (rank, index, [step._replace(reduce=not step.reduce)]))


def flip_original(schedules):
    for rank, index, step in sites(schedules):
        if step.original:
            yield replaced(schedules, (rank, index, [step._replace(original=False)]))


def set_original(schedules):
    for rank, index, step in sites(schedules):
        if step.send and not step.original:
            yield replaced(schedules, (rank, index, [step._replace(original=True)]))


def shift_send(schedules):
    for rank, index, step in sites(schedules):
        for by in (-1, 1) if step.send else ():
            yield replaced(schedules, (rank, index, [step._replace(send=shifted(step.send, by))]))


def shift_recv(schedules):
    for rank, index, step in sites(schedules):
        for by in (-1, 1) if step.recv else ():
            yield replaced(schedules, (rank, index, [step._replace(recv=shifted(step.recv, by))]))


def shift_both_ends(schedules):
    for sender, i, receiver, j in messages(schedules):
        sent, received = schedules[sender][i], schedules[receiver][j]
        for by in (-1, 1):
            there, here = sent._replace(send=shifted(sent.send, by)), received._replace(recv=shifted(received.recv, by))
            yield replaced(schedules, (sender, i, [there]), (receiver, j, [here]))


def shorten_both_ends(schedules):
    """The last element does not travel."""
    for sender, i, receiver, j in messages(schedules):
        sent, received = schedules[sender][i], schedules[receiver][j]
        ranges = sent.send[:-1] + tuple(filter(None, (sent.send[-1][:-1],)))
        there = [sent._replace(send=ranges)] if ranges else without_send(sent)
        here = [received._replace(recv=ranges)] if ranges else without_recv(received)
        yield replaced(schedules, (sender, i, there), (receiver, j, here))


def other_dest(schedules):
    for rank, index, step in sites(schedules):
        if step.dest is not None:
            yield replaced(schedules, (rank, index, [step._replace(dest=(step.dest + 1) % len(schedules))]))


def other_source(schedules):
    for rank, index, step in sites(schedules):
        if step.source is not None:
            yield replaced(schedules, (rank, index, [step._replace(source=(step.source + 1) % len(schedules))]))


def swap_sends(schedules):
    """Two steps of a rank in a row send what the other should."""
    for rank, own in enumerate(schedules):
        for index, (one, two) in enumerate(zip(own, own[1:])):
            if one.send and two.send and one.send != two.send:
                first, second = one._replace(send=two.send), two._replace(send=one.send)
                yield replaced(schedules, (rank, index, [first]), (rank, index + 1, [second]))


def swap_steps(schedules):
    for rank, own in enumerate(schedules):
        for index, (one, two) in enumerate(zip(own, own[1:])):
            yield replaced(schedules, (rank, index, [two]), (rank, index + 1, [one]))


def swap_ranges(schedules):
    """The ranges of a message in another order at one of its ends."""
    for rank, index, step in sites(schedules):
        if len(step.send) > 1:
            yield replaced(schedules, (rank, index, [step._replace(send=step.send[::-1])]))
        if len(step.recv) > 1:
            yield replaced(schedules, (rank, index, [step._replace(recv=step.recv[::-1])]))


FATAL = [  # no such mutant is an all-reduce
    drop_step,
    double_step,
    drop_message,
    shift_send,
    shift_recv,
    shift_both_ends,
    shorten_both_ends,
    other_dest,
    other_source,
    swap_sends,
    swap_ranges,
]
MAYBE_HARMLESS = [  # a flag where nothing is received or sent, a second copy, an input that is still untouched, …
    double_message,
    flip_reduce,
    flip_original,
    set_original,
    swap_steps,
]

# Over nodes: in one that is larger than the smallest one, the rails' ranks are told again what they have already.
SUPERFLUOUS = {"drop_message", "shorten_both_ends"}


def is_over_nodes(name: str) -> bool:
    """Whether the schedules of five ranks on two nodes are not those on one."""
    return schedules_of(name, 5)[0] != ALGORITHMS[name].schedules(5, Topology.one_node(5), 16, 4)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_broken_schedule_is_refused(name):
    """Mutants that a second opinion finds right are counted apart; the fatal kinds have none."""
    made, refused, harmless, survivors = set(), Counter(), Counter(), []
    for size in (2, 3, 4, 5, *[8] * FULL):
        for mutate in FATAL + MAYBE_HARMLESS:
            schedules, count = schedules_of(name, size, two_ranges=mutate is swap_ranges)
            if sum(map(len, schedules)) > MOST_STEPS and not FULL:
                continue
            for mutant in mutate(schedules):
                made.add(mutate.__name__)
                try:
                    verify(mutant, count)
                except Refusal:
                    refused[mutate.__name__] += 1
                else:
                    harmless[mutate.__name__] += 1
                    if not is_all_reduce(mutant, count):
                        survivors.append((mutate.__name__, mutant))
    print(f"{name}: {refused.total()} mutants refused, {harmless.total()} harmless; {dict(refused)} {dict(harmless)}")
    assert not survivors
    fatal = {mutate.__name__ for mutate in FATAL}
    assert not fatal & set(harmless) - (SUPERFLUOUS if is_over_nodes(name) else set())
    # `original` is of those that send inputs on, or of none; sends are swapped where a rank sends several ranges
    assert fatal | {"double_message", "flip_reduce", "swap_steps"} <= made | {"swap_sends"}
    assert made & {"flip_original", "set_original"} and all(refused[kind] for kind in made), refused


@st.composite
def damaged(draw):
    """Schedules with up to three mutations one on top of the other."""
    schedules, count = schedules_of(
        draw(st.sampled_from(sorted(ALGORITHMS))), draw(st.integers(2, 6)), draw(st.booleans())
    )
    for mutate in draw(st.lists(st.sampled_from([*FATAL, *MAYBE_HARMLESS]), max_size=3)):
        try:
            mutants = list(mutate(schedules))
        except (Refusal, IndexError):  # what waits for ever, or sends to itself, has no list of messages
            break
        if mutants:
            schedules = draw(st.sampled_from(mutants))
    return schedules, count


@settings(max_examples=300, deadline=None)
@given(damaged())
def test_the_proof_agrees_with_a_second_opinion(case):
    schedules, count = case
    try:
        verify(schedules, count)
    except Refusal as refusal:
        # a sum that holds an input twice is refused even where a later message overwrites it
        assert " twice" in str(refusal) or not is_all_reduce(schedules, count)
    else:
        assert is_all_reduce(schedules, count)


A, B = (range(2),), (range(2, 4),)
WHOLE = (range(4),)
EXCHANGE = Step(1, WHOLE, 1, WHOLE, reduce=True), Step(0, WHOLE, 0, WHOLE, reduce=True)


def test_a_proof_counts_what_the_busiest_rank_does():
    schedules = [
        [Step(None, (), 1, WHOLE, reduce=True), Step(1, A, None, ()), Step(1, B, None, ())],
        [Step(0, WHOLE, None, ()), Step(None, (), 0, A), Step(None, (), 0, B)],
    ]
    assert verify(schedules, 4) == Proof(steps=3, sent=4, reduced=4, rank_ordered=True, same_bits=True, depth=1)


def test_rank_order_is_lost_where_a_sum_has_a_gap():
    one = (range(1),)
    to_root = [
        [Step(None, (), 2, one, reduce=True), Step(None, (), 1, one, reduce=True)],
        *([Step(0, one, None, ())],) * 2,
    ]
    back = [[Step(1, one, None, ()), Step(2, one, None, ())], *([Step(None, (), 0, one)],) * 2]
    assert not verify([up + down for up, down in zip(to_root, back)], 1).rank_ordered
    to_root[0].reverse()
    assert verify([up + down for up, down in zip(to_root, back)], 1).rank_ordered


def test_the_depth_is_that_of_the_deepest_sum_of_any_rank():
    one = (range(1),)
    into, out = [recv(source, one, True) for source in (1, 2, 3)], [send(to, one) for to in (1, 2, 3)]
    flat = [into + out, *([send(0, one), recv(0, one)],) * 3]
    assert verify(flat, 1).depth == 3
    pairs = [
        [recv(1, one, True), recv(2, one, True), *out],
        [send(0, one), recv(0, one)],
        [recv(3, one, True), send(0, one), recv(0, one)],
        [send(2, one), recv(0, one)],
    ]
    assert verify(pairs, 1).depth == 2
    longer = (range(2),)  # one element through the flat sum, the other in pairs
    mixed = [
        [recv(1, longer, True), recv(2, longer, True), recv(3, one, True), *(send(to, longer) for to in (1, 2, 3))],
        [send(0, longer), recv(0, longer)],
        [recv(3, (range(1, 2),), True), send(0, longer), recv(0, longer)],
        [send(2, (range(1, 2),)), send(0, one), recv(0, longer)],
    ]
    assert verify(mixed, 2).depth == 3


def test_nothing_to_reduce_needs_nothing():
    assert verify([[], []], 0) == Proof(0, 0, 0, True, True, 0)
    assert verify([[]], 5) == Proof(0, 0, 0, True, True, 0)


def test_a_flag_without_its_half_changes_nothing():
    first, second = EXCHANGE
    assert verify([[first], [second]], 4).reduced == 4
    schedules = [
        [Step(1, WHOLE, None, (), reduce=True), Step(None, (), 1, WHOLE, reduce=False, original=True)],
        [Step(None, (), 0, WHOLE, reduce=True), Step(0, WHOLE, None, ())],
    ]
    assert verify(schedules, 4).same_bits


def recv(source, ranges, reduce=False):
    return Step(None, (), source, ranges, reduce)


def send(dest, ranges):
    return Step(dest, ranges, None, ())


@pytest.mark.parametrize(
    "schedules, words",
    [
        pytest.param([[], []], "round 0: rank 0 ends without b1 (elements 0 to 3)", id="nothing done"),
        pytest.param(
            [[recv(1, (range(3),), True), send(1, WHOLE)], [send(0, (range(3),)), recv(0, WHOLE)]],
            "round 2: rank 0 ends without b2 (element 3)",
            id="element forgotten",
        ),
        pytest.param(
            [[recv(1, (range(1),), True)] * 2, [send(0, (range(1),))] * 2],
            "round 2: rank 0 adds b1 (element 0) twice",
            id="added twice",
        ),
        pytest.param(
            [[recv(1, WHOLE, True), send(1, WHOLE)], [send(0, WHOLE), recv(0, WHOLE, True)]],
            "round 2: rank 1 adds b1 (elements 0 to 3) twice",
            id="sum added to its part",
        ),
        pytest.param(
            [[send(1, WHOLE), recv(1, WHOLE, True)], [send(0, WHOLE), recv(0, WHOLE, True)]],
            "round 1: rank 0 waits forever to send to rank 1, which is in round 1",
            id="both send first",
        ),
        pytest.param(
            [[EXCHANGE[0], recv(1, WHOLE)], [EXCHANGE[1]]],
            "round 2: rank 0 waits forever to receive from rank 1, which has finished",
            id="partner has finished",
        ),
        pytest.param(
            [[recv(1, A, True)], [send(0, B)]],
            "round 1: rank 0 expects (range(0, 2),) of rank 1, which sends (range(2, 4),)",
            id="other elements",
        ),
        pytest.param(
            [[recv(1, WHOLE, True)], [send(0, A)]],
            "round 1: rank 0 expects (range(0, 4),) of rank 1, which sends (range(0, 2),)",
            id="fewer elements",
        ),
        pytest.param(
            [[recv(1, A + B, True)], [send(0, B + A)]],
            "round 1: rank 0 expects (range(0, 2), range(2, 4)) of rank 1, which sends (range(2, 4), range(0, 2))",
            id="other order",
        ),
        pytest.param(
            [[Step(1, WHOLE, 1, A)], [Step(0, A, 0, WHOLE)]],
            "round 1: rank 0 receives over elements that it is sending: (range(0, 2),)",
            id="overlap",
        ),
        pytest.param([[send(0, A)], []], "round 1: rank 0 cannot send to rank 0 of 2", id="self"),
        pytest.param([[], [recv(2, A)]], "round 1: rank 1 cannot receive from rank 2 of 2", id="no such rank"),
        pytest.param([[], [recv(-1, A)]], "round 1: rank 1 cannot receive from rank -1 of 2", id="negative rank"),
        pytest.param(
            [[send(1, (range(2, 5),))], []],
            "round 1: rank 0 names elements outside of 0 to 3 or none: (range(2, 5),)",
            id="too far",
        ),
        pytest.param([[send(1, (range(-1, 2),))], []], "names elements outside of 0 to 3", id="below 0"),
        pytest.param([[send(1, (range(2, 2),))], []], "names elements outside of 0 to 3 or none", id="empty range"),
        pytest.param([[send(1, (range(0, 4, 2),))], []], "names elements outside of 0 to 3", id="with gaps"),
        pytest.param(
            [[send(1, (range(3), range(2, 4)))], []],
            "round 1: rank 0 names an element twice in one message",
            id="twice named",
        ),
        pytest.param([[send(None, A)], []], "rank 0 names elements without a partner or a partner", id="no partner"),
        pytest.param([[recv(1, ())], []], "rank 0 names elements without a partner or a partner", id="no elements"),
    ],
)
def test_a_refusal_names_the_round_the_rank_and_the_block(schedules, words):
    with pytest.raises(Refusal) as refusal:
        verify(schedules, 4)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(f"round {refusal.value.round}: rank {refusal.value.rank} ")


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_ring_that_sends_before_it_receives_waits_for_ever(size):
    """It would work as long as MPI buffers the messages, and then no more."""
    schedules, count = schedules_of("ring", size)
    split_up = [[half for step in own for half in (*without_recv(step), *without_send(step))] for own in schedules]
    with pytest.raises(Refusal, match="waits forever .*send to rank 1, .*in round 1$") as refused:
        verify(split_up, count)
    assert (refused.value.round, refused.value.rank) == (1, 0)
