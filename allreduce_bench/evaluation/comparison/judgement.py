"""Cells of two sides matched, and one verdict for each.

All intervals hold at once with 95 %: each misses its ratio in 5 % divided by the number of judged cells (Bonferroni;
Dunn, "Multiple comparisons among means", JASA 56, 1961). Holm's procedure would find a little more, but gives no
intervals, and here a verdict, `same` included, is what the printed interval says.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ...runs.rows import RunError
from ...stats import geometric_mean
from ...units import format_size, format_time, in_ranks
from ..summary import MIN_LAUNCHES
from ..summary_row import SummaryRow
from .conditions import accepted, changes
from .ratio import MOST, Estimate, Side, estimate, more_units, verdict
from .reading import ComparedRun

ERROR_SHARE = 0.05  # of all verdicts of a comparison together
FAILED = ("wrong", "refused", "hung")
VERDICTS = ("slower", "faster", "same", "undecided")
MATCHED = ("ranks", "algorithm", "executor", "segment", "dtype", "op", "count", "cache", "groups")
USUAL = {"cache": "warm", "groups": ""}
NAMED = 12  # cells in one sentence

Key = tuple  # the values of MATCHED
Rows = list[tuple[ComparedRun, SummaryRow]]  # of one cell and side, one row a run
Found = dict[Key, Rows]


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new one."""

    key: Key
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # why it failed or is undecided
    baseline_s: float | None = None  # geometric means over launches, of runs where there are several
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    estimate: Estimate | None = None
    more: int | None = None  # units a side that would decide; None: not known, or more than MOST

    @property
    def algorithm(self) -> str:
        """Its name."""
        return str(self.key[MATCHED.index("algorithm")])

    @property
    def ratio(self) -> float | None:
        """new / baseline."""
        return self.new_s / self.baseline_s if self.new_s and self.baseline_s else None

    @property
    def words(self) -> str:
        """The numbers and the reason: `1.31 times the baseline [1.22, 1.41], 0.952 us -> 1.25 us`."""
        if not (self.ratio and self.baseline_s and self.new_s):
            return self.reason
        interval = f" [{self.estimate.low:.3f}, {self.estimate.high:.3f}]" if self.estimate else ""
        numbers = f"{self.ratio:.3f} times the baseline{interval}"
        times = f"{format_time(self.baseline_s)} -> {format_time(self.new_s)}"
        return "; ".join(filter(None, (f"{numbers}, {times}", self.reason)))


class Comparison(NamedTuple):
    """Both sides, and what was found."""

    baseline: Sequence[ComparedRun]
    new: Sequence[ComparedRun]
    threshold: float  # a share
    cells: Sequence[ComparedCell]
    one_sided: Sequence[str]  # cells that are not judged, with the reason
    notes: Sequence[str]  # what a reader must know

    def of(self, kind: str) -> list[ComparedCell]:
        """The cells of one verdict."""
        return [cell for cell in self.cells if cell.verdict == kind]

    @property
    def failure(self) -> str:
        """Which cells fail the gate; empty where none does."""
        parts = [(kind, [cell.name for cell in self.of(kind)]) for kind in ("failed", "slower")]
        return "; ".join(f"{kind}: {_listed(names)}" for kind, names in parts if names)

    @property
    def sentence(self) -> str:
        """`24 cells: 1 slower, 0 faster, 20 same, 3 undecided (6 more launches a side would decide)`."""
        count = Counter(cell.verdict for cell in self.cells)
        words = [f"{count['failed']} failed"] if count["failed"] else []
        words += [f"{count[kind]} {kind}" for kind in VERDICTS]
        return f"{len(self.cells)} cells: {', '.join(words)}{_way_out(self.of('undecided'))}"


def compare(
    baseline: Sequence[ComparedRun],
    new: Sequence[ComparedRun],
    threshold: float,
    despite: Iterable[str] = (),
    algorithms: Sequence[str] = (),
    sizes: Sequence[int] = (),
) -> Comparison:
    """Judge the cells that both sides have, those of `algorithms` and `sizes` in bytes where some are named.

    `threshold` is a share, `despite` are words of SAME. Raises RunError: not comparable, or nothing in common.
    """
    before, after = (_rows(side, algorithms, sizes) for side in (baseline, new))
    if not before or not after:
        raise RunError(_not_measured(new if before else baseline))
    common = [key for key in before if key in after]
    if not common:
        raise RunError(_nothing_in_common(before, after))
    differences = accepted((*baseline, *new), {key[0] for key in common}, set(despite))
    times = [[_medians(side[key]) for key in common] for side in (before, after)]
    if times[0] == times[1] and any(times[0]):
        raise RunError(f"{new[0].name} holds the same times as {baseline[0].name}: a copy; name another run")
    keys = list(dict.fromkeys((*before, *after)))
    rows = {key: (before.get(key, []), after.get(key, [])) for key in keys}
    names = _names({key: (sides[0] or sides[1])[0][1] for key, sides in rows.items()})
    failures = {key: _failure(*rows[key]) for key in keys}
    measured = [key for key in common if not failures[key] and all(map(_medians, rows[key]))]
    error_share = ERROR_SHARE / max(1, sum(_enough(*map(_medians, rows[key])) for key in measured))
    cells = [ComparedCell(key, names[key], "failed", failures[key]) for key in keys if failures[key]]
    cells += [
        _judged(ComparedCell(key, names[key], "undecided"), rows[key], threshold, error_share, set(despite))
        for key in measured
    ]
    judged = {cell.key for cell in cells}
    return Comparison(
        baseline,
        new,
        threshold,
        [cell for key in sorted(keys, key=_order) for cell in cells if cell.key == key],
        [_why_not(names[key], *rows[key]) for key in keys if key not in judged],
        [*_about(baseline, new), *(f"accepted: {difference}" for difference in differences), *_changed(baseline, new)],
    )


def _rows(side: Sequence[ComparedRun], algorithms: Sequence[str], sizes: Sequence[int]) -> Found:
    """The rows of one side that were asked for, by cell."""
    found: Found = {}
    for run in side:
        for row in run.rows:
            asked = (not algorithms or row["algorithm"] in algorithms) and (not sizes or row["nbytes"] in sizes)
            if asked:
                key = tuple(row.get(name) or USUAL.get(name, row.get(name)) for name in MATCHED)
                found.setdefault(key, []).append((run, row))
    return found


def _medians(rows: Rows) -> Side:
    """Of each run that has times the medians of its launches, seconds."""
    return [list(row["launch_medians"].values()) for _, row in rows if row["time_s"] is not None]


def _failure(before: Rows, after: Rows) -> str:
    """Why the cell fails on the new side and did not in the baseline; empty: it does not, or did already."""
    found = [[why for run, row in side if (why := _failed(run, row))] for side in (before, after)]
    return "; ".join(found[1]) if found[1] and not found[0] else ""


def _failed(run: ComparedRun, row: SummaryRow) -> str:
    if row["state"] in FAILED:
        return f"{row['state']} ({row['reason']}) in {run.name}"
    accidents = row.get("accidents") or ()
    return f"hung ({'; '.join(accident.words for accident in accidents)}) in {run.name}" if accidents else ""


def _judged(
    cell: ComparedCell, rows: tuple[Rows, Rows], threshold: float, error_share: float, despite: Collection[str]
) -> ComparedCell:
    before, after = map(_medians, rows)
    launches = sum(map(len, before)), sum(map(len, after))
    cell = cell._replace(baseline_s=_centre(before), new_s=_centre(after), launches=launches)
    if unlike := _unlike(rows, despite):
        return cell._replace(reason=unlike)
    if not _enough(before, after):
        reason = f"{launches[0]} and {launches[1]} launches; a verdict takes {MIN_LAUNCHES} a side"
        return cell._replace(reason=reason, more=MIN_LAUNCHES - min(launches))
    found = estimate(before, after, error_share, max(run.tick_s for side in rows for run, _ in side))
    cell = cell._replace(estimate=found, verdict=verdict(found.low, found.high, threshold))
    if cell.verdict != "undecided":
        return cell
    more = more_units(found, threshold, error_share)
    return cell._replace(reason=f"{_more(more, found.unit)} a side would decide", more=more)


def _unlike(rows: tuple[Rows, Rows], despite: Collection[str]) -> str:
    """Why the times of a cell are not of one kind, though those of most others are; empty: they are, or may differ."""
    definitions = list(dict.fromkeys(row["time_definition"] for side in rows for _, row in side if row["time_s"]))
    if len(definitions) < 2 or "time" in despite:
        return ""
    return f"its times are {', '.join(definitions)}; if that is what you compare, add --despite time"


def _enough(before: Side, after: Side) -> bool:
    return min(sum(map(len, before)), sum(map(len, after))) >= MIN_LAUNCHES


def _centre(side: Side) -> float:
    """The geometric mean over runs of the geometric means of their launches."""
    return geometric_mean([geometric_mean(run) for run in side])


def _more(count: int | None, unit: str) -> str:
    """`1 more launch`; None: more than are looked at."""
    plural = {"launch": "launches", "run": "runs"}[unit]
    return f"more than {MOST} {plural}" if count is None else f"{count} more {unit if count == 1 else plural}"


def _way_out(undecided: Sequence[ComparedCell]) -> str:
    """How much more a side would decide the cells: ` (6 more launches a side would decide)`."""
    if not undecided:
        return ""
    known = [cell for cell in undecided if cell.more is not None]
    if any(cell.estimate is None for cell in undecided):
        return f" ({MIN_LAUNCHES} launches a side are the least for a verdict)"
    most = max(known or undecided, key=lambda cell: cell.more or 0)
    unit = most.estimate.unit if most.estimate else "launch"
    which = f" {len(known)} of them" if 0 < len(known) < len(undecided) else ""
    return f" ({_more(most.more, unit)} a side would decide{which})"


def _order(key: Key) -> tuple[int, int]:
    """By ranks, then by elements; what is alike stays in the order of the run."""
    return int(key[0]), int(key[MATCHED.index("count")])


def _names(rows: dict[Key, SummaryRow]) -> dict[Key, str]:
    """A name for each cell; executor and segment only where the rest would not tell it from another one."""
    short = {key: _name(row) for key, row in rows.items()}
    count = Counter(short.values())
    return {
        key: name if count[name] == 1 else f"{name}, {rows[key]['executor']}, segment {rows[key]['segment']}"
        for key, name in short.items()
    }


def _name(row: SummaryRow) -> str:
    cache = row.get("cache") or USUAL["cache"]
    more = [word for word in (cache if cache != USUAL["cache"] else "", row.get("groups")) if word]
    return ", ".join([f"{row['algorithm']} {format_size(row['nbytes'])}", in_ranks([row["ranks"]]), *more])


def _why_not(name: str, before: Rows, after: Rows) -> str:
    """Why a cell is not judged: `only in the baseline: ring 8 B, 2 ranks (new: skipped, no memory)`."""
    states = [_state(side) for side in (before, after)]
    if states[0] == "done":
        return f"only in the baseline: {name} (new: {states[1]})"
    return (
        f"only new: {name} (baseline: {states[0]})" if states[1] == "done" else f"on neither side: {name} ({states[0]})"
    )


def _size(rows: Rows) -> str:
    return format_size(rows[0][1]["nbytes"])


def _state(side: Rows) -> str:
    if not side:
        return "not planned"
    if _medians(side):
        return "done"
    row = side[0][1]
    return f"{row['state']}, {row['reason']}"


def _about(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[str]:
    """What a reader must know of the runs."""
    single = len(baseline) == len(new) == 1
    notes = ["one run a side: what differs from run to run, or day to day, is not in the intervals"] if single else []
    return notes + [
        f"{run.name} is unfinished: cells are left in {_listed(run.unfinished)}; compared as far as it goes"
        for run in (*baseline, *new)
        if run.unfinished
    ]


def _changed(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[str]:
    return [f"changed: {change}" for change in changes(baseline, new)]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _not_measured(side: Sequence[ComparedRun]) -> str:
    rows = [row for run in side for row in run.rows]
    algorithms = ", ".join(dict.fromkeys(row["algorithm"] for row in rows))
    sizes = ", ".join(map(format_size, sorted({row["nbytes"] for row in rows})))
    return f"no cell of {side[0].name} is one that -a and --sizes name; it has: {algorithms}; {sizes}"


def _nothing_in_common(before: Found, after: Found) -> str:
    """The first of MATCHED in which no value of one side is one of the other's."""
    for i, name in enumerate(MATCHED):
        values = [list(dict.fromkeys(key[i] for key in side)) for side in (before, after)]
        if not set(values[0]) & set(values[1]):
            told = [", ".join("not said" if value is None else str(value) for value in of) for of in values]
            if name == "count":
                name = "size"
                told = [", ".join(dict.fromkeys(_size(side[key]) for key in side)) for side in (before, after)]
            return f"no cell in common: {name} is {told[0]} in the baseline, {told[1]} in the new run"
    return "no cell in common: the two sides measured other algorithms at other sizes and ranks"
