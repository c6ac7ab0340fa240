"""Predictions as text: a table per rank count, the map of winners, crossings as sentences; CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..evaluation.limits import NETWORK_BOUND
from ..models.crossings import Finding, at_powers_of_two, merged, named, over_ranks, over_sizes, winner_map
from ..models.machine import Machine
from ..models.model import COVERAGE, FAR, Bounds
from ..models.prediction import BEST, LIMITS, PORT, CompetingModels, Predicted
from ..models.words import joined_notes
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_ranges, format_rate, format_size, format_time, three_digits
from .grid import in_two_lines

MANY_RANKS = 8  # with more rank counts, only the first and the last get their crossings over sizes
PREDICT_SCHEMA = "urn:allreduce-bench:predict:2"  # of `as_json`
WHOLE = "--format csv"  # option that shows all of a table
COLUMNS = (
    *("group", "competitor", "ranks", "nodes", "size_bytes", "segment_nbytes", "time_s", "low_s", "high_s"),
    *(
        "speculative",
        "size_factor",
        "fastest",
        "equal",
        "kept_from_ranks",
        "latency_bound_s",
        "bandwidth_bound_s",
        "cannot",
        "limit",
        "unidentified",
    ),
    *("grade", "placement"),
)


class Forecast(NamedTuple):
    """The subject of a prediction: the machine, the ranks and the sizes (bytes)."""

    machine: Machine
    source: str  # of the parameters, as text
    groups: Sequence[CompetingModels]
    ranks: Sequence[int]
    sizes: Sequence[int]


def rows(forecast: Forecast) -> list[dict[str, Any]]:
    """Return one row for every series, number of ranks and size, with the COLUMNS; missing is None."""
    return [
        _row_of_cell(group, predicted, Standing.at(group, ranks, size_bytes), group.bounds(ranks, size_bytes))
        for group in forecast.groups
        for ranks in forecast.ranks
        for size_bytes in forecast.sizes
        for predicted in (group.at(series, ranks, size_bytes) for series in group.models)
    ]


class Standing(NamedTuple):
    """The series with the least time at a place, and those that equal it within their intervals."""

    winner: Predicted | None
    equals: Sequence[str]

    @classmethod
    def at(cls, group: CompetingModels, ranks: int, size_bytes: int) -> "Standing":
        """Return the standing on `ranks` at `size_bytes`."""
        return cls(group.winner(ranks, size_bytes), group.equals(ranks, size_bytes))

    def mark(self, predicted: Predicted) -> str:
        """Return `*` for the fastest, `=` for each of those that equal the least; empty for others."""
        if self.equals:
            return "=" if predicted == self.winner or predicted.series in self.equals else ""
        return "*" if predicted == self.winner else ""


def _row_of_cell(group: CompetingModels, predicted: Predicted, standing: Standing, least: Bounds) -> dict[str, Any]:
    model = group.models[predicted.series]
    modelled = predicted.prediction._asdict() if predicted.prediction else {}
    values = {**predicted._asdict(), **modelled, "group": group.where, "competitor": predicted.series}
    values |= {
        "fastest": standing.mark(predicted) == "*",
        "equal": standing.mark(predicted) == "=",
        "kept_from_ranks": group.largest_common if group.keeps_winner(predicted.ranks) else None,
        "latency_bound_s": least.latency_s,
        "bandwidth_bound_s": least.bandwidth_s,
        "grade": model.grade if model.ranks else None,
        "placement": model.placement if model.ranks else None,
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
    crossings = [
        {"group": group.where, "sentence": crossing.sentence, **crossing._asdict()}
        for group in forecast.groups
        for crossing in crossings_of(forecast, group)
    ]
    fit = [*(note for group in forecast.groups for note in _fit_notes(group)), *forecast.machine.notes]
    content = {
        "schema": PREDICT_SCHEMA,
        "measured": False,
        "source": forecast.source,
        "fit": fit,
        "rows": rows(forecast),
    }
    content["crossings"] = crossings
    return json.dumps(content, indent=1) + "\n"


def as_tables(forecast: Forecast, screen: Screen = UNBOUNDED) -> str:
    """Return for every group a table per rank count, and below them the crossings."""
    return _text(forecast, _table_lines, screen)


def as_map(forecast: Forecast, screen: Screen = UNBOUNDED) -> str:
    """Return for every group the fastest algorithm, ranks down and sizes across."""
    return _text(forecast, _map_lines, screen)


def _fit_notes(group: CompetingModels) -> list[str]:
    return joined_notes([(series, model.notes) for series, model in group.models.items()])


def crossings_of(forecast: Forecast, group: CompetingModels) -> list[Finding]:
    """Find crossings over sizes at the numbers of ranks, and over ranks, from fewest to most, at the sizes."""
    ranks, sizes = forecast.ranks, forecast.sizes
    rank_counts = ranks if len(ranks) <= MANY_RANKS else (ranks[0], ranks[-1])
    changing: list[Finding] = [
        crossing for count in rank_counts for crossing in over_sizes(group, count, sizes[0], sizes[-1], sizes)
    ]
    growing: list[Finding] = [
        crossing for size_bytes in sizes for crossing in over_ranks(group, size_bytes, ranks[0], ranks[-1], ranks)
    ]
    powers: list[Finding] = [
        crossing for size_bytes in sizes for crossing in at_powers_of_two(group, size_bytes, ranks[0], ranks[-1])
    ]
    return changing + merged(growing, sizes) + merged(powers, sizes)


def _text(forecast: Forecast, lines_of: Callable[..., list[str]], screen: Screen) -> str:
    lines = []
    for group in forecast.groups:
        sentences = [crossing.sentence for crossing in crossings_of(forecast, group)]
        if not sentences and len(group.models) > 1:
            sentences = [_without_crossings(forecast, group)]
        notes = [*_reader_notes(forecast, group), *(f"fit: {note}" for note in _fit_notes(group))]
        grade = f"grade of the fitted times: {group.grade}" if group.grade else ""
        lines += [
            f"allreduce, model prediction, not measured: {forecast.source}",
            *filter(None, [group.where, grade]),
        ]
        lines += [*lines_of(forecast, group, screen), "", *sentences, *notes, ""]
    lines[-1:] = [f"fit: {note}" for note in forecast.machine.notes]
    return "\n".join(wrapped(lines, screen))


def _without_crossings(forecast: Forecast, group: CompetingModels) -> str:
    if any(group.winner(ranks, size_bytes) for ranks in forecast.ranks for size_bytes in forecast.sizes):
        return "no algorithm is shown to overtake another in this range"
    return "the models do not tell the fastest algorithm in this range"


def _table_lines(forecast: Forecast, group: CompetingModels, screen: Screen) -> list[str]:
    cells = _all_predicted(forecast, group)
    marks = [
        "* fastest",
        *["= least, or equal to it within the intervals"] * _has_intervals(group),
        *["? speculative"] * any(cell.prediction and cell.prediction.speculative for cell in cells),
    ]
    marks += ["^ limited by a bound or port"] * any(cell.prediction and cell.limit for cell in cells)
    marks += ["~ not identified"] * any(cell.prediction and cell.prediction.unidentified for cell in cells)
    marks += [f"{COVERAGE:.0%}: interval of the least"] * _has_intervals(group)
    lines = [f"time (us);  {'  '.join(marks)}  bounds: {_bounds_text(group)}"]
    for ranks in forecast.ranks:
        nodes = group.at(next(iter(group.models)), ranks, forecast.sizes[0]).nodes
        where = f"{ranks} ranks" + (f" on {nodes} node{'s' if nodes > 1 else ''}" if nodes else "")
        lines += ["", where, *_size_lines(forecast, group, ranks, screen)]
    return lines


def _bounds_text(group: CompetingModels) -> str:
    if not group.grade:
        return f"{NETWORK_BOUND}, at the given alpha and beta"
    least = "the smallest alpha (latency) and identified beta (bandwidth) of these models"
    return f"{NETWORK_BOUND}, at the estimated alpha and beta: {least}"


def _all_predicted(forecast: Forecast, group: CompetingModels) -> list[Predicted]:
    return [
        group.at(series, ranks, size_bytes)
        for series in group.models
        for ranks in forecast.ranks
        for size_bytes in forecast.sizes
    ]


def _has_intervals(group: CompetingModels) -> bool:
    return any(model.reach_log is not None for model in group.models.values())


def _size_lines(forecast: Forecast, group: CompetingModels, ranks: int, screen: Screen) -> list[str]:
    heads = [in_two_lines(series) for series in group.models]
    interval = _has_intervals(group)
    upper = ["", *(f"{first}  " if first else "" for first, _ in heads), "", *[""] * interval, "latency", "bandwidth"]
    lower = ["size", *(f"{second}  " for _, second in heads), "fastest", *["90 %"] * interval, "bound", "bound"]
    lines = [upper, lower]
    for size_bytes in forecast.sizes:
        standing, least = Standing.at(group, ranks, size_bytes), group.bounds(ranks, size_bytes)
        cells = [_time_text(group.at(series, ranks, size_bytes), standing) for series in group.models]
        ends = [_interval_text(standing.winner)] if interval else []
        limits = [three_digits(bound * 1e6) if bound else "-" for bound in least]
        lines.append([format_size(size_bytes), *cells, named(group, ranks, size_bytes) or "-", *ends, *limits])
    secondary = range(len(lower) - 1, len(lower) - 3, -1)  # the bounds
    return fitted(columns_of(lines, left_out=secondary, heads=2), screen, WHOLE)


def _time_text(predicted: Predicted, standing: Standing) -> str:
    if predicted.prediction is None:
        return "-  "
    mark = standing.mark(predicted) + ("?" if predicted.prediction.speculative else "")
    mark += ("^" if predicted.limit else "") + ("~" if predicted.prediction.unidentified else "")
    return three_digits(predicted.prediction.time_s * 1e6) + f" {mark}".ljust(2)


def _interval_text(predicted: Predicted | None) -> str:
    prediction = predicted.prediction if predicted else None
    if prediction is None or prediction.low_s is None or prediction.high_s is None:
        return "-"
    return f"{three_digits(prediction.low_s * 1e6)} to {three_digits(prediction.high_s * 1e6)}"


def _map_lines(forecast: Forecast, group: CompetingModels, screen: Screen) -> list[str]:
    winners = winner_map(group, forecast.ranks, forecast.sizes)
    lines = [["ranks", *map(format_size, forecast.sizes)]]
    lines += [[str(ranks), *(name or "-" for name in row)] for ranks, row in zip(forecast.ranks, winners)]
    equal = "; = least, or equal to it within the intervals" if _has_intervals(group) else ""
    return ["the fastest algorithm, ranks down and sizes across" + equal, "", *fitted(columns_of(lines), screen)]


def _reader_notes(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return notes on these numbers: bounds, extrapolation, algorithms that cannot run, and segments."""
    cells = _all_predicted(forecast, group)
    notes = [
        *_kept_notes(forecast, group),
        *_port_notes(group),
        *_limit_notes(cells),
        *_no_port_notes(group, cells),
        *_identification_notes(cells),
    ]
    notes += _distance_notes(cells, group) + _size_notes(forecast, group)
    segmented = sorted({cell.series for cell in cells if cell.segment_nbytes})
    if segmented:
        notes.append(
            f"{' and '.join(segmented)}: {_segments_text(group, [cell for cell in cells if cell.segment_nbytes])}"
        )
    return notes + list(dict.fromkeys(cell.cannot for cell in cells if cell.cannot))


def _kept_notes(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Note on which numbers of ranks the winner at the largest measured one is kept."""
    kept = [ranks for ranks in forecast.ranks if group.keeps_winner(ranks)]
    return (
        [
            (
                f"on {format_ranges(kept)} ranks the winner at the largest measured number of ranks "
                f"({group.largest_common}) is kept"
            )
        ]
        if kept
        else []
    )


def _port_notes(group: CompetingModels) -> list[str]:
    """Note whether the ranks of a node share its port, if a node has several."""
    rate, per_node = group.layout.nic_bytes_per_s, group.step
    if rate:
        return [f"{port_in_words(rate, per_node)} (one port, full duplex, no reduction in the network)"]
    if per_node == 1:
        return []
    return [
        (
            f"whether the {per_node} ranks of a node share its port is counted only as far as it was measured; "
            "--nic-bandwidth sets the rate of the port"
        )
    ]


def _limit_notes(cells: Sequence[Predicted]) -> list[str]:
    """Note whose times were raised, and to what."""
    raised = [cell for cell in cells if cell.prediction and cell.limit]
    notes = []
    if names := _series_of(cell for cell in raised if cell.limit == PORT):
        notes.append(f"^ {names}: the port of the busiest node needs longer for its bytes than the critical path")
    for limit in LIMITS:
        if names := _series_of(cell for cell in raised if cell.limit == limit):
            notes.append(f"^ {names}: the {limit} bound; the model alone is below it, so the time is this or more")
    return notes


def _no_port_notes(group: CompetingModels, cells: Sequence[Predicted]) -> list[str]:
    """Note whose times lack the port that others include."""
    lacking = _series_of(cell for cell in cells if cell.no_port and group.is_lower_bound(cell))
    what = "the bytes through the port of a node are unknown, so a time is this or more"
    return [f"{lacking}: {what} where the port adds to the times of others, and gets no *"] if lacking else []


def _identification_notes(cells: Sequence[Predicted]) -> list[str]:
    """Note whose times depend on an unidentified parameter, and the consequence."""
    modelled = [cell for cell in cells if cell.prediction]
    names = dict.fromkeys(cell.prediction.unidentified for cell in modelled if cell.prediction)
    notes = []
    for name in filter(None, names):
        depend = (cell for cell in modelled if cell.prediction and cell.prediction.unidentified == name)
        notes.append(f"~ {_series_of(depend)}: {name} not identified, and these times depend on it")
    if notes or any((cell.limit or cell.too_far) and not cell.prediction for cell in cells):
        notes.append(
            "no fastest algorithm is named where one of these times, or one that is not predicted so far from its "
            "sizes, may decide"
        )
    return notes


def _series_of(cells: Iterable[Predicted]) -> str:
    return ", ".join(dict.fromkeys(cell.series for cell in cells))


def _distance_notes(cells: Sequence[Predicted], group: CompetingModels) -> list[str]:
    """Return the rank counts that are far from the measured ones."""
    counts, notes = [ranks for model in group.models.values() for ranks in model.ranks], []
    far = {cell.ranks for cell in cells if cell.prediction and group.models[cell.series].is_far(cell.ranks)}
    if above := sorted(ranks for ranks in far if ranks > max(counts)):
        above_text = f"{format_ranges(above)} ranks are more than {FAR:.0f} times the largest measured rank count"
        notes.append(f"speculative: {above_text} ({max(counts)})")
    if below := sorted(ranks for ranks in far if ranks < min(counts)):
        below_text = f"{format_ranges(below)} ranks are less than 1/{FAR:.0f} of the smallest measured rank count"
        notes.append(f"speculative: {below_text} ({min(counts)})")
    return notes


def _size_notes(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Return the sizes outside the measured range."""
    notes = []
    measured = [model.size_bytes for model in group.models.values() if model.size_bytes]
    if unknown := [series for series, model in group.models.items() if model.ranks and not model.size_bytes]:
        notes.append(f"warning: {', '.join(unknown)}: the range of the measured sizes is unknown; fit again")
    cells = _all_predicted(forecast, group)
    beyond = [cell for cell in cells if cell.prediction and cell.prediction.size_factor > 1]
    without_ends = [cell for cell in beyond if not group.models[cell.series].largest]
    if without_ends:
        notes.append(
            f"warning: {_series_of(without_ends)}: the machine file is of an earlier version, range unknown: times "
            "beyond the measured sizes are those of the model alone; fit again"
        )
    if measured and forecast.sizes[-1] > max(map(max, measured)):
        notes.append(f"sizes above {format_size(max(map(max, measured)))} were not measured")
    if measured and forecast.sizes[0] < min(map(min, measured)):
        notes.append(f"sizes below {format_size(min(map(min, measured)))} were not measured")
    return notes


def _segments_text(group: CompetingModels, cells: Sequence[Predicted]) -> str:
    sizes = sorted({cell.segment_nbytes for cell in cells if cell.segment_nbytes})
    range_text = format_size(sizes[0]) if len(sizes) == 1 else f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
    if group.layout.segment == BEST:
        return f"the best segment at each size, {range_text}"
    return f"segments of {range_text}; --segment best takes the segment size with the lowest modelled time"


def source_of(machine: Machine, name: str) -> str:
    """Return the source of the models of a machine file, as text."""
    return f"{name}, fitted to {', '.join(str(run.get('run', '?')) for run in machine.runs) or 'unnamed runs'}"


def port_in_words(nic_bytes_per_s: float, ranks_per_node: int) -> str:
    """Return `the 4 ranks of a node share its port of 25 Gbit/s`."""
    whose = f"the {ranks_per_node} ranks of a node share its port" if ranks_per_node > 1 else "each node has one port"
    return f"{whose} of {format_rate(nic_bytes_per_s)}"


def prices_in_words(alpha_s: float, beta_s_per_byte: float) -> str:
    """Return `alpha 5.00 us per message, 100 Gbit/s`."""
    return f"alpha {format_time(alpha_s)} per message, {format_rate(1 / beta_s_per_byte)}"
