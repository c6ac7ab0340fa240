"""The cells of two sides, matched: their times on each side, their names, and reasons not to judge them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from ..evaluation.doubts import OTHER_DEFINITION, STARTS_TELL_BELOW, doubt_words
from ..evaluation.summary_row import SummaryRow
from ..runs.competitor import Competitor
from ..runs.dtypes import DTYPES
from ..runs.plan import ImportedPlan
from ..runs.rows import RunError
from ..runs.schema import FAILED, NOT_RELIABLE, split_values
from ..units import format_size, in_ranks
from .conditions import ComparedRun

Rows = Sequence[tuple[ComparedRun, SummaryRow]]  # of one cell and side, one row a run
Medians = list[tuple[ComparedRun, dict[str, float]]]  # of one cell and side: runs with times, launch -> median, seconds


@dataclass(frozen=True)
class MatchKey:
    """The columns in which the rows of a cell are the same on both sides."""

    ranks: int
    competitor: str  # such as ring@pipelined
    segment: int | None  # pipelining piece; None: messages go whole; elements
    dtype: str | None  # None: a log does not say
    op: str | None  # None: a log does not say
    size_bytes: int


class UnjudgedCell(NamedTuple):
    """A cell that is not judged."""

    reason: str  # `only in the baseline (new: skipped, no memory)`
    cell: str  # `ring 8 B, 2 ranks`

    def __str__(self) -> str:
        return f"{self.reason}: {self.cell}"


class MatchedCell(NamedTuple):
    """A cell that one side or both planned, with its rows."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    before: Rows  # of the baseline; empty: it did not plan the cell
    after: Rows  # of the new side, likewise

    @property
    def is_common(self) -> bool:
        """True if both sides planned it."""
        return bool(self.before and self.after)

    @property
    def medians_s(self) -> tuple[Medians, Medians]:
        """Return the launch medians of each run with times, for both sides."""
        return _medians_s(self.before), _medians_s(self.after)

    @property
    def is_measured(self) -> bool:
        """True if both sides have times."""
        return all(self.medians_s)

    @property
    def failure(self) -> str:
        """Return why the cell fails on the new side only, or more gravely than in the baseline; empty: it does not."""
        before, after = ([(run, row) for run, row in side if _gravity(row)] for side in (self.before, self.after))
        gravest = max((_gravity(row) for _, row in before), default=0)
        return "; ".join(_failure_of_run(run, row) for run, row in after if _gravity(row) > gravest)

    @property
    def definitions_of_logs(self) -> str:
        """Return the definitions of its times, if they differ and a log has one of them; empty: they do not."""
        rows = [(run, row) for run, row in (*self.before, *self.after) if row["time_s"]]
        definitions = dict.fromkeys(row["time_definition"] for _, row in rows)
        if len(definitions) < 2 or not any(isinstance(run.plan, ImportedPlan) for run, _ in rows):
            return ""
        return f"other definitions of a time, {' and '.join(definitions)}: the ratio alone, no verdict"

    def timing_difference(self, is_condition: bool) -> str:
        """Return how its calls were timed differently, if that matters; empty: it does not.

        `is_condition`: the sides differ in a condition from which another timing method follows. Other ways to begin a
        call matter below STARTS_TELL_BELOW bytes, whatever differs.
        """
        rows = [row for _, row in (*self.before, *self.after) if row["time_s"]]
        definitions = dict.fromkeys(row["time_definition"] for row in rows)
        starts = dict.fromkeys(start for row in rows for start in split_values(row.get("start")))
        if len(definitions) > 1 and not is_condition:
            reason = f"timed by {' and by '.join(definitions)}"
        elif len(starts) > 1 and self.key.size_bytes < STARTS_TELL_BELOW:
            limit = format_size(STARTS_TELL_BELOW)
            reason = f"calls begun by {' and '.join(starts)} are not compared below {limit}"
        else:
            return ""
        return f"{reason}; to compare nevertheless, add --despite time"

    @property
    def doubt(self) -> str:
        """Return why its times are not compared; empty: they are."""
        doubts = [f"{doubt} in {run.name}" for run, row in (*self.before, *self.after) if (doubt := _doubt_of(row))]
        return f"not ranked: {', '.join(doubts)}" if doubts else ""

    @property
    def unjudged(self) -> UnjudgedCell:
        """Return the side without times, for a cell that is not judged."""
        before, after = _describe_state(self.before), _describe_state(self.after)
        if before == "done":
            return UnjudgedCell(f"only in the baseline (new: {after})", self.name)
        if after == "done":
            return UnjudgedCell(f"only new (baseline: {before})", self.name)
        return UnjudgedCell(f"on neither side ({before})", self.name)


class Adopted(NamedTuple):
    """A value that a side's logs lack, taken from the other side, whose cells all have it."""

    side: int  # 0: the baseline lacks it, 1: the new side
    name: str  # dtype or op
    value: str
    run: str  # the first one of the side

    def __str__(self) -> str:
        what = {"dtype": "type of the elements", "op": "operation"}[self.name]
        return f"{self.run} does not say the {what}: taken to be {self.value}, as on the other side"


def adopted_values(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[Adopted]:
    """Return the types and operations that one side lacks and the other one has."""
    sides = (baseline, new)
    rows = [[row for run in side for row in run.rows] for side in sides]
    adopted = []
    for name in ("dtype", "op"):
        values = [{row[name] or None for row in of_side} for of_side in rows]
        for side, other in ((0, 1), (1, 0)):
            if values[side] == {None} and len(values[other]) == 1 and (value := min(values[other], key=str)):
                adopted.append(Adopted(side, name, value, sides[side][0].name))
    return adopted


def match_cells(
    baseline: Sequence[ComparedRun],
    new: Sequence[ComparedRun],
    algorithms: Collection[str] = (),
    sizes: Collection[int] = (),
    adopted: Sequence[Adopted] = (),
    ignored: Collection[str] = (),
) -> list[MatchedCell]:
    """Match the cells of both sides, those of `algorithms` and `sizes` in bytes if given; the baseline's first.

    `adopted`: values assumed for the side that lacks them. `ignored`: columns in which the cells of both sides may
    differ, since the sides differ in a condition.

    Raises RunError if a side has none of them, or if no cell is common.
    """
    keys: dict[tuple, MatchKey] = {}  # that of the baseline where both sides have one
    before, after = (
        _rows_by_key(side, algorithms, sizes, [value for value in adopted if value.side == number], ignored, keys)
        for number, side in enumerate((baseline, new))
    )
    if not before or not after:
        raise RunError(_none_named_sentence(new if before else baseline))
    if not before.keys() & after.keys():
        raise RunError(_none_common_sentence(before, after))
    rows = {key: (before.get(key, []), after.get(key, [])) for key in (*before, *after)}
    names = _unique_names({key: (sides[0] or sides[1])[0][1] for key, sides in rows.items()})
    return [MatchedCell(key, names[key], *sides) for key, sides in rows.items()]


def _rows_by_key(
    side: Sequence[ComparedRun],
    algorithms: Collection[str],
    sizes: Collection[int],
    adopted: Sequence[Adopted],
    ignored: Collection[str],
    keys: dict[tuple, MatchKey],
) -> dict[MatchKey, list[tuple[ComparedRun, SummaryRow]]]:
    """Return the rows of one side by cell, those of `algorithms` and `sizes` if given; `keys`: those so far."""
    rows_by_key: dict[MatchKey, list[tuple[ComparedRun, SummaryRow]]] = {}
    for run in side:
        for row in run.rows:
            is_named = not algorithms or {row["competitor"], Competitor(row["competitor"]).algorithm} & {*algorithms}
            if is_named and (not sizes or row["size_bytes"] in sizes):
                own = _key_of(row, adopted)
                common = tuple(value for name, value in vars(own).items() if name not in ignored)
                rows_by_key.setdefault(keys.setdefault(common, own), []).append((run, row))
    return rows_by_key


def _key_of(row: SummaryRow, adopted: Sequence[Adopted]) -> MatchKey:
    """Return the key of a row, with the adopted values of its side."""
    values = {each.name: each.value for each in adopted}
    dtype, op = values.get("dtype", row["dtype"]), values.get("op", row["op"])
    return MatchKey(row["ranks"], row["competitor"], row["segment"], dtype, op, row["size_bytes"])


def _medians_s(rows: Rows) -> Medians:
    return [(run, row["launch_medians"]) for run, row in rows if row["time_s"] is not None]


def _doubt_of(row: SummaryRow) -> str:
    """Return why the times of a row are not compared, by its own doubt or by its grade; empty: they are."""
    doubt = row.get("doubt")
    if doubt and doubt != OTHER_DEFINITION:  # which is not about the cell itself
        return doubt_words(doubt)
    return NOT_RELIABLE if is_unreliable(row) else ""


def is_unreliable(row: SummaryRow) -> bool:
    """Return whether the times of a row's ranks are not reliable; a wrong cell does not make those of others so."""
    reasons = row["grading"].reasons if "grading" in row else ()
    return any(reason.grade == NOT_RELIABLE and reason.code not in FAILED for reason in reasons)


def _gravity(row: SummaryRow) -> int:
    """Return how gravely a cell failed in one run: 0, not at all; hung in some launch; hung in all; refused; wrong."""
    if row["state"] in FAILED:
        return 2 + FAILED[::-1].index(row["state"])
    return int(bool(row.get("accidents")))


def _failure_of_run(run: ComparedRun, row: SummaryRow) -> str:
    """Return why the cell fails in one run; empty: it does not."""
    if row["state"] in FAILED:
        return f"{row['state']} ({row['reason']}) in {run.name}"
    accidents = row.get("accidents") or ()
    return f"hung ({'; '.join(accident.words for accident in accidents)}) in {run.name}" if accidents else ""


def _describe_state(rows: Rows) -> str:
    """Format `done`, `not planned`, or `skipped, no memory`."""
    if not rows:
        return "not planned"
    if _medians_s(rows):
        return "done"
    row = rows[0][1]
    return f"{row['state']}, {row['reason']}"


def _unique_names(rows: dict[MatchKey, SummaryRow]) -> dict[MatchKey, str]:
    """Return a name for each cell, with its segment only if needed to make it unique."""
    short = {
        key: f"{row['competitor']} {format_size(row['size_bytes'])}, {in_ranks([row['ranks']])}"
        for key, row in rows.items()
    }
    count = Counter(short.values())
    return {key: name if count[name] == 1 else f"{name}, {_segment_text(key)}" for key, name in short.items()}


def _segment_text(key: MatchKey) -> str:
    if not key.segment:
        return "whole messages"
    itemsize = DTYPES.get(key.dtype or "")
    return f"segment {format_size(key.segment * itemsize) if itemsize else f'{key.segment} elements'}"


def _none_named_sentence(side: Sequence[ComparedRun]) -> str:
    """Return the error for a side without any of the named cells, with the cells that it has."""
    rows = [row for run in side for row in run.rows]
    algorithms = ", ".join(dict.fromkeys(row["competitor"] for row in rows))
    sizes = ", ".join(map(format_size, sorted({row["size_bytes"] for row in rows})))
    return f"{side[0].name} has no cell that matches -a and --sizes; it has: {algorithms}; {sizes}"


def _none_common_sentence(before: dict[MatchKey, list], after: dict[MatchKey, list]) -> str:
    """Return the error for no common cell: the first column of MatchKey without a common value."""
    for name in (field.name for field in fields(MatchKey)):
        values = [list(dict.fromkeys(getattr(key, name) for key in side)) for side in (before, after)]
        if not {*values[0]} & {*values[1]}:
            texts = [", ".join(_value_text(name, value) for value in of_side) for of_side in values]
            column = name.removesuffix("_bytes")
            return f"no cell in common: {column} is {texts[0]} in the baseline, {texts[1]} in the new run"
    return "no cell in common: the two sides measured different algorithms, sizes or ranks"


def _value_text(column: str, value: object) -> str:
    if value is None:
        return "unknown"
    return format_size(float(str(value))) if column == "size_bytes" else str(value)
