"""The result of a comparison: a verdict for each cell that both sides have, the gate, and both in sentences.

A cell with too few launches for an interval has no verdict; its ratio is reported as an observation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..evaluation.cell_times import MIN_LAUNCHES
from ..evaluation.single_algorithm import DIRECTIONS, Direction, direction_of, directions, directions_words
from ..runs.rows import RunError
from ..units import as_printed, counted, few, in_ranks, significant
from .conditions import (
    OF_TIME,
    ComparedRun,
    Difference,
    are_alternated,
    changes,
    differing_conditions,
    differing_facts,
    ignored_columns,
    library_starts,
    refuse_differences,
)
from .decision import (
    MOST_UNITS,
    Decision,
    Estimate,
    decide,
    difference,
    estimates,
    more_units,
    need,
    place,
    shown_time_s,
)
from .matching import MatchedCell, MatchKey, UnjudgedCell, adopted_values, is_unreliable, match_cells
from .rounds import judge_rounds, pair_rounds

# Verdicts, and how the gate treats undecided cells
VERDICTS = (*DIRECTIONS, "undecided")
UNDECIDED = ("warn", "pass", "fail")

# Numbers as they are printed
DIGITS = 4  # of a time: with three a ratio would be known to 1 % only
WIDEST_IN_NUMBERS = 10.0  # a factor: the interval of a ratio known no better is not printed as numbers

# Words
PLURAL = {"launch": "launches", "run": "runs"}
MIN_LAUNCHES_SENTENCE = f"a verdict needs at least {MIN_LAUNCHES} launches per side"
MOST_NAMED = 12  # names in one sentence


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new side."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # why it failed or is undecided
    baseline_s: float | None = None  # median over launches, as `show` has it; of several runs their geometric mean
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    estimate: Estimate | None = None
    p_holm: float | None = None  # see Decision
    more: int | None = None  # further units per side needed for a verdict; None: unknown, or more than MOST_UNITS
    observed: str = ""  # for too few launches for an interval: one of DIRECTIONS by the ratio alone

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
    def interval(self) -> str:
        """Format `1.220 to 1.410`; text if it is too wide for numbers, empty if there is none."""
        if not (self.estimate and self.printed_ratio):
            return ""
        if self.estimate.high > WIDEST_IN_NUMBERS**2 * self.estimate.low:
            return f"wider than a factor of {WIDEST_IN_NUMBERS:g}"
        low, high = min(self.estimate.low, self.printed_ratio), max(self.estimate.high, self.printed_ratio)
        return f"{low:.3f} to {high:.3f}"

    @property
    def shown_verdict(self) -> str:
        """Return the verdict, or `(slower)`: by the ratio alone."""
        return f"({self.observed})" if self.observed else self.verdict

    @property
    def outcome(self) -> str:
        """Format the numbers and the reason: `1.310 times the baseline [1.220 to 1.410], 0.9521 -> 1.247 us`."""
        if not self.printed_ratio:
            return self.reason
        interval = f" [{self.interval}]" if self.interval else ""
        numbers = f"{self.printed_ratio:.3f} times the baseline{interval}"
        times = f"{' -> '.join(self.times)} us"
        return "; ".join(filter(None, (f"{numbers}, {times}", self.reason)))


class Observed(NamedTuple):
    """The observations on all cells without an interval."""

    cells: int
    launches: tuple[int, int]  # the most of any cell, of baseline and new
    threshold: float  # a share
    directions: tuple[Direction, ...]  # by the ratios as printed

    def __str__(self) -> str:
        """Format `25 of 25 slower, 1.6 to 25 times (most: native 32 MiB, 8 ranks); one launch a side: no interval`."""
        before, after = self.launches
        launches = f"{before} launches a side" if before == after else f"{before} and {after} launches"
        words = "one launch a side" if before == after == 1 else launches
        return f"{directions_words(self.directions, self.threshold)}; {words}: no interval"


def observed(cells: Sequence[ComparedCell], threshold: float) -> Observed | None:
    """Sum up the cells of too few launches; None: every cell has enough. `threshold` is a share."""
    found = [cell for cell in cells if cell.observed]
    if not found:
        return None
    launches = max(cell.launches[0] for cell in found), max(cell.launches[1] for cell in found)
    ratios = {cell.name: cell.printed_ratio or 1.0 for cell in found}
    return Observed(len(found), launches, threshold, directions(ratios, threshold))


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
    is_by_rounds: bool = False  # the launches of both runs alternated

    @property
    def heading(self) -> str:
        """Return what differs between the sides."""
        return f"the sides differ in {'; '.join(map(str, self.differences)) or 'no condition or fact that is known'}"

    def cells_with(self, kind: str) -> list[ComparedCell]:
        """Return the cells of one verdict."""
        return [cell for cell in self.cells if cell.verdict == kind]

    @property
    def observed(self) -> Observed | None:
        """Return the observation on cells of too few launches; None: there are none."""
        return observed(self.cells, self.threshold)

    @property
    def is_only_observed(self) -> bool:
        """True if no cell has enough launches."""
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
        if self.undecided == "warn" and self.is_blind:
            count = len(self.cells)
            few = {0: "no cell was measured on both sides", 1: "the only cell is undecided"}
            undecided = few.get(count, f"all {count} cells are undecided")
            why = "; ".join(filter(None, (str(self.observed) if self.is_only_observed else undecided, self.need)))
            return f"no cell was decided: {why}; to pass nevertheless, add --undecided pass"
        parts = [(kind, [cell.name for cell in self.cells_with(kind)]) for kind in self.failing]
        return "; ".join(f"{kind}: {_format_names(names)}" for kind, names in parts if names)

    @property
    def need(self) -> str:
        """Return how many launches are needed; empty if there are enough, or if the number is unknown."""
        if not (estimated := [cell.estimate for cell in self.cells if cell.estimate]):
            return MIN_LAUNCHES_SENTENCE if any(cell.more for cell in self.cells) else ""
        spread, units, found = need(estimated, self.threshold)
        if units <= found:
            return ""
        differ = f"{PLURAL[estimated[0].own.unit]} differ by {spread * 100:.2g} %"
        return f"{differ}: {units} per side are needed to show that equal cells are the same, found {found}"

    @property
    def warning(self) -> str:
        """Return a warning about cells that passed the gate unchecked; empty: none, or requested."""
        count = len(self.cells_with("undecided"))
        if self.undecided != "warn" or self.is_blind or not count:
            return ""
        cells, them = ("1 cell is", "it") if count == 1 else (f"{count} cells are", "them")
        parts = (f"warning: {cells} undecided, so the gate did not check {them}", self.need)
        return "; ".join([*filter(None, parts), "to fail on undecided cells, add --undecided fail"])

    @property
    def sentence(self) -> str:
        """Format `24 cells: 1 slower, 0 faster, 20 same, 3 undecided (6 more launches per side needed)`.

        That of `Observed` if no cell has enough launches.
        """
        if self.is_only_observed:
            return str(self.observed)
        count = Counter(cell.verdict for cell in self.cells)
        counts = [f"{count['failed']} failed"] if count["failed"] else []
        counts += [f"{count[kind]} {kind}" for kind in VERDICTS]
        cells = counted(len(self.cells), "cell")
        return f"{cells}: {', '.join(counts)}{_more_sentence(self.cells_with('undecided'))}"


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
    is_by_rounds = are_alternated(baseline, new)
    any_method = "time" in {*despite} or bool(conditions & {*OF_TIME})
    _refuse_copy(common, baseline[0], new[0])
    failed = [cell for cell in cells if cell.failure]
    measured = [cell for cell in common if cell.is_measured and not cell.failure]
    judged = {cell.key: ComparedCell(cell.key, cell.name, "failed", cell.failure) for cell in failed}
    judge = _judge_by_rounds if is_by_rounds else _judge
    judged |= {cell.key: cell for cell in judge(measured, threshold, any_method)}
    has_intervals = any(cell.estimate for cell in judged.values())
    return Comparison(
        baseline,
        new,
        threshold,
        sorted((judged[cell.key] for cell in cells if cell.key in judged), key=_ranks_and_size),
        [cell.unjudged for cell in cells if cell.key not in judged],
        [
            *_notes_of_runs(baseline, new, has_intervals),
            *map(str, adopted),
            *library_starts((*baseline, *new)),
            *(f"changed: {change}" for change in changes(baseline, new)),
        ],
        undecided,
        differences,
        is_by_rounds,
    )


def _refuse_copy(cells: Sequence[MatchedCell], baseline: ComparedRun, new: ComparedRun) -> None:
    """Raise RunError if all times of the cells are equal on both sides."""
    medians_s = [cell.medians_s for cell in cells]
    if any(before for before, _ in medians_s) and all(before == after for before, after in medians_s):
        raise RunError(f"{new.name} holds the same times as {baseline.name} (a copy?); name another run")


def _ranks_and_size(cell: ComparedCell) -> tuple[int, int]:
    """Return the key to sort cells by; ties keep the order of the run."""
    return cell.key.ranks, cell.key.size_bytes


def _judge_by_rounds(cells: Sequence[MatchedCell], threshold: float, any_method: bool) -> list[ComparedCell]:
    """Judge cells of two runs whose launches alternated."""
    judged = []
    for cell in cells:
        of_cell = _without_verdict(cell, threshold, any_method, least=1)
        medians_s = (rows[0][1]["launch_medians"] for rows in (cell.before, cell.after))
        if not of_cell.reason and (pairs := pair_rounds(*medians_s)):
            verdict, reason, before, after, rounds = judge_rounds(pairs, threshold)
            of_cell = of_cell._replace(
                verdict=verdict, reason=reason, baseline_s=before, new_s=after, launches=(rounds, rounds)
            )
        judged.append(of_cell if of_cell.reason else of_cell._replace(reason="no common round"))
    return judged


def _judge(cells: Sequence[MatchedCell], threshold: float, any_method: bool) -> list[ComparedCell]:
    """Judge cells that both sides have measured."""
    unjudged = {cell.key: _without_verdict(cell, threshold, any_method) for cell in cells}
    judged = [cell for cell in cells if not unjudged[cell.key].reason]
    estimated = estimates([difference(*cell.medians_s, cell.tick_s) for cell in judged])
    for cell, of_cell, decision in zip(judged, estimated, decide(estimated, threshold)):
        unjudged[cell.key] = _with_verdict(unjudged[cell.key], of_cell, decision, threshold)
    return list(unjudged.values())


def _without_verdict(cell: MatchedCell, threshold: float, any_method: bool, least: int = MIN_LAUNCHES) -> ComparedCell:
    """Return the cell with its times and the reason not to judge it, if any; `any_method`: its timing may differ."""
    before, after = cell.medians_s
    launches = sum(map(len, before)), sum(map(len, after))
    undecided = ComparedCell(
        cell.key, cell.name, "undecided", baseline_s=shown_time_s(before), new_s=shown_time_s(after), launches=launches
    )
    if len(cell.definitions) > 1 and not any_method:
        definitions = ", ".join(cell.definitions)
        return undecided._replace(
            reason=f"its timing methods are {definitions}; to compare nevertheless, add --despite time"
        )
    if cell.doubt:
        return undecided._replace(reason=cell.doubt)
    if min(launches) < least:
        reason = f"{launches[0]} and {launches[1]} launches; a verdict needs {MIN_LAUNCHES} per side"
        observed = direction_of(undecided.printed_ratio or 1.0, threshold)
        return undecided._replace(reason=reason, more=MIN_LAUNCHES - min(launches), observed=observed)
    return undecided


def _with_verdict(cell: ComparedCell, estimated: Estimate, decision: Decision, threshold: float) -> ComparedCell:
    judged = cell._replace(estimate=estimated, verdict=decision.verdict, p_holm=decision.p_holm)
    if decision.verdict != "undecided":
        return judged
    more = more_units(estimated, threshold, decision.level)
    alone = place(estimated.low, estimated.high, threshold)
    by_itself = "" if alone == "undecided" else f"{alone} on its own, not significant among all cells; "
    reason = f"{by_itself}{_format_more(more, estimated.own.unit)} per side needed"
    return judged._replace(reason=reason, more=more)


def _format_more(count: int | None, unit: str) -> str:
    """Format `1 more launch`; None: more than MOST_UNITS."""
    if count is None:
        return f"more than {MOST_UNITS} {PLURAL[unit]}"
    return f"{count} more {unit if count == 1 else PLURAL[unit]}"


def _more_sentence(undecided: Sequence[ComparedCell]) -> str:
    """Format how many more units decide the cells: ` (6 more launches per side needed)`."""
    decidable = [cell for cell in undecided if cell.more is not None]
    if any(cell.estimate is None for cell in decidable):
        return f" ({MIN_LAUNCHES_SENTENCE})"
    if not any(cell.estimate for cell in undecided):
        return ""
    most = max(decidable or undecided, key=lambda cell: cell.more or 0)
    unit = most.estimate.own.unit if most.estimate else "launch"
    share = f" for {len(decidable)} of them" if 0 < len(decidable) < len(undecided) else ""
    return f" ({_format_more(most.more, unit)} per side needed{share})"


def _notes_of_runs(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun], has_intervals: bool) -> list[str]:
    """Return the caveats about the runs."""
    single = has_intervals and len(baseline) == len(new) == 1
    notes = ["one run per side: the intervals do not cover variation between runs or days"] if single else []
    for run in (*baseline, *new):
        ranks = {row["ranks"] for row in run.rows if is_unreliable(row)}
        notes += [f"{run.name}: the times of {in_ranks(ranks)} are not reliable, see its report"] if ranks else []
    notes += [f"{run.name}: not read: {reason}" for run in (*baseline, *new) for reason in run.unread[:MOST_NAMED]]
    return notes + [
        f"{run.name} is unfinished: cells are missing in {_format_names(run.unfinished)}; finished cells are compared"
        for run in (*baseline, *new)
        if run.unfinished
    ]


def _format_names(names: Sequence[str]) -> str:
    """Join the first MOST_NAMED names, and say how many more there are."""
    return few(names, MOST_NAMED, comma="; ")
