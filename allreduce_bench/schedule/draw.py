"""Text of a schedule: who sends what to whom in each round, and what each rank then holds.

A message takes one round and starts when both ends are ready.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..tables import columns_of, fitted
from ..units import counted
from . import Parts, Schedule, contribution, elements, letter
from .verify import rendezvous

HOLDINGS_UP_TO = 128  # cells of the table rank x part; beyond, only messages are shown


class Sent(NamedTuple):
    """Message: `schedules[source][source_step]` sends it, `schedules[dest][dest_step]` receives it."""

    source: int
    source_step: int
    dest: int
    dest_step: int


class DrawnMessage(NamedTuple):
    """Message in letters: what travels, and what the receiver then has in each part."""

    sender: int
    receiver: int
    contents: str
    reduce: bool
    then: dict[int, str]


def rounds(name: str, schedules: Sequence[Schedule], count: int, formula: str) -> str:
    """Return the text of `allreduce-bench explain`: all rounds and totals. Raises Refusal if a rank waits for ever."""
    size, parts = len(schedules), Parts(schedules, count)
    by_round = _drawn_rounds(schedules, parts)
    shows_holdings = size * len(parts) <= HOLDINGS_UP_TO
    held = [[contribution(rank, part) for part in range(len(parts))] for rank in range(size)]
    lines = [_title(name, size, parts), ""]
    for number, messages in enumerate(by_round, start=1):
        lines.append(f"round {number}")
        for message in messages:
            lines.append(f"  {_message_sentence(message)}")
            for part, content in message.then.items():
                held[message.receiver][part] = content
        if shows_holdings:
            lines += ["", *_holdings_table(held, size)]
        lines.append("")
    return "\n".join([*lines, *_total_lines(schedules, len(by_round), count, formula)])


def messages_of_rounds(schedules: Sequence[Schedule]) -> list[list[Sent]]:
    """Return the messages of each round, sorted by source. No rank receives or sends twice in a round.

    A message carries what its source holds at the end of the round before: a step sends no element that it receives.
    Raises Refusal if a rank waits for ever.
    """
    began = [[0] for _ in schedules]  # rounds before each rank began each of its steps
    rounds: list[list[Sent]] = []
    for rank, index, dest_index, source_index in rendezvous(schedules):
        step, end = schedules[rank][index], began[rank][index]
        if step.dest is not None and dest_index is not None:
            end = max(began[rank][index], began[step.dest][dest_index]) + 1
        if step.source is not None and source_index is not None:
            arrival = max(began[rank][index], began[step.source][source_index]) + 1
            rounds += [[] for _ in range(arrival - len(rounds))]
            rounds[arrival - 1].append(Sent(step.source, source_index, rank, index))
            end = max(end, arrival)
        began[rank].append(end)
    return [sorted(messages) for messages in rounds]


def _drawn_rounds(schedules: Sequence[Schedule], parts: Parts) -> list[list[DrawnMessage]]:
    """Return the messages of each round in letters. Raises Refusal if a rank waits for ever."""
    size = len(schedules)
    held = [[contribution(rank, part) for part in range(len(parts))] for rank in range(size)]
    drawn = []
    for messages in messages_of_rounds(schedules):
        drawn.append([_drawn_message(sent, schedules, parts, held) for sent in messages])
        for message in drawn[-1]:
            for part, content in message.then.items():
                held[message.receiver][part] = content
    return drawn


def _drawn_message(
    sent: Sent, schedules: Sequence[Schedule], parts: Parts, held: Sequence[Sequence[str]]
) -> DrawnMessage:
    """Return a message in letters, given what ranks hold before its round."""
    step, source = schedules[sent.dest][sent.dest_step], schedules[sent.source][sent.source_step]
    moved = [part for span in step.recv for part in range(*parts.of[span])]
    own = [contribution(sent.source, part) for part in range(len(parts))] if source.original else held[sent.source]
    then = {part: f"{own[part]}+{held[sent.dest][part]}" if step.reduce else own[part] for part in moved}
    contents = _format_contents([own[part] for part in moved], len(schedules))
    return DrawnMessage(sent.source, sent.dest, contents, step.reduce, then)


def _title(name: str, size: int, parts: Parts) -> str:
    lengths = [len(parts.span(part)) for part in range(len(parts))] or [0]
    number = counted(len(lengths), "part")
    each = f"of {lengths[0]}" if len(set(lengths)) == 1 else f"of {', '.join(map(str, lengths))}"
    element = "element" if set(lengths) == {1} else "elements"
    finished = ", S1 the finished sum of part 1" if size > 1 else ""
    return (
        f"{name} on {size} ranks: rank 0 is a, rank {size - 1} is {_rank_letter(size - 1)}\n"
        f"the vector: {number}, {each} {element}; a1 is what rank a had in part 1{finished}"
    )


def _message_sentence(message: DrawnMessage) -> str:
    partners = [f"rank {rank} ({_rank_letter(rank)})" for rank in (message.sender, message.receiver)]
    return f"{partners[0]} sends {message.contents} to {partners[1]}, which {'adds' if message.reduce else 'keeps'} it"


def _holdings_table(held: list[list[str]], size: int) -> list[str]:
    rows = [["then", *(f"part {part + 1}" for part in range(len(held[0])))]]
    rows += [
        [_rank_letter(rank), *(_format_content(content, size) for content in contents)]
        for rank, contents in enumerate(held)
    ]
    return [f"    {line}" for line in fitted(columns_of(rows, left=range(len(rows[0]))))]


def _total_lines(schedules: Sequence[Schedule], number_of_rounds: int, count: int, formula: str) -> list[str]:
    sent = [sum(elements(step.send) for step in steps) for steps in schedules]
    share = f" ({max(sent) / count:.3f} n)" if count else ""
    return [
        f"rounds on the critical path: {number_of_rounds}; steps: {max(map(len, schedules))} at most in one rank",
        f"elements sent: {max(sent)}{share} at most by one rank, {sum(sent)} in all",
        f"cost: {formula}",
    ]


def _rank_letter(rank: int) -> str:
    return letter(rank).rstrip(".")


def _format_contents(contents: list[str], size: int) -> str:
    return " ".join(_format_content(content, size) for content in contents)


def _format_content(content: str, size: int) -> str:
    """Return `S1` for a sum over all ranks of part 1, else the sum unchanged: `a1+b1`."""
    terms = content.split("+")
    return f"S{terms[0].lstrip('abcdefghijklmnopqrstuvwxyz').split('.')[-1]}" if len(terms) == size > 1 else content
