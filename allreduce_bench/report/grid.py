"""The times of one rank count as columns: sizes down, algorithms across; and the order in which columns are omitted."""

from collections.abc import Iterable, Sequence

from ..evaluation.grade import is_disturbed
from ..evaluation.limits import LOCAL
from ..evaluation.summary_row import SummaryRow, time_of
from ..evaluation.verdict import EQUAL, FASTEST, UNCLEAR
from ..runs.competitor import Competitor
from ..runs.schema import FAILED, LEFT_OUT
from ..tables import Column, Field, Screen, shown
from ..units import format_size, three_digits
from .verdict_sentence import MARGIN, confidence, join_with_or

UNTRIED = (LEFT_OUT, "missing")
MARK = {FASTEST: " *", EQUAL: " =", UNCLEAR: " ?"}
NO_MARK = "  "
STYLE_OF = {FASTEST: "best", EQUAL: "equal"}
LEGEND = f"* fastest   = equal to the lowest within {MARGIN}   ? not told apart from it"
MINIMA = "(minimum) where times are not reliable"
WHOLE = "show RUN --format long"
INTERVALS, LOCAL_LIMIT, WRONG, ALGBW = 1, 2, 3, 4  # the order in which they are omitted
EFFICIENCY = "eff."


def grid(rows: Sequence[SummaryRow], screen: Screen) -> list[Column]:
    """Return the columns of rows of one rank count and cache; intervals only on a screen with room for them."""
    rows_of: dict[int, dict[str, SummaryRow]] = {}
    for row in rows:
        rows_of.setdefault(row["size_bytes"], {})[row["competitor"]] = row
    tried = {row["size_bytes"] for row in rows if row["state"] not in UNTRIED}
    lines = [rows_of[size_bytes] for size_bytes in sorted(tried or rows_of)]
    sizes = tuple(Field(format_size(size_bytes)) for size_bytes in sorted(tried or rows_of))
    names = list(dict.fromkeys(row["competitor"] for row in rows))
    times = [_times(name, [line.get(name) for line in lines], screen.width is not None) for name in names]
    return [Column(("size",), sizes), *times, *_results(lines)]


def interval_legend(columns: Sequence[Column], rows: Sequence[SummaryRow], screen: Screen) -> str:
    """Return `   ± half of the 94 % interval over launches` if the table shows intervals, else nothing."""
    if not any(column.left_out == INTERVALS for column in shown(columns, screen)):
        return ""
    return f"   ± half of the {' or '.join(interval_words(rows))}"


def interval_words(rows: Iterable[SummaryRow]) -> list[str]:
    """Describe the intervals of the times: `94 % interval over launches`; the least confident first."""
    timed = [row for row in rows if row["time_s"] is not None]
    launches = sorted({row["launches"] for row in timed if row["interval"] == "launches"})
    over_launches = dict.fromkeys(f"{confidence(count)} interval over launches" for count in launches)
    over_calls = any(row["interval"] == "repetitions" for row in timed)
    return [*over_launches, *(["95 % interval over the calls of a launch"] if over_calls else [])]


def _times(name: str, rows: Sequence[SummaryRow | None], with_intervals: bool) -> Column:
    """Return the times of one algorithm, with and without intervals.

    None: logs of other tools may lack the algorithm at a size.
    """
    first, second = in_two_lines(name)
    head = (f"{first}  " if first else "", f"{second}  ")
    plain = Column(head, tuple(Field(_time_text(row), _style(row)) for row in rows))
    if any(row and is_disturbed(row) for row in rows):
        minima = [f"({three_digits(least_s * 1e6)})" if row and (least_s := row.get("min_s")) else "" for row in rows]
        longest = max(map(len, minima))
        texts = [_time_text(row, text.rjust(longest)) for row, text in zip(rows, minima)]
        return Column(head, tuple(Field(text, _style(row)) for text, row in zip(texts, rows)))
    intervals = [_interval_text(row) if with_intervals else "" for row in rows]
    width = max(map(len, intervals))
    if not width:
        return plain
    texts = [_time_text(row, interval.rjust(width)) for row, interval in zip(rows, intervals)]
    fields = tuple(Field(text, _style(row)) for text, row in zip(texts, rows))
    return Column(head, fields, left_out=INTERVALS, name="±", instead=plain)


def _time_text(row: SummaryRow | None, interval: str = "") -> str:
    beside = f" {interval}" if interval else ""
    if row is None:
        return f"-{' ' * len(beside)}{NO_MARK}"
    if row["time_s"] is None:
        return f"{brief_state(row['state'])}{' ' * len(beside)}{NO_MARK}"
    return three_digits(row["time_s"] * 1e6) + beside + MARK.get(row.get("standing") or "", NO_MARK)


def brief_state(state: str) -> str:
    """Return the state of a cell without a time as it stands in its place."""
    return "no time" if state == LEFT_OUT else state


def _interval_text(row: SummaryRow | None) -> str:
    """Return `±3%`: half of the interval as a share of the time, `±>99%` if it is wider; empty: there is none."""
    if row is None or row["time_s"] is None or row["interval"] == "range":
        return ""
    share = (row["time_high_s"] - row["time_low_s"]) / 2 / row["time_s"]
    return "±<1%" if share < 0.005 else f"±{share:.0%}" if share < 0.995 else "±>99%"


def _style(row: SummaryRow | None) -> str:
    """Return the style of a time: wrong, not ranked, or its standing."""
    if row is None:
        return ""
    if row["state"] in FAILED or row.get("wrong"):
        return "bad"
    if row["time_s"] is None or row.get("doubt"):
        return "faint"
    return STYLE_OF.get(row.get("standing") or "", "")


def _results(lines: Sequence[dict[str, SummaryRow]]) -> list[Column]:
    """Return columns of the fastest algorithm, bandwidths and efficiency of the lowest time, wrong
    elements.
    """
    lowest = [lowest_of(row for row in line.values() if not Competitor(row["competitor"]).is_mockup) for line in lines]
    best = tuple(Field(winner_of(row) if row else "-") for row in lowest)
    algbw = tuple(Field(_gigabytes(row["algbw_bytes_per_s"]) if row else "-") for row in lowest)
    busbw = tuple(Field(_gigabytes(row["busbw_bytes_per_s"]) if row else "-") for row in lowest)
    share = tuple(Field(f"{row['of_limit']:.0%}" if row and row.get("of_limit") else "-") for row in lowest)
    limits = {row.get("limit_by") for line in lines for row in line.values() if row.get("limit_s")}
    secondary = LOCAL_LIMIT if limits == {LOCAL} else 0
    wrong = tuple(map(_wrong, lines))
    is_clean = all(field.text == "0" for field in wrong)
    said = tuple(Field(join_with_or(row["ran"].names) if row and is_told_by_library(row) else "") for row in lowest)
    return [
        Column(("", "best"), best),
        *([Column(("", "ran"), said)] if any(field.text for field in said) else []),
        Column(("algbw", "GB/s"), algbw, left_out=ALGBW, name="algbw"),
        Column(("busbw", "GB/s"), busbw),
        *([Column(("", EFFICIENCY), share, left_out=secondary, name=EFFICIENCY)] if limits else []),
        Column(("", "#wrong"), wrong, left_out=WRONG if is_clean else 0, name="#wrong (all 0)"),
    ]


def is_told_by_library(row: SummaryRow) -> bool:
    """Return whether the library's own lines say what it ran there, not what was seen of its messages."""
    ran = row.get("ran")
    return ran is not None and bool(ran.names) and not (ran.by_order or ran.by_messages)


def _wrong(line: dict[str, SummaryRow]) -> Field:
    counts = [count for row in line.values() if (count := row.get("wrong")) is not None]
    return Field(str(sum(counts)) if counts else "N/A", "bad" if any(counts) else "")


def lowest_of(rows: Iterable[SummaryRow]) -> SummaryRow | None:
    """Return the row with the lowest undoubted time, of the rows of one size; None if there is none."""
    return min((row for row in rows if row["time_s"] and not row.get("doubt")), key=time_of, default=None)


def winner_of(lowest: SummaryRow) -> str:
    """Return its algorithm if it is the fastest, else the mark of its standing."""
    standing = lowest.get("standing")
    return lowest["competitor"] if standing == FASTEST else MARK.get(standing or "", "-").strip()


def in_two_lines(name: str) -> tuple[str, str]:
    """Split an algorithm and its executor; a long name at the underscore nearest to its middle, a short one below."""
    algorithm, at, way = name.rpartition("@")
    if algorithm:
        return algorithm, at + way
    cuts = [i + 1 for i, letter in enumerate(name) if letter == "_"] if len(name) > 12 else []
    cut = min(cuts, key=lambda i: abs(i - len(name) / 2), default=0)
    return name[:cut], name[cut:]


def _gigabytes(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:.2f}"
