"""Predictions as text: a table, the fastest, how well the models did, the rest if asked for; a map; CSV and JSON."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from ..evaluation.limits import NETWORK_BOUND
from ..models.bounds import Bounds
from ..models.crossings import Crossing, named, over_ranks, over_sizes, winner_map
from ..models.intervals import COVERAGE
from ..models.machine import Machine
from ..models.prediction import BEST, LIMITS, PORT, CompetingModels, Predicted
from ..models.words import joined_notes
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import few, format_rate, format_size, format_time, in_ranks, three_digits
from .grid import in_two_lines

MANY_RANKS = 8  # with more rank counts, only the first and the last get their sentences over sizes
MOST_NAMED = 4  # reasons why times are missing
PREDICT_SCHEMA = "urn:allreduce-bench:predict:3"  # of `as_json`
WHOLE = "--format csv"  # option that shows all of a table
COLUMNS = (
    *("group", "competitor", "ranks", "nodes", "size_bytes", "segment_nbytes", "time_s", "low_s", "high_s"),
    *("is_measured", "is_speculative", "is_cut", "fastest", "by_prediction"),
    *("latency_bound_s", "bandwidth_bound_s", "limit", "cannot", "grade", "placement"),
)


class Forecast(NamedTuple):
    """The subject of a prediction: the machine, the ranks and the sizes (bytes)."""

    machine: Machine
    source: str  # of the prices, as text
    groups: Sequence[CompetingModels]
    ranks: Sequence[int]
    sizes: Sequence[int]


def rows(forecast: Forecast) -> list[dict[str, Any]]:
    """Return one row for every series, number of ranks and size, with the COLUMNS; missing is None."""
    return [
        _row_of_cell(group, group.predict(series, ranks, size_bytes), group.bounds(ranks, size_bytes))
        for group in forecast.groups
        for ranks in forecast.ranks
        for size_bytes in forecast.sizes
        for series in group.models
    ]


def _row_of_cell(group: CompetingModels, predicted: Predicted, least: Bounds) -> dict[str, Any]:
    model, fastest = group.models[predicted.series], group.fastest(predicted.ranks, predicted.size_bytes)
    is_fastest = fastest is not None and fastest.predicted == predicted
    values = {**predicted._asdict(), "group": group.where, "competitor": predicted.series}
    values |= {
        "fastest": is_fastest,
        "by_prediction": is_fastest and fastest is not None and not fastest.is_sure,
        "latency_bound_s": least.latency_s,
        "bandwidth_bound_s": least.bandwidth_s,
        "grade": model.grade if model.cells else None,
        "placement": model.placement if model.cells else None,
    }
    return {name: values.get(name) for name in COLUMNS}


def as_csv(forecast: Forecast) -> str:
    """Return the rows as CSV; True is 1, missing is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows(forecast):
        writer.writerow({name: int(value) if isinstance(value, bool) else value for name, value in row.items()})
    return text.getvalue()


def as_json(forecast: Forecast) -> str:
    """Return one object: the source, the rows, and the crossings with their sentences."""
    content = {
        "schema": PREDICT_SCHEMA,
        "source": forecast.source,
        "fit": [*(note for group in forecast.groups for note in _fit_notes(group)), *forecast.machine.notes],
        "rows": rows(forecast),
        "crossings": [
            {"group": group.where, "sentence": crossing.sentence, **crossing._asdict()}
            for group in forecast.groups
            for crossing in crossings_of(forecast, group)
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def crossings_of(forecast: Forecast, group: CompetingModels) -> list[Crossing]:
    """Find crossings over sizes at the numbers of ranks, and over ranks, from fewest to most; of given prices only."""
    if not forecast.machine.bare:
        return []
    ranks, sizes = forecast.ranks, forecast.sizes
    changing = [one for count in _few_ranks(ranks) for one in over_sizes(group, count, sizes[0], sizes[-1], sizes)]
    growing = [one for size_bytes in sizes for one in over_ranks(group, size_bytes, ranks[0], ranks[-1], ranks)]
    return changing + growing


def _few_ranks(ranks: Sequence[int]) -> Sequence[int]:
    return ranks if len(ranks) <= MANY_RANKS else (ranks[0], ranks[-1])


def as_text(forecast: Forecast, screen: Screen = UNBOUNDED, is_map: bool = False, is_verbose: bool = False) -> str:
    """Return for every group a table, the fastest, and how well its models did.

    `is_map`: the fastest algorithm alone, ranks down and sizes across; `is_verbose`: and all that is known.
    """
    lines = []
    for group in forecast.groups:
        grade = f"grade of the times: {group.grade}" if group.grade else ""
        where = ", ".join(filter(None, [group.where, grade]))
        lines += [f"allreduce, predicted: {forecast.source}", *filter(None, [where])]
        lines += ["", *(_map_lines if is_map else _table_lines)(forecast, group, screen), ""]
        lines += [] if is_map else [*_fastest_lines(forecast, group), *_marks(forecast, group)]
        lines += [*_doubts(forecast, group), *_scores(group)]
        lines += _details(forecast, group) if is_verbose else []
        lines.append("")
    lines[-1:] = [f"fit: {note}" for note in forecast.machine.notes] if is_verbose else []
    return "\n".join(wrapped(lines, screen))


def _table_lines(forecast: Forecast, group: CompetingModels, screen: Screen) -> list[str]:
    """Return one table: a row for each number of ranks and size, a column for each series."""
    heads = [in_two_lines(series) for series in group.models]
    is_measured = bool(group.grade)
    table = [["", "", *(f"{first}  " if first else "" for first, _ in heads), "", *[""] * is_measured]]
    ends = [f"{COVERAGE:.0%}"] * is_measured
    table.append(["ranks", "size", *(f"{second}  " for _, second in heads), "fastest", *ends])
    for ranks in forecast.ranks:
        for place, size_bytes in enumerate(forecast.sizes):
            fastest = group.fastest(ranks, size_bytes)
            won = fastest.predicted if fastest else None
            cells = [_time_text(group.predict(series, ranks, size_bytes), won) for series in group.models]
            interval = [_interval_text(won)] if is_measured else []
            count = str(ranks) if place == 0 else ""
            table.append([count, format_size(size_bytes), *cells, named(group, ranks, size_bytes) or "-", *interval])
    heads_used = table[0 if any(table[0]) else 1 :]
    return ["time (us)", *fitted(columns_of(heads_used, heads=len(heads_used) - len(table) + 2, keys=2), screen, WHOLE)]


def _time_text(predicted: Predicted, won: Predicted | None) -> str:
    if predicted.time_s is None:
        return "-  "
    mark = ("*" if predicted == won else "") + ("?" if predicted.is_speculative else "")
    return three_digits(predicted.time_s * 1e6) + f" {mark}{'^' if predicted.limit else ''}".ljust(2)


def _interval_text(predicted: Predicted | None) -> str:
    if predicted is None:
        return "-"
    if predicted.low_s is None or predicted.high_s is None:
        return "measured" if predicted.is_measured else "-"
    return f"{three_digits(predicted.low_s * 1e6)} to {three_digits(predicted.high_s * 1e6)}"


def _map_lines(forecast: Forecast, group: CompetingModels, screen: Screen) -> list[str]:
    winners = winner_map(group, forecast.ranks, forecast.sizes)
    lines = [["ranks", *map(format_size, forecast.sizes)]]
    lines += [[str(ranks), *(name or "-" for name in row)] for ranks, row in zip(forecast.ranks, winners)]
    return ["the fastest algorithm, ranks down and sizes across", "", *fitted(columns_of(lines), screen)]


def _fastest_lines(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return for each number of ranks which series is the fastest at which of the sizes; nothing of a single series."""
    if len(group.models) < 2 or len(forecast.sizes) < 2:
        return []
    lines = []
    for ranks in _few_ranks(forecast.ranks):
        stretches = []
        for name, run in groupby(forecast.sizes, partial(named, group, ranks)):
            first, *others = map(format_size, run)
            stretches.append(f"{name or 'unknown'} at {' to '.join(dict.fromkeys((first, *others[-1:])))}")
        lines.append(f"fastest on {in_ranks([ranks])}: {', '.join(stretches)}")
    return lines


def _marks(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return what the marks of the table mean, but for `*` in the column of the fastest."""
    cells = _predict_all(forecast, group)
    unsure = any((named(group, cell.ranks, cell.size_bytes) or "").endswith("?") for cell in cells)
    marks = [
        *["name ?: by its prediction, against the winner at the measured ranks"] * unsure,
        *["time ?: speculative, no interval is known so far from the measurements"]
        * any(cell.is_speculative for cell in cells),
        *["^: raised to a bound, or by the port of a node"] * any(cell.time_s and cell.limit for cell in cells),
    ]
    return ["; ".join(marks)] if marks else []


def _predict_all(forecast: Forecast, group: CompetingModels) -> list[Predicted]:
    return [
        group.predict(series, ranks, size_bytes)
        for series in group.models
        for ranks in forecast.ranks
        for size_bytes in forecast.sizes
    ]


def _doubts(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return why times are missing, or are only lower bounds."""
    cells = _predict_all(forecast, group)
    reasons: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.cannot:
            reasons.setdefault(cell.series, {})[cell.cannot.removeprefix(f"{cell.series}: ")] = None
    joined = joined_notes([(series, [*reasons.get(series, ())]) for series in group.models])
    shown = joined[:MOST_NAMED] + [f"and {len(joined) - MOST_NAMED} more reasons"] * (len(joined) > MOST_NAMED)
    lacking = _series_of(cell for cell in cells if cell.no_port and group.is_lower_bound(cell))
    what = "the bytes through the port of a node are unknown, so a time is this or more"
    return shown + ([f"{lacking}: {what} where the port adds to the times of others, and gets no *"] if lacking else [])


def _scores(group: CompetingModels) -> list[str]:
    """Return one line on how far off the models were where they were not fitted."""
    judged = {
        series: f"{series} {model.held_out.median:.0%} (P90 {model.held_out.p90:.0%})"
        for series, model in group.models.items()
        if model.held_out
    }
    if not group.grade:
        return []
    if not judged:
        return ["how far off these models are is not known: it takes three numbers of ranks to leave the largest out"]
    return [f"off at the largest number of ranks, left out: {few(judged.values(), MOST_NAMED)}"]


def _details(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return all that is known of these numbers beside the table."""
    cells = _predict_all(forecast, group)
    prices = "the least fitted alpha and beta" if group.grade else "the given alpha and beta"
    lines = [f"bounds: {NETWORK_BOUND}, at {prices}; --format csv lists them"]
    lines += [*_port_note(group), *_limit_notes(cells)]
    if cut := _series_of(cell for cell in cells if cell.is_cut):
        lines.append(f"{cut}: a time that would be longer than that of a larger size is cut off at the latter")
    if segmented := [cell for cell in cells if cell.segment_nbytes]:
        lines.append(f"{_series_of(segmented)}: {_segments_text(group, segmented)}")
    lines += [crossing.sentence for crossing in crossings_of(forecast, group)]
    return lines + [f"fit: {note}" for note in _fit_notes(group)]


def _fit_notes(group: CompetingModels) -> list[str]:
    return joined_notes([(series, model.notes) for series, model in group.models.items()])


def _port_note(group: CompetingModels) -> list[str]:
    """Note whether the ranks of a node share its port, if a node has several."""
    rate, per_node = group.layout.nic_bytes_per_s, group.step
    whose = f"the {per_node} ranks of a node share its port" if per_node > 1 else "each node has one port"
    if rate:
        return [f"{whose} of {format_rate(rate)} (one port, full duplex, no reduction in the network)"]
    unknown = f"whether {whose} is counted only as far as it was measured; --nic-bandwidth sets the rate of the port"
    return [unknown] if per_node > 1 else []


def _limit_notes(cells: Sequence[Predicted]) -> list[str]:
    """Note whose times were raised, and to what."""
    why = {PORT: "the port of the busiest node needs longer for its bytes than the critical path"}
    why |= {kind: f"the {kind} bound; the model alone is below it, so the time is this or more" for kind in LIMITS}
    raised = {kind: _series_of(cell for cell in cells if cell.time_s and cell.limit == kind) for kind in why}
    return [f"^ {names}: {why[kind]}" for kind, names in raised.items() if names]


def _series_of(cells: Iterable[Predicted]) -> str:
    return ", ".join(dict.fromkeys(cell.series for cell in cells))


def _segments_text(group: CompetingModels, cells: Sequence[Predicted]) -> str:
    sizes = sorted({cell.segment_nbytes for cell in cells if cell.segment_nbytes})
    range_text = " to ".join(dict.fromkeys(map(format_size, (sizes[0], sizes[-1]))))
    if group.layout.segment == BEST:
        return f"the best segment at each size, {range_text}"
    return f"segments of {range_text}; --segment best takes the segment size with the lowest modelled time"


def source_of(machine: Machine, name: str) -> str:
    """Return the source of the models of a machine file, as text."""
    return f"{name}, fitted to {', '.join(str(run.get('run', '?')) for run in machine.runs) or 'unnamed runs'}"


def prices_in_words(alpha_s: float, beta_s_per_byte: float) -> str:
    """Return `alpha 5.00 us per message, 100 Gbit/s`."""
    return f"alpha {format_time(alpha_s)} per message, {format_rate(1 / beta_s_per_byte)}"
