"""Predictions as text: a table per rank count, the map of winners, crossings as sentences; CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..evaluation.limits import NETWORK_BOUND
from ..models.bounds import Bounds, bounds
from ..models.crossings import Finding, at_powers_of_two, merged, over_ranks, over_sizes, winner_map
from ..models.machine import Machine
from ..models.model import COVERAGE, FAR
from ..models.notes import joined_notes
from ..models.prediction import BEST, CompetingModels, Predicted
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_ranges, format_rate, format_size, format_time, three_digits
from .grid import in_two_lines

MANY_RANKS = 8  # with more rank counts, only the first and the last get their crossings over sizes
FEWEST = 2  # ranks from which crossings are searched if one rank count is given
BOUNDS = f"{NETWORK_BOUND}, from the smallest alpha (latency) and beta (bandwidth) of these models"
SCHEMA = "urn:allreduce-bench:predict:1"  # of `as_json`, described in `formats.json_schema`
WHOLE = "--format csv"  # what shows all of a table
COLUMNS = (
    *("group", "algorithm", "ranks", "nodes", "nbytes", "segment_nbytes", "time_s", "low_s", "high_s"),
    *("speculative", "fastest", "latency_bound_s", "bandwidth_bound_s", "cannot"),
)


class Forecast(NamedTuple):
    """What to predict: the machine, the ranks and the sizes (bytes)."""

    machine: Machine
    source: str  # where the parameters are from, as text
    groups: Sequence[CompetingModels]
    ranks: Sequence[int]
    sizes: Sequence[int]


def rows(forecast: Forecast) -> list[dict[str, Any]]:
    """One for every series, number of ranks and size, with the COLUMNS; missing is None."""
    return [
        _row_of_cell(group, predicted, group.fastest(ranks, nbytes), _bounds(group, ranks, nbytes))
        for group in forecast.groups
        for ranks in forecast.ranks
        for nbytes in forecast.sizes
        for predicted in (group.at(series, ranks, nbytes) for series in group.models)
    ]


def _row_of_cell(
    group: CompetingModels, predicted: Predicted, fastest: Predicted | None, least: Bounds
) -> dict[str, Any]:
    modelled = predicted.prediction._asdict() if predicted.prediction else {}
    values = {**predicted._asdict(), **modelled, "group": group.where, "algorithm": predicted.series}
    values |= {
        "fastest": predicted == fastest,
        "latency_bound_s": least.latency_s,
        "bandwidth_bound_s": least.bandwidth_s,
    }
    return {name: values.get(name) for name in COLUMNS}


def as_csv(forecast: Forecast) -> str:
    """The rows as CSV; True is 1, missing is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows(forecast):
        writer.writerow({name: int(value) if isinstance(value, bool) else value for name, value in row.items()})
    return text.getvalue()


def as_json(forecast: Forecast) -> str:
    """One object: the source, the rows, and the crossings with their sentences."""
    crossings = [
        {"group": group.where, "sentence": crossing.sentence, **crossing._asdict()}
        for group in forecast.groups
        for crossing in crossings_of(forecast, group)
    ]
    fit = [*(note for group in forecast.groups for note in _fit_notes(group)), *forecast.machine.notes]
    content = {"schema": SCHEMA, "measured": False, "source": forecast.source, "fit": fit, "rows": rows(forecast)}
    content["crossings"] = crossings
    return json.dumps(content, indent=1) + "\n"


def as_tables(forecast: Forecast, screen: Screen = UNBOUNDED) -> str:
    """For every group a table per rank count, and below them the crossings."""
    return _text(forecast, _table_lines, screen)


def as_map(forecast: Forecast, screen: Screen = UNBOUNDED) -> str:
    """For every group the fastest algorithm, ranks down and sizes across."""
    return _text(forecast, _map_lines, screen)


def _fit_notes(group: CompetingModels) -> list[str]:
    return joined_notes([(series, model.notes) for series, model in group.models.items()])


def crossings_of(forecast: Forecast, group: CompetingModels) -> list[Finding]:
    """Over sizes at the numbers of ranks, over numbers of ranks at the sizes; one number stands for all up to it."""
    ranks, sizes = forecast.ranks, forecast.sizes
    rank_counts = ranks if len(ranks) <= MANY_RANKS else (ranks[0], ranks[-1])
    fewest = ranks[0] if len(ranks) > 1 else min(FEWEST, ranks[0])
    changing: list[Finding] = [
        crossing for count in rank_counts for crossing in over_sizes(group, count, sizes[0], sizes[-1])
    ]
    growing: list[Finding] = [crossing for nbytes in sizes for crossing in over_ranks(group, nbytes, fewest, ranks[-1])]
    powers: list[Finding] = [
        crossing for nbytes in sizes for crossing in at_powers_of_two(group, nbytes, fewest, ranks[-1])
    ]
    return changing + merged(growing, sizes) + merged(powers, sizes)


def _text(forecast: Forecast, lines_of: Callable[..., list[str]], screen: Screen) -> str:
    lines = []
    for group in forecast.groups:
        sentences = [crossing.sentence for crossing in crossings_of(forecast, group)]
        if not sentences and len(group.models) > 1:
            sentences = ["no algorithm overtakes another in this range"]
        notes = [*_reader_notes(forecast, group), *(f"fit: {note}" for note in _fit_notes(group))]
        lines += [f"allreduce, model prediction, not measured: {forecast.source}", *filter(None, [group.where])]
        lines += [*lines_of(forecast, group, screen), "", *sentences, *notes, ""]
    lines[-1:] = [f"fit: {note}" for note in forecast.machine.notes]
    return "\n".join(wrapped(lines, screen))


def _table_lines(forecast: Forecast, group: CompetingModels, screen: Screen) -> list[str]:
    marks = ["* fastest", *["? speculative"] * bool(_speculative_ranks(_all_predicted(forecast, group)))]
    marks += [f"{COVERAGE:.0%}: interval of the fastest"] * _has_intervals(group)
    lines = [f"time in us;  {'  '.join(marks)}  bounds: {BOUNDS}"]
    for ranks in forecast.ranks:
        nodes = group.at(next(iter(group.models)), ranks, forecast.sizes[0]).nodes
        where = f"{ranks} ranks" + (f" on {nodes} node{'s' if nodes > 1 else ''}" if nodes else "")
        lines += ["", where, *_size_lines(forecast, group, ranks, screen)]
    return lines


def _all_predicted(forecast: Forecast, group: CompetingModels) -> list[Predicted]:
    return [
        group.at(series, ranks, nbytes)
        for series in group.models
        for ranks in forecast.ranks
        for nbytes in forecast.sizes
    ]


def _speculative_ranks(cells: Sequence[Predicted]) -> list[int]:
    """The numbers of ranks at which a prediction is speculative."""
    return sorted({cell.ranks for cell in cells if cell.prediction and cell.prediction.speculative})


def _has_intervals(group: CompetingModels) -> bool:
    return any(model.reach_log is not None for model in group.models.values())


def _size_lines(forecast: Forecast, group: CompetingModels, ranks: int, screen: Screen) -> list[str]:
    heads = [in_two_lines(series) for series in group.models]
    interval = _has_intervals(group)
    upper = ["", *(f"{first}  " if first else "" for first, _ in heads), "", *[""] * interval, "latency", "bandwidth"]
    lower = ["size", *(f"{second}  " for _, second in heads), "fastest", *["90 %"] * interval, "bound", "bound"]
    lines = [upper, lower]
    for nbytes in forecast.sizes:
        fastest, least = group.fastest(ranks, nbytes), _bounds(group, ranks, nbytes)
        cells = [_time_text(group.at(series, ranks, nbytes), fastest) for series in group.models]
        ends = [_interval_text(fastest)] if interval else []
        limits = [three_digits(bound * 1e6) if bound else "-" for bound in least]
        lines.append([format_size(nbytes), *cells, fastest.series if fastest else "-", *ends, *limits])
    secondary = range(len(lower) - 1, len(lower) - 3, -1)  # the bounds
    return fitted(columns_of(lines, left_out=secondary, heads=2), screen, WHOLE)


def _time_text(predicted: Predicted, fastest: Predicted | None) -> str:
    if predicted.prediction is None:
        return "-  "
    mark = ("*" if predicted == fastest else "") + ("?" if predicted.prediction.speculative else "")
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
    return ["the fastest algorithm, ranks down and sizes across", "", *fitted(columns_of(lines), screen)]


def _bounds(group: CompetingModels, ranks: int, nbytes: int) -> Bounds:
    nodes = group.at(next(iter(group.models)), ranks, nbytes).nodes
    return bounds(group.models.values(), ranks, nodes, nbytes)


def _reader_notes(forecast: Forecast, group: CompetingModels) -> list[str]:
    """Notes on these numbers: extrapolation, algorithms that cannot run, and segments."""
    cells = _all_predicted(forecast, group)
    notes = _distance_notes(cells, group) + _size_notes(forecast, group)
    segmented = sorted({cell.series for cell in cells if cell.segment_nbytes})
    if segmented:
        notes.append(
            f"{' and '.join(segmented)}: {_segments_text(group, [cell for cell in cells if cell.segment_nbytes])}"
        )
    return notes + list(dict.fromkeys(cell.cannot for cell in cells if cell.cannot))


def _distance_notes(cells: Sequence[Predicted], group: CompetingModels) -> list[str]:
    """The rank counts that are far from the measured ones."""
    counts, notes = [ranks for model in group.models.values() for ranks in model.ranks], []
    if above := [ranks for ranks in _speculative_ranks(cells) if ranks > max(counts)]:
        above_text = f"{format_ranges(above)} ranks are more than {FAR:.0f} times the largest measured rank count"
        notes.append(f"speculative: {above_text} ({max(counts)})")
    if below := [ranks for ranks in _speculative_ranks(cells) if ranks < min(counts)]:
        below_text = f"{format_ranges(below)} ranks are less than 1/{FAR:.0f} of the smallest measured rank count"
        notes.append(f"speculative: {below_text} ({min(counts)})")
    return notes


def _size_notes(forecast: Forecast, group: CompetingModels) -> list[str]:
    """The sizes outside the measured range."""
    notes = []
    measured = [model.nbytes for model in group.models.values() if model.nbytes]
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
    """The source of the models of a machine file, as text."""
    return f"{name}, fitted to {', '.join(str(run.get('run', '?')) for run in machine.runs) or 'unnamed runs'}"


def prices_in_words(alpha_s: float, beta_s_per_byte: float) -> str:
    """`alpha 5.00 us per message, 100 Gbit/s`."""
    return f"alpha {format_time(alpha_s)} per message, {format_rate(1 / beta_s_per_byte)}"
