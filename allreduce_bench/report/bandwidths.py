"""Predictions at two bandwidths beside each other: what the second one buys."""

from collections.abc import Sequence

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_rate, format_size, format_time
from .forecast import Forecast


def difference_of(before_s: float, after_s: float) -> tuple[str, str]:
    """Return the difference of two times, as `-1.20 ms`, and its share of the first, as `-12.0 %`."""
    sign = "-" if after_s < before_s else "+" if after_s > before_s else ""
    return f"{sign}{format_time(abs(after_s - before_s))}", f"{100 * (after_s / before_s - 1) + 0:+.1f} %"


def as_comparison(forecasts: Sequence[Forecast], rates: Sequence[float], screen: Screen = UNBOUNDED) -> str:
    """Return for each number of ranks a table: the fastest times of two forecasts, and their differences."""
    before, _ = forecasts
    names = [format_rate(rate) for rate in rates]
    lines = [f"allreduce, predicted: {each.source}" for each in forecasts]
    lines.append(f"time of the fastest algorithm; difference: {names[1]} less {names[0]}, and its share of the latter")
    for ranks in before.ranks:
        lines += ["", f"{ranks} ranks", *fitted(columns_of(_rows(forecasts, names, ranks), left={2, 4}), screen)]
    return "\n".join(wrapped(lines, screen))


def _rows(forecasts: Sequence[Forecast], names: Sequence[str], ranks: int) -> list[list[str]]:
    rows = [["size", names[0], "fastest", names[1], "fastest", "difference", "share"]]
    for size_bytes in forecasts[0].sizes:
        fastest = [each.groups[0].fastest(ranks, size_bytes) for each in forecasts]
        winners = [found.predicted if found else None for found in fastest]
        times = [found.time_s if found else None for found in winners]
        shown = [
            word
            for found, time_s in zip(winners, times)
            for word in (("-", "-") if found is None or time_s is None else (format_time(time_s), found.series))
        ]
        before_s, after_s = times
        change = ("-", "-") if before_s is None or after_s is None else difference_of(before_s, after_s)
        rows.append([format_size(size_bytes), *shown, *change])
    return rows
