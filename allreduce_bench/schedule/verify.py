"""Proof that schedules are an all-reduce, by symbolic execution and rendezvous: nothing is sent.

The result of `verify` holds for this number of ranks, this count and these nodes, with sends that wait for their
receives (rendezvous); it is a proof of that case alone. `proofs` has many such cases.

The value of an element is the set of ranks it contains. An element keeps its place (both ends of a message name the
same elements), a reduction is a disjoint union, no rank waits for ever, and at the end every rank holds every
contribution. What holds for sets of ranks holds for any data and any commutative and associative operation.

Elements that every message treats alike are one part, so the size of a proof does not depend on the count. Each value
is kept as an expression, equal ones as one number; from it follow rank order, whether all ranks get the same bits, and
how many roundings an element undergoes: with a depth of d the error of a sum of x_i is at most ((1 + u)^d - 1) * sum
|x_i|, u the unit roundoff (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 4.2).
"""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from . import Parts, Ranges, Schedule, Step, contribution, elements


class Proof(NamedTuple):
    """Costs and promises of a proved set of schedules."""

    steps: int  # maximum over ranks
    sent: int  # elements, maximum over ranks
    reduced: int  # elements, maximum over ranks
    rank_ordered: bool  # every reduction joins neighbouring runs of ranks: valid for non-commutative operations
    same_bits: bool  # all ranks evaluate the same expression (assuming that a+b and b+a have the same bits)
    depth: int  # most consecutive reductions, i.e. roundings, from an input to the result


class Values:
    """Expressions over the ranks' contributions as small numbers: number r < size is the input of rank r."""

    def __init__(self, size: int):
        self.ranks = [1 << rank for rank in range(size)]  # set of ranks in each expression, as bits
        self.ordered = [True] * size
        self.depth = [0] * size  # height of each expression
        self.unions: dict[tuple[int, int], int] = {}  # of two expressions -> expression

    def union(self, first: int, second: int) -> int | None:
        """Return the reduction of two values, or None if they have a rank in common."""
        key = (first, second) if first < second else (second, first)
        value = self.unions.get(key)
        if value is None:
            a, b = self.ranks[first], self.ranks[second]
            if a & b:
                return None
            value = self.unions[key] = len(self.ranks)
            self.ranks.append(a | b)
            self.ordered.append(self.ordered[first] and self.ordered[second] and _is_run(a | b))
            self.depth.append(1 + max(self.depth[first], self.depth[second]))
        return value


def _is_run(ranks: int) -> bool:
    """Return whether the set bits are consecutive."""
    return (ranks + (ranks & -ranks)) & ranks == 0


def verify(schedules: Sequence[Schedule], count: int) -> Proof:
    """Prove that `schedules` (the steps of each rank) all-reduce a vector of `count` elements.

    Raises Refusal, naming round, rank and block, if they do not.
    """
    for rank, steps in enumerate(schedules):
        for index, step in enumerate(steps):
            if reason := _malformed(step, rank, len(schedules), count):
                raise Refusal(index + 1, rank, reason)
    values, state = replay(schedules, Parts(schedules, count))
    results = set(chain.from_iterable(state))
    return Proof(
        steps=max(map(len, schedules)),
        sent=max(sum(elements(step.send) for step in steps) for steps in schedules),
        reduced=max(sum(elements(step.recv) for step in steps if step.reduce) for steps in schedules),
        rank_ordered=all(values.ordered[value] for value in results),
        same_bits=all(held == state[0] for held in state),
        depth=max((values.depth[value] for value in results), default=0),
    )


def _malformed(step: Step, rank: int, size: int, count: int) -> str | None:
    """Return what is wrong with a single step, or None."""
    dest, send, source, recv, reduce, original = step
    if (
        _is_plain(dest, send, rank, size, count)
        and _is_plain(source, recv, rank, size, count)
        and (reduce or original or not (send and recv) or not _meet(*send, *recv))
    ):
        return None  # most steps
    if reason := _not_a_step(step):
        return reason
    for partner, ranges, verb in ((step.dest, step.send, "send to"), (step.source, step.recv, "receive from")):
        if partner is not None and (not 0 <= partner < size or partner == rank) and ranges:
            return f"cannot {verb} rank {partner} of {size}"
        if reason := _malformed_message(partner, ranges, verb, count):
            return reason
    if not step.reduce and not step.original and step.send and step.recv and _overlap((*step.send, *step.recv)):
        return f"receives over elements that it is sending: {step.recv}"
    return None


def _is_plain(partner: int | None, ranges: Ranges, rank: int, size: int, count: int) -> bool:
    """Return whether this is no message, or one of a single range, with nothing wrong with it."""
    if type(ranges) is not tuple:
        return False
    if partner is None:
        return not ranges
    if len(ranges) != 1 or type(partner) is not int or not 0 <= partner < size or partner == rank:
        return False
    span = ranges[0]
    return type(span) is range and span.step == 1 and 0 <= span.start < span.stop <= count


def _meet(one: range, other: range) -> bool:
    """Return whether two ranges have an element in common."""
    return one.start < other.stop and other.start < one.stop


def _not_a_step(step: Step) -> str | None:
    """Return which field of a step has a value of another type, or None."""
    for partner, ranges in ((step.dest, step.send), (step.source, step.recv)):
        if partner is not None and type(partner) is not int:
            return f"names a partner that is no rank: {partner!r}"
        if not isinstance(ranges, tuple) or not all(isinstance(span, range) for span in ranges):
            return f"names elements by {ranges!r}; expected a tuple of ranges"
    return None


def _malformed_message(partner: int | None, ranges: Ranges, verb: str, count: int) -> str | None:
    """Return what is wrong with the elements of one message, or None."""
    if (partner is None) != (not ranges):
        return f"names elements without a partner or a partner without elements: {verb} {partner}, {ranges}"
    if any(span.step != 1 or not span or span.start < 0 or span.stop > count for span in ranges):
        return f"names elements outside of 0 to {count - 1} or none: {ranges}"
    if _overlap(ranges):
        return f"names an element twice in one message: {ranges}"
    return None


def _overlap(ranges: Ranges) -> bool:
    return len(ranges) > 1 and any(a.stop > b.start for a, b in pairwise(sorted(ranges, key=lambda span: span.start)))


def replay(schedules: Sequence[Schedule], parts: Parts, values: Values | None = None) -> tuple[Values, list[list[int]]]:
    """Execute the schedules symbolically; return the values and what each rank holds of each part at the end.

    `values` of another replay of as many ranks make equal expressions of both the same number. Raises Refusal if the
    schedules are no all-reduce.
    """
    size = len(schedules)
    values = values or Values(size)
    state = [[rank] * len(parts) for rank in range(size)]
    parts_of = {span: slice(*ends) for span, ends in parts.of.items()}
    in_flight: dict[tuple[int, int], list[list[int]]] = {}  # (sender, index) -> its ranges at the begin of that step

    def begin(rank: int, index: int) -> None:
        if index < len(schedules[rank]) and (send := (step := schedules[rank][index]).send):
            held = [rank] * len(parts) if step.original else state[rank]
            in_flight[rank, index] = [held[parts_of[span]] for span in send]

    for rank in range(size):
        begin(rank, 0)
    for rank, index, _, source_index in rendezvous(schedules):
        step, held = schedules[rank][index], state[rank]
        if step.source is not None and source_index is not None:
            sent = schedules[step.source][source_index].send
            if sent != step.recv:
                raise Refusal(index + 1, rank, f"expects {step.recv} of rank {step.source}, which sends {sent}")
            for span, arrived in zip(sent, in_flight.pop((step.source, source_index))):
                if step.reduce:
                    arrived = _reduced(values, held[parts_of[span]], arrived, parts, span, (index + 1, rank))
                held[parts_of[span]] = arrived
        begin(rank, index + 1)
    everyone = (1 << size) - 1
    if any(values.ranks[value] != everyone for value in set(chain.from_iterable(state))):
        _refuse_incomplete(schedules, state, values, parts)
    return values, state


def _reduced(values: Values, own: list[int], arrived: list[int], parts: Parts, span: range, place: tuple[int, int]):
    """Return the reductions of what a rank holds of a range with what arrived, at this round and rank."""
    reduced = list(map(values.union, own, arrived))
    if None in reduced:
        part = reduced.index(None)
        common = values.ranks[own[part]] & values.ranks[arrived[part]]
        twice = _format_contribution((common & -common).bit_length() - 1, parts.of[span][0] + part, parts)
        raise Refusal(*place, f"adds {twice} twice")
    return reduced


def _refuse_incomplete(schedules, state, values: Values, parts: Parts) -> None:
    """Raise Refusal for the first rank whose result lacks a contribution."""
    everyone = (1 << len(schedules)) - 1
    for rank, held in enumerate(state):
        for part, value in enumerate(held):
            if missing := everyone & ~values.ranks[value]:
                lacks = _format_contribution((missing & -missing).bit_length() - 1, part, parts)
                raise Refusal(len(schedules[rank]), rank, f"ends without {lacks}")


def _format_contribution(rank: int, part: int, parts: Parts) -> str:
    start, stop = parts.cuts[part], parts.cuts[part + 1]
    where = f"element {start}" if stop - start == 1 else f"elements {start} to {stop - 1}"
    return f"{contribution(rank, part)} ({where})"


# Rendezvous: execution of all ranks' schedules without buffering, to find ranks that wait for ever
#
# A message moves when its sender and its receiver are both inside the matching step, so what completes here completes
# under any MPI, whatever it buffers. Messages between two ranks keep their order, as MPI guarantees for one tag.


class Refusal(ValueError):
    """Error: a schedule is not an all-reduce; `round` (from 1) and `rank` say where, the message says why."""

    def __init__(self, round_number: int, rank: int, reason: str, line: str = ""):
        """`line`: `mine.py:23: `, that of the step in a user's file; empty: it is of none."""
        super().__init__(f"{line}round {round_number}: rank {rank} {reason}")
        self.round, self.rank, self.reason = round_number, rank, reason


# A completed step, by rank and index, and the indices of its partners' matching steps: that of `dest`, None if nothing
# was sent, and that of `source`, None if nothing was received
Completed = tuple[int, int, int | None, int | None]


def rendezvous(schedules: Sequence[Sequence[Step]]) -> Iterator[Completed]:
    """Yield every step as it completes, in a possible order of completion.

    Raises Refusal if a rank waits for ever.
    """
    size = len(schedules)
    at = [-1] * size
    dest_of: list[int | None] = [None] * size  # pending destination of the rank's current step
    source_of: list[int | None] = [None] * size  # its pending source
    sent_to: list[int | None] = [None] * size
    received: list[int | None] = [None] * size
    ready = list(range(size))
    while ready:
        rank = ready.pop()
        at[rank] += 1
        if at[rank] == len(schedules[rank]):
            continue
        step = schedules[rank][at[rank]]
        dest, source = dest_of[rank], source_of[rank] = step.dest, step.source
        sent_to[rank] = received[rank] = None
        if dest is not None and source_of[dest] == rank:
            dest_of[rank] = source_of[dest] = None
            sent_to[rank], received[dest] = at[dest], at[rank]
            if dest_of[dest] is None:
                yield dest, at[dest], sent_to[dest], received[dest]
                ready.append(dest)
        if source is not None and dest_of[source] == rank:
            dest_of[source] = source_of[rank] = None
            sent_to[source], received[rank] = at[rank], at[source]
            if source_of[source] is None:
                yield source, at[source], sent_to[source], received[source]
                ready.append(source)
        if dest_of[rank] is None and source_of[rank] is None:
            yield rank, at[rank], sent_to[rank], received[rank]
            ready.append(rank)
    _refuse_waiting(schedules, at, dest_of, source_of)


def _refuse_waiting(schedules, at, dest_of, source_of) -> None:
    """Raise Refusal for the first rank that has not finished."""
    for rank, index in enumerate(at):
        if index == len(schedules[rank]):
            continue
        partner = dest_of[rank] if dest_of[rank] is not None else source_of[rank]
        verb = "send to" if dest_of[rank] is not None else "receive from"
        where = f"is in round {at[partner] + 1}" if at[partner] < len(schedules[partner]) else "has finished"
        raise Refusal(index + 1, rank, f"waits forever to {verb} rank {partner}, which {where}")
