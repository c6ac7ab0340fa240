"""The result of a comparison: a verdict for each cell that both sides have, the gate, and both in sentences.

A cell with too few launches or jobs has no verdict; its ratio is reported as an observation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from ..evaluation.grade import PROVISIONAL
from ..evaluation.single_algorithm import DIRECTIONS, Direction, direction_of, directions, directions_words
from ..importers.row import OF_OPTION
from ..report.grade_sentence import reason_words
from ..runs.rows import RunError
from ..units import as_printed, counted, few, in_ranks, significant
from .conditions import (
    OF_TIME,
    ComparedRun,
    Difference,
    changes,
    differing_conditions,
    differing_facts,
    ignored_columns,
    library_starts,
    refuse_differences,
)
from .matching import MatchedCell, MatchKey, UnjudgedCell, adopted_values, is_unreliable, match_cells
from .pairs import PairCounts, PairVerdict, judge_pairs
from .replicates import LAUNCH, ROUND, Replicate, replicate_of, times_of
from .rounds import judge_rounds, pair_rounds

# Verdicts, and how the gate treats undecided cells
VERDICTS = (*DIRECTIONS, "undecided")
UNDECIDED = ("warn", "pass", "fail")

DIGITS = 3  # of a printed time
MOST_NAMED = 12  # names in one sentence


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new side."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # of the verdict
    baseline_s: float | None = None  # median over the replicates: over launches, as `show` has it, or over jobs
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    replicate: Replicate | None = None  # what counted once
    counted: tuple[int, int] = (0, 0)  # replicates of baseline and new
    counts: PairCounts | None = None  # None: not judged
    observed: str = ""  # of too few replicates: one of DIRECTIONS by the ratio alone

    @property
    def ratio(self) -> float | None:
        """new / baseline."""
        return self.new_s / self.baseline_s if self.new_s and self.baseline_s else None

    @property
    def times(self) -> tuple[str, str]:
        """Return both times in microseconds as printed; `-` if there is none."""
        known = (self.baseline_s, self.new_s)
        before, after = ("-" if time_s is None else significant(time_s * 1e6, DIGITS) for time_s in known)
        return before, after

    @property
    def printed_ratio(self) -> float | None:
        """Return the ratio of the times as printed, so that dividing them gives it."""
        if not (self.new_s and self.baseline_s):
            return None
        return as_printed(self.new_s, DIGITS) / as_printed(self.baseline_s, DIGITS)

    @property
    def is_doubted(self) -> bool:
        """Return whether the cell is undecided for a reason that other cells may share."""
        return self.verdict == "undecided" and not self.counts and not self.observed

    @property
    def shown_verdict(self) -> str:
        """Return the verdict, or `(slower)`: by the ratio alone."""
        return f"({self.observed})" if self.observed else self.verdict

    @property
    def outcome(self) -> str:
        """Format `1.31 times the baseline, 0.952 -> 1.25 us; slower in 25 of 25 pairs`."""
        if not self.printed_ratio:
            return self.reason
        return (
            f"{significant(self.printed_ratio, DIGITS)} times the baseline, {' -> '.join(self.times)} us; {self.reason}"
        )


class Observed(NamedTuple):
    """The observations on all cells of too few launches or jobs."""

    cells: int
    threshold: float  # a share
    directions: tuple[Direction, ...]  # by the ratios as printed
    reasons: tuple[str, ...]  # why they have no verdict

    def __str__(self) -> str:
        """Format `25 of 25 slower, 1.6 to 25 times (most: native 32 MiB, 8 ranks); a verdict needs 4 launches …`."""
        return "; ".join([directions_words(self.directions, self.threshold), *self.reasons])


def sum_up_observed(cells: Sequence[ComparedCell], threshold: float) -> Observed | None:
    """Sum up the cells of too few launches or jobs; None: there are none. `threshold` is a share."""
    found = [cell for cell in cells if cell.observed]
    if not found:
        return None
    ratios = {cell.name: cell.printed_ratio or 1.0 for cell in found}
    reasons = tuple(dict.fromkeys(cell.reason for cell in found))
    return Observed(len(found), threshold, directions(ratios, threshold), reasons)


class Comparison(NamedTuple):
    """Both sides, and the findings."""

    baseline: Sequence[ComparedRun]
    new: Sequence[ComparedRun]
    threshold: float  # a share
    cells: Sequence[ComparedCell]
    one_sided: Sequence[UnjudgedCell]
    notes: Sequence[str]  # caveats
    undecided: str = UNDECIDED[0]  # one of UNDECIDED
    differences: Sequence[Difference] = ()  # conditions and facts

    @property
    def heading(self) -> str:
        """Return what differs between the sides."""
        return f"the sides differ in {'; '.join(map(str, self.differences)) or 'no condition or fact that is known'}"

    def cells_with(self, kind: str) -> list[ComparedCell]:
        """Return the cells of one verdict."""
        return [cell for cell in self.cells if cell.verdict == kind]

    @property
    def observed(self) -> Observed | None:
        """Return the observation on cells of too few launches or jobs; None: there are none."""
        return sum_up_observed(self.cells, self.threshold)

    @property
    def is_only_observed(self) -> bool:
        """True if no cell has enough launches or jobs."""
        return bool(self.cells) and all(cell.observed for cell in self.cells)

    @property
    def is_blind(self) -> bool:
        """True if no cell was decided, so that the gate checked nothing."""
        return all(cell.verdict == "undecided" for cell in self.cells)

    @property
    def failing(self) -> tuple[str, ...]:
        """The verdicts that fail the gate."""
        fails = self.undecided == "fail" or (self.undecided == "warn" and self.is_blind)
        return ("failed", "slower", "undecided") if fails else ("failed", "slower")

    @property
    def failure(self) -> str:
        """Return why the gate fails, with the cells; empty if it does not."""
        if not self.cells:
            return "no cell was measured on both sides, so nothing was compared"
        if self.undecided == "warn" and self.is_blind:
            count = len(self.cells)
            undecided = "the only cell is undecided" if count == 1 else f"all {count} cells are undecided"
            why = f"not proven: {self.observed}" if self.is_only_observed else undecided
            return f"{why}; measure both again, with more --launches or --wait-idle; --undecided pass lets it pass"
        parts = [(kind, [cell.name for cell in self.cells_with(kind)]) for kind in self.failing]
        return "; ".join(f"{kind}: {format_names(names)}" for kind, names in parts if names)

    @property
    def warning(self) -> str:
        """Return a warning about cells that passed the gate unchecked; empty: none, or requested."""
        count = len(self.cells_with("undecided"))
        if self.undecided != "warn" or self.is_blind or not count:
            return ""
        cells, them = ("1 cell is", "it") if count == 1 else (f"{count} cells are", "them")
        unchecked = f"{cells} undecided, so the gate did not check {them}"
        return f"warning: {unchecked}; to fail on undecided cells, add --undecided fail"

    @property
    def sentence(self) -> str:
        """Format `24 cells: 1 slower, 0 faster, 20 same, 3 undecided`; that of `Observed` if all are only observed."""
        if self.is_only_observed:
            return str(self.observed)
        count = Counter(cell.verdict for cell in self.cells)
        counts = [f"{count['failed']} failed"] if count["failed"] else []
        counts += [f"{count[kind]} {kind}" for kind in VERDICTS]
        return f"{counted(len(self.cells), 'cell')}: {', '.join(counts)}"


def compare(
    baseline: Sequence[ComparedRun],
    new: Sequence[ComparedRun],
    threshold: float,
    despite: Iterable[str] = (),
    algorithms: Sequence[str] = (),
    sizes: Sequence[int] = (),
    undecided: str = UNDECIDED[0],
) -> Comparison:
    """Judge the cells that both sides have, limited to `algorithms` and `sizes` in bytes if given.

    `threshold` is a share, `despite` are words of DESPITE, `undecided` is one of UNDECIDED. Raises RunError: not
    comparable, or nothing in common.
    """
    adopted = adopted_values(baseline, new)
    differences = differing_conditions(baseline, new)
    conditions = {difference.name for difference in differences}
    ignored = ignored_columns(conditions)
    cells = match_cells(baseline, new, algorithms, sizes, adopted, ignored)
    common = [cell for cell in cells if cell.is_common]
    differences += differing_facts(baseline, new, {cell.key.ranks for cell in common}, conditions)
    refuse_differences(differences, frozenset(despite))
    _refuse_copies([*baseline, *new])
    failed = [cell for cell in cells if cell.failure]
    measured = [cell for cell in common if cell.is_measured and not cell.failure]
    judged = {cell.key: ComparedCell(cell.key, cell.name, "failed", cell.failure) for cell in failed}
    replicates = {ranks: replicate_of(baseline, new, ranks) for ranks in {cell.key.ranks for cell in measured}}
    for cell in measured:
        ratio_alone = "" if "time" in {*despite} else cell.definitions_of_logs
        timing = "" if ratio_alone or "time" in {*despite} else cell.timing_difference(bool(conditions & {*OF_TIME}))
        judged[cell.key] = _judge(cell, replicates[cell.key.ranks], threshold, timing or cell.doubt, ratio_alone)
    return Comparison(
        baseline,
        new,
        threshold,
        sorted(
            (judged[cell.key] for cell in cells if cell.key in judged),
            key=lambda cell: (cell.key.ranks, cell.key.size_bytes),  # ties keep the order of the run
        ),
        [cell.unjudged for cell in cells if cell.key not in judged],
        [
            *_notes_of_runs(baseline, new, replicates.values()),
            *map(str, adopted),
            *library_starts((*baseline, *new)),
            *(f"changed: {change}" for change in changes(baseline, new)),
        ],
        undecided,
        differences,
    )


def _refuse_copies(runs: Sequence[ComparedRun]) -> None:
    """Raise RunError if two runs, on whichever side, hold the same times."""
    names: dict[tuple, str] = {}
    for run in runs:
        timed = [row for row in run.rows if row["time_s"] is not None]
        times_s = [
            (row["ranks"], row["competitor"], row["size_bytes"], *row["launch_medians"].values()) for row in timed
        ]
        if times_s and (other := names.setdefault(tuple(sorted(times_s)), run.name)) != run.name:
            raise RunError(f"{run.name} holds the same times as {other} (a copy?); name another run")


def _judge(
    cell: MatchedCell, replicate: Replicate, threshold: float, doubt: str, ratio_alone: str = ""
) -> ComparedCell:
    """Judge a cell that both sides have measured; `doubt`: why it has no verdict, if it has none.

    `ratio_alone`: why only the ratio is told, if it is.
    """
    launches = [sum(len(of_run) for _, of_run in side) for side in cell.medians_s]
    before, after = (times_of(side, replicate) for side in cell.medians_s)
    rounds = pair_rounds(*(side[0][1] for side in cell.medians_s)) if replicate == ROUND else []
    if rounds:
        before, after = (list(times_s) for times_s in zip(*rounds))
    counted = (len(rounds),) * 2 if replicate == ROUND else (len(before), len(after))
    times = median(before), median(after), (launches[0], launches[1])
    judged = ComparedCell(cell.key, cell.name, "undecided", doubt, *times, replicate, counted)
    if doubt:
        return judged
    if ratio_alone or min(counted) < replicate.fewest:
        observed = direction_of(judged.printed_ratio or 1.0, threshold)
        return judged._replace(reason=ratio_alone or replicate.lack(min(counted)), observed=observed)
    found = judge_rounds(rounds, threshold) if rounds else judge_pairs(before, after, threshold)
    return judged._replace(verdict=found.verdict, reason=_format_counts(found, replicate), counts=found.counts)


def _format_counts(found: PairVerdict, replicate: Replicate) -> str:
    """Format `slower in 25 of 25 pairs`; where the verdict is neither slower nor faster, both."""
    counts, what = found.counts, "rounds" if replicate == ROUND else "pairs"
    kinds = [found.verdict] if found.verdict in ("slower", "faster") else ["slower", "faster"]
    return f"{', '.join(f'{kind} in {getattr(counts, kind)}' for kind in kinds)} of {counts.pairs} {what}"


def _notes_of_runs(
    baseline: Sequence[ComparedRun], new: Sequence[ComparedRun], replicates: Iterable[Replicate]
) -> list[str]:
    """Return the caveats about the runs."""
    single = LAUNCH in replicates and min(len(baseline), len(new)) == 1
    notes = ["one run on a side: what another day alone would change is part of the ratio"] if single else []
    for run in (*baseline, *new):
        ranks = {row["ranks"] for row in run.rows if is_unreliable(row)}
        notes += [f"{run.name}: the times of {in_ranks(ranks)} are not reliable, see its report"] if ranks else []
        notes += _provisional_notes(run)
    for run in (*baseline, *new):
        filled = {fact["ranks"] for fact in run.attempts if fact.get("ranks_from") == OF_OPTION}
        notes += [f"{run.name} does not state its ranks: taken to be {in_ranks(filled)}, by -n"] if filled else []
    notes += [f"{run.name}: not read: {reason}" for run in (*baseline, *new) for reason in run.unread[:MOST_NAMED]]
    return notes + [
        f"{run.name} is unfinished: cells are missing in {format_names(run.unfinished)}; finished cells are compared"
        for run in (*baseline, *new)
        if run.unfinished
    ]


def _provisional_notes(run: ComparedRun) -> list[str]:
    """Name the weightiest reason why times of a run are provisional, by numbers of ranks."""
    ranks_of: dict[str, set[int]] = {}
    for row in run.rows:
        if (grade := row.get("grading")) and grade.level == PROVISIONAL:
            finding, _ = reason_words(grade.reasons[0])
            ranks_of.setdefault(finding, set()).add(row["ranks"])
    return [
        f"{run.name}: the times of {in_ranks(ranks)} are provisional: {finding}" for finding, ranks in ranks_of.items()
    ]


def format_names(names: Sequence[str]) -> str:
    """Join the first MOST_NAMED names, and say how many more there are."""
    return few(names, MOST_NAMED, comma="; ")
