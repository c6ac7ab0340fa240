"""Rounds of moves, in which no rank waits for ever: the steps of each rank.

In a round each rank sends at most one message and receives at most one: one `MPI_Sendrecv`. A move is in a later round
than those that it has to follow, so whoever finishes a round finishes the next one, if sends wait for their receives,
too. Moves that replace what the other one sends, such as an exchange of sums, are in one round together. Of moves that
could be next, those go first that most others follow, one after the other; chunks of the same two ranks go together.
"""

from collections.abc import Sequence

from ...schedule import Schedule, Step
from .file import Instruction, MscclFile, NoAllreduce
from .values import Move

Unit = list[Move]  # that have to be in one round


def schedules_of(file: MscclFile, moves: Sequence[Move]) -> list[Schedule]:
    """Return the steps of each rank, on a vector with an element for each chunk. Raises NoAllreduce."""
    schedules: list[Schedule] = [[] for _ in range(file.gpus)]
    for together in _rounds(file, _units(file, moves)):
        out: dict[int, list[Move]] = {}
        into: dict[int, list[Move]] = {}
        for move in sorted(together, key=lambda move: move.chunk):
            out.setdefault(move.sender.gpu, []).append(move)
            into.setdefault(_receiver(move).gpu, []).append(move)
        for rank in sorted(out.keys() | into.keys()):
            sent, received = out.get(rank, []), into.get(rank, [])
            schedules[rank].append(
                Step(
                    dest=_receiver(sent[0]).gpu if sent else None,
                    send=_ranges([move.chunk for move in sent]),
                    source=received[0].sender.gpu if received else None,
                    recv=_ranges([move.chunk for move in received]),
                    reduce=bool(received and received[0].reduce),
                    original=bool(sent and sent[0].original),
                )
            )
    return schedules


def _receiver(move: Move) -> Instruction:
    assert move.receiver is not None  # what nobody receives is refused
    return move.receiver


def _ranges(chunks: Sequence[int]) -> tuple[range, ...]:
    """Return ascending numbers as ranges."""
    begins = [place for place, chunk in enumerate(chunks) if place == 0 or chunk != chunks[place - 1] + 1]
    return tuple(range(chunks[begin], chunks[end - 1] + 1) for begin, end in zip(begins, [*begins[1:], len(chunks)]))


def _units(file: MscclFile, moves: Sequence[Move]) -> list[Unit]:
    """Return the moves in units, each behind those that it has to follow. Raises NoAllreduce if there is no order.

    Units are the strongly connected components of the graph of which has to follow which (Tarjan, 1972).
    """
    number: dict[Move, int] = {}
    lowest: dict[Move, int] = {}  # number that each reaches among those without a unit
    units: list[Unit] = []
    without: dict[Move, None] = {}  # in the order of their numbers
    for root in moves:
        path = [] if root in number else [(root, iter((*root.after, *root.not_before)))]
        while path:
            move, earlier = path[-1]
            if move not in number:
                number[move] = lowest[move] = len(number)
                without[move] = None
            for other in earlier:
                if other not in number:
                    path.append((other, iter((*other.after, *other.not_before))))
                    break
                if other in without:
                    lowest[move] = min(lowest[move], number[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[move])
                if lowest[move] == number[move]:
                    unit = []
                    while move in without:
                        unit.append(without.popitem()[0])
                    units.append(unit)
    for unit in units:
        _refuse_no_order(file, unit)
    return units


def _refuse_no_order(file: MscclFile, unit: Unit) -> None:
    """Raise NoAllreduce if moves of a unit cannot be in one round: one follows another, or overwrites what it sends."""
    for move in unit if len(unit) > 1 else ():
        for other in unit:
            overwrites = other in move.not_before and not (move.reduce or other.original)
            if other in move.after or overwrites:
                raise _no_order(file, move, other)


def _no_order(file: MscclFile, move: Move, other: Move) -> NoAllreduce:
    return NoAllreduce(
        "msccl.no_order",
        place=file.place(move.sender),
        receiver=_receiver(move),
        other_sender=other.sender,
        other_receiver=_receiver(other),
    )


def _rounds(file: MscclFile, units: Sequence[Unit]) -> list[list[Move]]:
    """Return the moves of each round. Raises NoAllreduce for a unit in which a rank has two partners."""
    unit_of = {move: number for number, unit in enumerate(units) for move in unit}
    earlier = [
        {unit_of[other] for move in unit for other in (*move.after, *move.not_before)} - {number}
        for number, unit in enumerate(units)
    ]
    later: list[list[int]] = [[] for _ in units]
    length = [0] * len(units)  # of the longest chain behind each
    for number in reversed(range(len(units))):
        for before in earlier[number]:
            later[before].append(number)
            length[before] = max(length[before], length[number] + 1)

    def urgency(number: int) -> tuple[int, int, int, int]:
        first = units[number][0]
        source, dest = first.sender.gpu, _receiver(first).gpu
        return -length[number], (dest - source) % file.gpus, source, number

    waits_for = [len(others) for others in earlier]
    ready = [number for number, others in enumerate(waits_for) if not others]
    rounds: list[list[Move]] = []
    while ready:
        partners: dict[tuple[str, int], tuple[int, bool | None]] = {}
        chosen, left = list[int](), list[int]()
        for number in sorted(ready, key=urgency):
            wanted = _partners(units[number])
            fits = wanted is not None and all(partners.get(end, partner) == partner for end, partner in wanted.items())
            (chosen if fits else left).append(number)
            partners |= wanted if fits and wanted else {}
        if not chosen:
            first = units[left[0]]
            raise _no_order(file, first[0], first[-1])
        rounds.append([move for number in chosen for move in units[number]])
        for number in chosen:
            for follower in later[number]:
                waits_for[follower] -= 1
                left += [follower] * (waits_for[follower] == 0)
        ready = left
    return rounds


def _partners(unit: Unit) -> dict[tuple[str, int], tuple[int, bool | None]] | None:
    """Return with whom each rank of a unit is connected, and how, as sender and as receiver; None: with several."""
    found: dict[tuple[str, int], tuple[int, bool | None]] = {}
    for move in unit:
        source, dest = move.sender.gpu, _receiver(move).gpu
        for end, partner in ((("out", source), (dest, move.original)), (("into", dest), (source, move.reduce))):
            if found.setdefault(end, partner) != partner:
                return None
    return found
