"""Shows a schedule as text: who sends what to whom in each round, and what each rank then holds."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ..units import aligned
from . import Parts, Schedule, contribution, elements, letter
from .rendezvous import rendezvous

HOLDINGS_UP_TO = 128  # cells of the table rank x part: beyond, only the messages are shown


class DrawnMessage(NamedTuple):
    """One message as it is read: what travels, and what the receiver then has in each part."""

    sender: int
    receiver: int
    what: str
    reduce: bool
    then: dict[int, str]


def rounds(name: str, schedules: Sequence[Schedule], count: int, formula: str) -> str:
    """The text of `allreduce-bench explain`: all rounds and totals. Raises Refusal where a rank waits for ever."""
    size, parts = len(schedules), Parts(schedules, count)
    by_round = _messages(schedules, parts)
    table = size * len(parts) <= HOLDINGS_UP_TO
    held = [[contribution(rank, part) for part in range(len(parts))] for rank in range(size)]
    lines = [_title(name, size, parts), ""]
    for number in sorted(by_round):
        lines.append(f"round {number}")
        for message in sorted(by_round[number]):
            lines.append(f"  {_sentence(message)}")
            for part, what in message.then.items():
                held[message.receiver][part] = what
        if table:
            lines += ["", *_holdings(held, size)]
        lines.append("")
    return "\n".join([*lines, *_totals(schedules, len(by_round), count, formula)])


def _messages(schedules: Sequence[Schedule], parts: Parts) -> dict[int, list[DrawnMessage]]:
    """The messages of each round (from 1): a message takes one round and starts when both ends are ready."""
    size = len(schedules)
    began = [[0] for _ in schedules]
    held = [[contribution(rank, part) for part in range(len(parts))] for rank in range(size)]
    departed: dict[tuple[int, int], list[str]] = {}
    found = defaultdict(list)

    def depart(rank: int, index: int) -> None:
        if index < len(schedules[rank]) and (step := schedules[rank][index]).send:
            own = [contribution(rank, part) for part in range(len(parts))] if step.original else held[rank]
            departed[rank, index] = [text for span in step.send for text in own[slice(*parts.of[span])]]

    for rank in range(size):
        depart(rank, 0)
    for rank, index, dest_index, source_index in rendezvous(schedules):
        step, end = schedules[rank][index], began[rank][index]
        if step.dest is not None and dest_index is not None:
            end = max(began[rank][index], began[step.dest][dest_index]) + 1
        if step.source is not None and source_index is not None:
            arrival = max(began[rank][index], began[step.source][source_index]) + 1
            texts = departed.pop((step.source, source_index))
            places = [part for span in step.recv for part in range(*parts.of[span])]
            for part, text in zip(places, texts):
                held[rank][part] = f"{text}+{held[rank][part]}" if step.reduce else text
            then = {part: held[rank][part] for part in places}
            found[arrival].append(DrawnMessage(step.source, rank, _shorten(texts, size), step.reduce, then))
            end = max(end, arrival)
        began[rank].append(end)
        depart(rank, index + 1)
    return found


def _title(name: str, size: int, parts: Parts) -> str:
    lengths = [len(parts.span(part)) for part in range(len(parts))] or [0]
    each = f"of {lengths[0]}" if len(set(lengths)) == 1 else f"of {', '.join(map(str, lengths))}"
    element = "element" if set(lengths) == {1} else "elements"
    finished = ", S1 the finished sum of part 1" if size > 1 else ""
    return (
        f"{name} on {size} ranks: rank 0 is a, rank {size - 1} is {_name(size - 1)}\n"
        f"the vector: {len(lengths)} parts, {each} {element}; a1 is what rank a had in part 1{finished}"
    )


def _name(rank: int) -> str:
    return letter(rank).rstrip(".")


def _shorten(texts: list[str], size: int) -> str:
    return " ".join(_finished(text, size) for text in texts)


def _finished(text: str, size: int) -> str:
    """`S1` for a sum over all ranks of part 1, else the text itself."""
    terms = text.split("+")
    return f"S{terms[0].lstrip('abcdefghijklmnopqrstuvwxyz').split('.')[-1]}" if len(terms) == size > 1 else text


def _sentence(message: DrawnMessage) -> str:
    ends = [f"rank {rank} ({_name(rank)})" for rank in (message.sender, message.receiver)]
    return f"{ends[0]} sends {message.what} to {ends[1]}, which {'adds' if message.reduce else 'keeps'} it"


def _holdings(held: list[list[str]], size: int) -> list[str]:
    rows = [["then", *(f"part {part + 1}" for part in range(len(held[0])))]]
    rows += [[_name(rank), *(_finished(text, size) for text in texts)] for rank, texts in enumerate(held)]
    return [f"    {line}" for line in aligned(rows, left=range(len(rows[0])))]


def _totals(schedules: Sequence[Schedule], number_of_rounds: int, count: int, formula: str) -> list[str]:
    sent = [sum(elements(step.send) for step in steps) for steps in schedules]
    share = f" ({max(sent) / count:.3f} n)" if count else ""
    return [
        f"rounds on the critical path: {number_of_rounds}; steps: {max(map(len, schedules))} at most in one rank",
        f"elements sent: {max(sent)}{share} at most by one rank, {sum(sent)} in all",
        f"cost: {formula}",
    ]
