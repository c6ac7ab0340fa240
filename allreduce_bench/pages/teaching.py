"""Answers beside the picture of an algorithm: what few messages and few bytes are worth, and what a run measured."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path as FilePath
from typing import NamedTuple

from ..runs.competitor import NATIVE, Competitor
from ..runs.folder import RunFolder
from ..runs.rows import RunError
from ..schedule.algorithm import AlgorithmError
from ..schedule.price import Path, price
from ..units import counted, format_size, format_time, in_ranks
from .drawing import MOST_RANKS, Subject, subject

ALPHA_S, BETA_S_PER_BYTE, SIZE_BYTES = 5e-6, 8e-11, 2**20  # initial prices: 5 us, 100 Gbit/s, 1 MiB
FIRST = ("ring", "tree", "recursive_doubling", "rabenseifner")  # algorithms that a reader meets first
SHORT_BYTES, LONG_BYTES = 8, 16 * 2**20
PIECES = (1, 2, 4, 8, 16, 32)  # segments of the vector in a pipeline


class Way(NamedTuple):
    """Algorithm at both sizes, each with the segments with which it is fastest there."""

    name: str
    messages: int  # in a row, at SHORT_BYTES
    short_s: float
    vectors: float  # in a row, at LONG_BYTES
    long_s: float


class Measured(NamedTuple):
    """Times of a run on one number of ranks."""

    run: str
    ranks: int
    what: str  # the kind of time
    names: tuple[str, ...]  # competitors
    rows: tuple[tuple[int, tuple[float | None, ...]], ...]  # size in bytes, and the time of each competitor

    @property
    def title(self) -> str:
        """Return the heading of its table."""
        return f"Measured in {self.run} on {in_ranks([self.ranks])}: {self.what}"

    @property
    def table(self) -> list[list[str]]:
        """Return its cells in words, the head first."""
        times = [[format_time(time_s) if time_s else "-" for time_s in times_s] for _, times_s in self.rows]
        return [["size", *self.names], *([format_size(row[0]), *own] for row, own in zip(self.rows, times))]


def price_subject(chosen: Subject, size_bytes: float = SIZE_BYTES) -> Path:
    """Return the critical path for a vector of `size_bytes`: seconds, messages, and elements of `chosen`'s count."""
    return price(chosen.schedules, ALPHA_S, BETA_S_PER_BYTE * size_bytes / chosen.count)


def cuts(chosen: Subject, name: str, ranks_per_node: int | None) -> list[Subject]:
    """Return `chosen`, and if it is pipelined the same with the vector in other numbers of segments.

    `name` is what the user called it.
    """
    found, count = [chosen], chosen.count
    for pieces in PIECES if chosen.algorithm.segmented else ():
        if count % pieces == 0 and count // pieces != chosen.segment:
            try:
                found.append(subject(name, len(chosen.schedules), count, count // pieces, ranks_per_node))
            except AlgorithmError:  # a picture could not show so many messages
                break
    return found


def fastest_cut(
    chosen: Subject, name: str, ranks_per_node: int | None, size_bytes: float = SIZE_BYTES
) -> tuple[Subject, Path]:
    """Return the cut that is the fastest at `size_bytes`, and its critical path."""
    priced = [(cut, price_subject(cut, size_bytes)) for cut in cuts(chosen, name, ranks_per_node)]
    return min(priced, key=lambda pair: pair[1].time)


def ways(names: Sequence[str], ranks: int, ranks_per_node: int | None) -> list[Way]:
    """Return FIRST and the algorithms of `names` at both sizes, the fastest at SHORT_BYTES first."""
    found = (_way(name, ranks, ranks_per_node) for name in dict.fromkeys((*names, *FIRST)))
    return sorted(filter(None, found), key=lambda way: way.short_s)


@cache
def _way(name: str, ranks: int, ranks_per_node: int | None) -> Way | None:
    try:
        chosen = subject(name, ranks, ranks_per_node=ranks_per_node)
    except AlgorithmError:
        return None
    short, long = (fastest_cut(chosen, name, ranks_per_node, size) for size in (SHORT_BYTES, LONG_BYTES))
    return Way(chosen.algorithm.name, short[1].messages, short[1].time, long[1].elements / long[0].count, long[1].time)


def read_measured(folder: FilePath, names: Sequence[str], ranks: int | None) -> Measured:
    """Return the times of algorithms `names`, of FIRST and of the library in a run.

    By default `ranks` are the most on which all of `names` were measured and that a picture shows. Raises RunError if
    there is no run, or it did not measure them.
    """
    run = RunFolder(folder)
    run.open()
    from ..evaluation.summary import summarise  # late: it loads pandas

    rows = [row for row in summarise(run) if row["time_s"] is not None]
    known = {row["ranks"] for row in rows}
    for name in names:
        known &= {row["ranks"] for row in rows if Competitor(row["competitor"]).algorithm == name}
    if not known or ranks not in (None, *known):
        where = f" on {in_ranks([ranks])}" if ranks and known else ""
        has = in_ranks(sorted(known)) if known else ", ".join(dict.fromkeys(row["competitor"] for row in rows))
        raise RunError(f"--run {folder}: did not measure {' and '.join(names)}{where}; it has {has}")
    ranks = ranks or max((number for number in known if number <= MOST_RANKS), default=max(known))
    shown = {*names, *FIRST, NATIVE}
    rows = [row for row in rows if row["ranks"] == ranks and Competitor(row["competitor"]).algorithm in shown]
    is_reliable = all(row["grade"] != "not reliable" for row in rows)
    column = "time_s" if is_reliable else "min_s"
    times = {(row["competitor"], row["size_bytes"]): row[column] for row in rows}  # type: ignore[literal-required]
    competitors = tuple(dict.fromkeys(row["competitor"] for row in rows))
    sizes = sorted({row["size_bytes"] for row in rows})
    return Measured(
        str(folder),
        ranks,
        "medians of the launches" if is_reliable else "not reliable, so the shortest times",
        competitors,
        tuple((size, tuple(times.get((name, size)) for name in competitors)) for size in sizes),
    )


def busy_sentence(drawing_rounds: Sequence[Sequence[tuple[int, int]]], ranks: int) -> str:
    """Return how busy the ranks are in rounds of messages (source, dest)."""
    rounds, ends = len(drawing_rounds), [{rank for pair in pairs for rank in pair} for pairs in drawing_rounds]
    busy = [sum(rank in both for both in ends) for rank in range(ranks)]
    share = sum(2 * len(pairs) for pairs in drawing_rounds) / (2 * ranks * rounds) if rounds else 0
    links = len({pair for pairs in drawing_rounds for pair in pairs})
    idle = rounds - min(busy)
    who = counted(busy.count(min(busy)), "rank")
    rest = f"{who} idle in {idle} of {counted(rounds, 'round')}" if idle else "no rank is idle in any round"
    return (
        f"The ranks use {100 * share:.0f} % of what they could send and receive, over {links} directed links; {rest}."
    )
