"""Progress of ranks in their collective calls, in sentences and as a table: who is behind, who is missing."""

from collections.abc import Iterable, Mapping, Sequence

from ..message import say
from ..tables import Screen, columns_of, fitted, wrapped
from ..units import format_ranges
from .progress import DEAD, NO_MEMBER, NO_RECORD, UNRESPONSIVE, Count, Held, Missing, Progress, Unlike

MOST_RANKS = 16  # rows of the table; whoever is behind or missing comes first
MOST_TOLD = 3  # calls of each kind, and kinds of calls
WHY = {
    NO_RECORD: "no file",
    UNRESPONSIVE: "RAS cannot reach",
    DEAD: "RAS considers dead",
    NO_MEMBER: "no word, for it has not entered the communicator yet or has left it",
}
SNAPSHOT = (
    "this is one moment: it does not say how much slower a rank is, nor whether it hangs; look again, and whoever has"
    " not moved does"
)

NO_TIMES = "who arrives late is not known: counts of calls do not say when a rank was ready"


def progress_sentences(progress: Progress) -> list[str]:
    """Describe a group, one sentence per fact, the most important first."""
    told = [
        *map(_unlike_sentence, progress.unlike[:MOST_TOLD]),
        *(_held_sentence(call, progress) for call in progress.held[:MOST_TOLD]),
        *_behind_sentences(progress),
        *_missing_sentences(progress),
        *_error_sentences(progress),
    ]
    return [*told, SNAPSHOT] if told else [_even_sentence(progress), NO_TIMES]


def _ranks(ranks: Iterable[int]) -> str:
    """Return `rank 2`, `ranks 0-1,3`."""
    every = list(ranks)
    return f"rank{'s' * (len(every) > 1)} {format_ranges(every)}"


def _error_sentences(progress: Progress) -> list[str]:
    """Return one sentence for each error, with all ranks that report it."""
    by_error: dict[str, list[int]] = {}
    for rank, error in progress.failed.items():
        by_error.setdefault(error, []).append(rank)
    return [
        f"{_ranks(ranks)}{_on(ranks, progress)} report{'s' * (len(ranks) == 1)} an error: {error}"
        for error, ranks in by_error.items()
    ]


def _on(ranks: Sequence[int], progress: Progress) -> str:
    """Return ` on n2`; empty for many ranks, or without known hosts."""
    hosts = dict.fromkeys(progress.hosts[rank] for rank in ranks if rank in progress.hosts)
    return f" on {', '.join(hosts)}" if hosts and len(ranks) <= MOST_TOLD else ""


def _unlike_sentence(call: Unlike) -> str:
    done = "; ".join(f"{_ranks(ranks)}: {what}" for what, ranks in call.done.items())
    return say("stragglers.call_ranks_do_not", number=call.number, done=done)


def _held_sentence(call: Held, progress: Progress) -> str:
    nbytes = f" of {call.nbytes:,} bytes" if call.nbytes is not None else ""
    what = f"call {call.number}, {call.collective}{nbytes}"
    have, wait = ("have", "wait") if len(call.waiting) > 1 else ("has", "waits")
    begun = say("stragglers.gpu_begun", started=_ranks(call.started)) if call.started else ""
    if call.absent:
        does = "have" if len(call.absent) > 1 else "has"
        others = f"{_ranks(call.waiting)} {have} entered it and {wait}"
        return f"{_ranks(call.absent)} {does} not entered {what}; {others}{begun}"
    silent = {one.rank for one in progress.missing}
    others = say("stragglers.nothing_known", silent=_ranks(silent)) if silent else say("stragglers.every_rank_entered")
    return f"{_ranks(call.waiting)} {have} entered {what}, and not left it; {others}{begun}"


def _behind_sentences(progress: Progress) -> list[str]:
    """Name the ranks with fewer calls, unless a recorded call shows it already."""
    if any(call.absent for call in progress.held):
        return []
    return [
        f"{_behind_words(count)}; {_ranks(set(count.entered) - set(count.behind))} {_reached(count)}"
        for count in progress.counts[:MOST_TOLD]
        if count.behind
    ]


def _behind_words(count: Count) -> str:
    by_count: dict[int, list[int]] = {}
    for rank, fewer in sorted(count.behind.items(), key=lambda item: -item[1]):
        by_count.setdefault(fewer, []).append(rank)
    shown = list(by_count.items())[:MOST_TOLD]
    said = [f"{_ranks(ranks)} {'are' if len(ranks) > 1 else 'is'} {fewer} behind" for fewer, ranks in shown]
    more = len(by_count) - len(shown)
    return f"{count.collective or 'collective'} calls: {', '.join(said)}{', and others by less' * bool(more)}"


def _reached(count: Count) -> str:
    return f"reached call {max(count.entered.values())}"


def _missing_sentences(progress: Progress) -> list[str]:
    by_why: dict[str, list[Missing]] = {}
    for one in progress.missing:
        by_why.setdefault(one.why, []).append(one)
    said = []
    for why, those in by_why.items():
        ranks = _ranks(one.rank for one in those)
        where = ", ".join(dict.fromkeys(progress.hosts[one.rank] for one in those if one.rank in progress.hosts))
        place = f" (on {where})" if where and len(those) <= MOST_TOLD else ""
        is_object = why in (UNRESPONSIVE, DEAD)
        said.append(f"{WHY[why]} {ranks}{place}" if is_object else f"{ranks}{place}: {WHY[why]}")
    return said


def _even_sentence(progress: Progress) -> str:
    number = len(progress.members)
    ranks = "its one rank" if number == 1 else "both ranks" if number == 2 else f"all {number} ranks"
    calls = ", ".join(_calls_words(count) for count in progress.counts)
    has = "have" if number > 1 else "has"
    left = " and left them" if progress.counts and all(count.left for count in progress.counts) else ""
    made = f"entered the same {calls}{left}" if calls else say("stragglers.made_no_collective_call")
    return say("stragglers.nobody_behind_nobody_missing", ranks=ranks, has=has, made=made)


def _calls_words(count: Count) -> str:
    made = max(count.entered.values())
    return f"{made} {count.collective or 'collective'} call{'s' * (made != 1)}"


def progress_table(progress: Progress, screen: Screen) -> list[str]:
    """Return the ranks as a table fitted to the screen: missing ones and those behind first."""
    behind, gone = progress.behind, {one.rank: WHY[one.why] for one in progress.missing}
    order = sorted(progress.members, key=lambda rank: (rank not in gone, -behind.get(rank, 0), rank))
    named = bool(progress.hosts)
    head = ["rank", *["host"] * named, *_count_heads(progress), "behind", "note"]
    rows = [_row(rank, progress, behind, gone, named) for rank in order[:MOST_RANKS]]
    left = [1] * named + [len(head) - 1]
    more = len(order) - len(rows)
    tail = [say("stragglers.ranks_more_none_further", more=more)] if more else []
    return [*fitted(columns_of([head, *rows], left=left), screen, "--format json"), *wrapped(tail, screen)]


def _count_heads(progress: Progress) -> list[str]:
    heads = (["entered", "left"] if count.left else [count.collective] for count in progress.counts)
    return [head for of_count in heads for head in of_count]


def _row(rank: int, progress: Progress, behind: Mapping[int, int], gone: Mapping[int, str], named: bool) -> list[str]:
    counts = [
        str(numbers.get(rank, ""))
        for count in progress.counts
        for numbers in ([count.entered] if not count.left else [count.entered, count.left])
    ]
    note = progress.failed.get(rank) or (gone[rank].partition(",")[0] if rank in gone else "")
    return [str(rank), *[progress.hosts.get(rank, "")] * named, *counts, str(behind.get(rank, "")), note]
