"""One verdict for each cell that two sides have.

All intervals hold at once with 95 %: each misses its ratio in 5 % divided by the number of judged cells (Bonferroni;
Dunn, "Multiple comparisons among means", JASA 56, 1961). Holm's procedure would find a little more, but gives no
intervals, and here a verdict, `same` included, is what the printed interval says.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ...runs.rows import RunError
from ...stats import geometric_mean
from ...units import format_time
from ..cell_times import MIN_LAUNCHES
from .conditions import accepted_differences, changes
from .matching import MatchedCell, MatchKey, UnjudgedCell, match_cells
from .ratio import MOST, Estimate, Side, estimate, more_units, verdict
from .reading import ComparedRun

ERROR_SHARE = 0.05  # of all verdicts of a comparison together
VERDICTS = ("slower", "faster", "same", "undecided")
NAMED = 12  # names in one sentence


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new one."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # why it failed or is undecided
    baseline_s: float | None = None  # geometric means over launches, of runs where there are several
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    estimate: Estimate | None = None
    more: int | None = None  # units a side that would decide; None: not known, or more than MOST

    @property
    def ratio(self) -> float | None:
        """new / baseline."""
        return self.new_s / self.baseline_s if self.new_s and self.baseline_s else None

    @property
    def outcome(self) -> str:
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
    one_sided: Sequence[UnjudgedCell]
    notes: Sequence[str]  # what a reader must know

    def cells_with(self, kind: str) -> list[ComparedCell]:
        """The cells of one verdict."""
        return [cell for cell in self.cells if cell.verdict == kind]

    @property
    def failure(self) -> str:
        """Which cells fail the gate; empty where none does."""
        parts = [(kind, [cell.name for cell in self.cells_with(kind)]) for kind in ("failed", "slower")]
        return "; ".join(f"{kind}: {_format_names(names)}" for kind, names in parts if names)

    @property
    def sentence(self) -> str:
        """`24 cells: 1 slower, 0 faster, 20 same, 3 undecided (6 more launches a side would decide)`."""
        count = Counter(cell.verdict for cell in self.cells)
        counts = [f"{count['failed']} failed"] if count["failed"] else []
        counts += [f"{count[kind]} {kind}" for kind in VERDICTS]
        return f"{len(self.cells)} cells: {', '.join(counts)}{_more_sentence(self.cells_with('undecided'))}"


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
    cells = match_cells(baseline, new, algorithms, sizes)
    common = [cell for cell in cells if cell.is_common]
    accepted_words = frozenset(despite)
    differences = accepted_differences((*baseline, *new), {cell.key.ranks for cell in common}, accepted_words)
    _refuse_copy(common, baseline[0], new[0])
    failed = [cell for cell in cells if cell.failure]
    measured = [cell for cell in common if cell.is_measured and not cell.failure]
    error_share = ERROR_SHARE / max(1, sum(map(_has_enough_launches, measured)))
    judged = {cell.key: ComparedCell(cell.key, cell.name, "failed", cell.failure) for cell in failed}
    judged |= {cell.key: _judge(cell, threshold, error_share, accepted_words) for cell in measured}
    return Comparison(
        baseline,
        new,
        threshold,
        sorted((judged[cell.key] for cell in cells if cell.key in judged), key=_ranks_and_count),
        [cell.unjudged for cell in cells if cell.key not in judged],
        [
            *_notes_of_runs(baseline, new),
            *(f"accepted: {difference}" for difference in differences),
            *(f"changed: {change}" for change in changes(baseline, new)),
        ],
    )


def _refuse_copy(cells: Sequence[MatchedCell], baseline: ComparedRun, new: ComparedRun) -> None:
    """Raises RunError where all times of the cells are the same on both sides."""
    medians_s = [cell.medians_s for cell in cells]
    if any(before for before, _ in medians_s) and all(before == after for before, after in medians_s):
        raise RunError(f"{new.name} holds the same times as {baseline.name}: a copy; name another run")


def _ranks_and_count(cell: ComparedCell) -> tuple[int, int]:
    """The order of cells; what is alike stays in the order of the run."""
    return cell.key.ranks, cell.key.count


def _judge(cell: MatchedCell, threshold: float, error_share: float, despite: Collection[str]) -> ComparedCell:
    """The verdict of a cell that both sides have measured."""
    before, after = cell.medians_s
    launches = sum(map(len, before)), sum(map(len, after))
    undecided = ComparedCell(
        cell.key, cell.name, "undecided", baseline_s=_centre_s(before), new_s=_centre_s(after), launches=launches
    )
    if len(cell.definitions) > 1 and "time" not in despite:
        definitions = ", ".join(cell.definitions)
        return undecided._replace(
            reason=f"its times are {definitions}; if that is what you compare, add --despite time"
        )
    if not _has_enough_launches(cell):
        reason = f"{launches[0]} and {launches[1]} launches; a verdict takes {MIN_LAUNCHES} a side"
        return undecided._replace(reason=reason, more=MIN_LAUNCHES - min(launches))
    estimated = estimate(before, after, error_share, cell.tick_s)
    kind = verdict(estimated.low, estimated.high, threshold)
    if kind != "undecided":
        return undecided._replace(estimate=estimated, verdict=kind)
    more = more_units(estimated, threshold, error_share)
    reason = f"{_format_more(more, estimated.unit)} a side would decide"
    return undecided._replace(estimate=estimated, reason=reason, more=more)


def _has_enough_launches(cell: MatchedCell) -> bool:
    return min(sum(map(len, side)) for side in cell.medians_s) >= MIN_LAUNCHES


def _centre_s(side: Side) -> float:
    """The geometric mean over runs of the geometric means of their launches."""
    return geometric_mean([geometric_mean(run) for run in side])


def _format_more(count: int | None, unit: str) -> str:
    """`1 more launch`; None: more than are looked at."""
    plural = {"launch": "launches", "run": "runs"}[unit]
    return f"more than {MOST} {plural}" if count is None else f"{count} more {unit if count == 1 else plural}"


def _more_sentence(undecided: Sequence[ComparedCell]) -> str:
    """How much more a side would decide the cells: ` (6 more launches a side would decide)`."""
    if not undecided:
        return ""
    decidable = [cell for cell in undecided if cell.more is not None]
    if any(cell.estimate is None for cell in undecided):
        return f" ({MIN_LAUNCHES} launches a side are the least for a verdict)"
    most = max(decidable or undecided, key=lambda cell: cell.more or 0)
    unit = most.estimate.unit if most.estimate else "launch"
    share = f" {len(decidable)} of them" if 0 < len(decidable) < len(undecided) else ""
    return f" ({_format_more(most.more, unit)} a side would decide{share})"


def _notes_of_runs(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[str]:
    """What a reader must know of the runs."""
    single = len(baseline) == len(new) == 1
    notes = ["one run a side: what differs from run to run, or day to day, is not in the intervals"] if single else []
    return notes + [
        f"{run.name} is unfinished: cells are left in {_format_names(run.unfinished)}; compared as far as it goes"
        for run in (*baseline, *new)
        if run.unfinished
    ]


def _format_names(names: Sequence[str]) -> str:
    """The first NAMED names, and how many more there are."""
    more = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
