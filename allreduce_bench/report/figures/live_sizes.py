"""Speed-up, time and bus bandwidth over size as live charts: a panel for each rank count."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from ...evaluation.doubts import doubt_words
from ...evaluation.grade import NOT_RELIABLE
from ...evaluation.limits import LINKS
from ...runs.competitor import NATIVES
from ...units import format_bandwidth, format_size, format_time, in_ranks, three_digits
from ..figure import Style, drawn_name, panel_title, styles
from ..live_chart import NO_SWITCHES, Axis, LiveChart, LiveLine, LivePanel, LiveSeries, Switch, cell_id
from ..unbroken import find_breaks
from ..verdict_sentence import printed_factor

SIZE = Axis("size of the vector", log=True)
REFERENCES: dict[str, str] = {  # column -> its label
    "call_floor_s": "reference: empty call",
    "copy_floor_s": "reference: local copy",
    "reduce_floor_s": "reference: local reduction",
}
TOLD = (  # columns of what is drawn, and said of it
    *("ranks", "size_bytes", "y", "low", "high", "time_s", "time_low_s", "time_high_s", "interval"),
    *("launches", "repetitions", "doubt"),
)
Lines = Callable[[pd.DataFrame, int], list[LiveLine]]  # of the rows of a rank count


def live_times(frame: pd.DataFrame, bounds: pd.DataFrame, switches: Mapping[int, Sequence[Switch]]) -> LiveChart | None:
    """Chart time over size; bars are the spread of the launches."""

    def lines(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        named = {"limit_s": ("lower bound by measured figures", "limit")}
        named |= {column: (label, f"reference {label.split()[-1]}") for column, label in REFERENCES.items()}
        found = [_line_of(rows, column, *how) for column, how in named.items() if rows[column].notna().any()]
        curve = _thinned(bounds[bounds["ranks"] == ranks])
        fitted = LiveLine(_fit_name(curve, "lower"), "fit", [*curve["size_bytes"]], [*curve["time_s"] * 1e6])
        return [*found, fitted] if len(curve) else found

    rows = frame.assign(y=frame["time_s"] * 1e6, low=frame["spread_low_s"] * 1e6, high=frame["spread_high_s"] * 1e6)
    return _over_sizes(rows, "Time", Axis("time", log=True, shared=True, unit="us"), lines, _time_words, switches)


def live_bandwidth(frame: pd.DataFrame, bounds: pd.DataFrame) -> LiveChart | None:
    """Chart bus bandwidth over size."""

    def lines(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        curve = _thinned(bounds[bounds["ranks"] == ranks])
        rate, sizes = [*curve["busbw_bytes_per_s"] / 1e9], sorted(rows["size_bytes"].unique())
        found = [LiveLine(_fit_name(curve, "upper"), "fit", [*curve["size_bytes"]], rate)] if rate else []
        full = busbw_of_links(rows)
        return found + ([LiveLine("link rate", "limit", sizes, [full / 1e9] * len(sizes))] if full else [])

    rate = frame["busbw_bytes_per_s"] / 1e9
    low, high = rate * frame["time_s"] / frame["spread_high_s"], rate * frame["time_s"] / frame["spread_low_s"]
    rows = frame[frame["ranks"] > 1].assign(y=rate, low=low, high=high)
    return _over_sizes(
        rows,
        "Bus bandwidth",
        Axis("bus bandwidth", log=False, unit="GB/s"),
        lines,
        _rate_words,
        NO_SWITCHES,
    )


def live_speedup(frame: pd.DataFrame, switches: Mapping[int, Sequence[Switch]]) -> LiveChart | None:
    """Chart speed-up over native, at first at the most ranks alone; a line at 1."""

    def one(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        sizes = sorted(rows["size_bytes"].unique())
        return [LiveLine("as fast as native", "one", sizes, [1.0] * len(sizes))]

    rows = frame[~frame["competitor"].isin(NATIVES)].assign(y=frame["speedup"], low=None, high=None)
    axis = Axis("speed-up over native", log=True, shared=True)
    chart = _over_sizes(rows, "Speed-up over native", axis, one, _speedup_words, switches)
    return chart and chart._replace(hidden=[tag for panel in chart.panels[:-1] for tag in panel.tags])


def _fit_name(curve: pd.DataFrame, side: str) -> str:
    """Return the name of a curve of `bound_curves`: a bound on the `side`, but where times pass it."""
    return f"{'fit' if curve['passed'].any() else f'{side} bound'} by the smallest fitted α and β"


def busbw_of_links(rows: pd.DataFrame) -> float | None:
    """Return the bus bandwidth at which the links between the nodes are saturated, bytes/s; None: unknown rate.

    The limit of short messages omits the burst that a link passes after a pause, so the minimum counts.
    """
    limited = rows[(rows["limit_by"] == LINKS).fillna(False)]
    full = (limited["busbw_bytes_per_s"] * limited["time_s"] / limited["limit_s"]).dropna()
    return float(full.min()) if len(full) else None


def _line_of(rows: pd.DataFrame, column: str, label: str, kind: str) -> LiveLine:
    """Return times of a column that all algorithms share, us, as a line."""
    known = rows.dropna(subset=[column]).drop_duplicates("size_bytes").sort_values("size_bytes")
    return LiveLine(label, kind, [*known["size_bytes"]], [*known[column] * 1e6])


def _over_sizes(
    frame: pd.DataFrame,
    title: str,
    axis: Axis,
    lines: Lines,
    words: Callable[[dict], str],
    switches: Mapping[int, Sequence[Switch]],
) -> LiveChart | None:
    """Return a chart of `frame`, a summary with the columns y, low and high; None: nothing was measured.

    Sizes without a value stay, so that lines are broken there.
    """
    rows = frame[frame["size_bytes"] > 0]
    each = rows.groupby(["ranks", "competitor"], dropna=False)
    rows = each.filter(lambda line: line["y"].notna().any())
    if rows.empty:
        return None
    styled = styles(frame["competitor"])
    looks: dict[str, Style] = {}
    panels = []
    for ranks, group in rows.groupby("ranks"):
        series = []
        for name, line in group.groupby("competitor", sort=False):
            label = drawn_name(str(name))
            looks[label] = styled[str(name)]
            series.append(_series(label, str(name), line.sort_values("size_bytes"), words))
        count = int(str(ranks))
        marks = switches.get(count, ())
        pale = bool((group["grade"] == NOT_RELIABLE).all())
        panels.append(LivePanel(panel_title(group), (in_ranks([count]),), series, lines(group, count), marks, pale))
    names = {int(size_bytes): format_size(int(size_bytes)) for size_bytes in sorted(rows["size_bytes"].unique())}
    return LiveChart(title, SIZE, axis, names, panels, looks, [[panel.tags[0] for panel in panels]])


def _series(label: str, name: str, line: pd.DataFrame, words: Callable[[dict], str]) -> LiveSeries:
    records = line[[name for name in TOLD if name in line]].to_dict("records")
    return LiveSeries(
        label,
        [int(row["size_bytes"]) for row in records],
        [row["y"] for row in records],
        [row["low"] for row in records],
        [row["high"] for row in records],
        [words(row) if pd.notna(row["y"]) else "" for row in records],
        [cell_id(int(row["ranks"]), name, int(row["size_bytes"])) for row in records],
        find_breaks(line),
    )


def measured_words(row: dict) -> str:
    """Return `12.3 us [12.0, 12.6], 5 launches of 15 calls`: a time, its interval, its sample."""
    ends = f" [{three_digits(row['time_low_s'] * 1e6)}, {three_digits(row['time_high_s'] * 1e6)}]"
    has_interval = row["interval"] != "range" and pd.notna(row["time_low_s"])
    launches, calls = int(row["launches"]), row.get("repetitions")
    each = f" of {round(calls / launches)} calls" if pd.notna(calls) and calls else ""
    doubt = f"; not ranked: {doubt_words(row['doubt'])}" if pd.notna(row["doubt"]) else ""
    made_of = f"{launches} launch{'' if launches == 1 else 'es'}{each}"
    return f"{format_time(row['time_s'])}{ends if has_interval else ''}, {made_of}{doubt}"


def _time_words(row: dict) -> str:
    return measured_words(row)


def _rate_words(row: dict) -> str:
    return f"{format_bandwidth(row['y'] * 1e9)}; {measured_words(row)}"


def _speedup_words(row: dict) -> str:
    factor = printed_factor(row["y"] * row["time_s"], row["time_s"])
    return f"{three_digits(factor)} times as fast as native; {measured_words(row)}"


def _thinned(curve: pd.DataFrame) -> pd.DataFrame:
    """Return every tenth point of a smooth curve, enough for straight lines between them."""
    timed = curve[curve["time_s"].notna()]
    return timed.iloc[::10] if len(timed) else timed
