"""The output of `fit`: parameters with intervals, errors beside those of the plain fit, and notes."""

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..tables import UNBOUNDED, Screen, columns_of, wrapped
from ..tables import fitted as fitted_lines
from ..units import format_size, in_ranks, three_digits
from .fitting import KINDS, LEAVE_LARGEST, pooled
from .joint import Joint, LocalGamma
from .model import UNKNOWN, Errors, Model, ModelPart, Parameter, worst
from .series import FittedSeries, UnfittedSeries
from .words import SCORES, SYMBOLS, cache_label, joined_notes, trend_in_words

UNITS = {name: (name.split("_")[0], unit, factor) for name, (_, unit, factor) in SYMBOLS.items()}  # no Greek letters
SAME = ("run", "competitor", "priced_as", "form")
SCHEMA = "urn:allreduce-bench:fit:1"  # of `Listing.json`
SECONDARY, WHOLE = (5, 6), "--format csv"  # columns of parameters left out first, and the option that shows all
OF_SERIES = ("dtype", "op", "segment")  # told where the competitor is the same
LEAST = 0.001  # us or ps: what is below that is not told apart from 0
PARAMETER_COLUMNS = (*SAME, "parameter", "link", "above_bytes", "value", "low", "high", "identified")


class Listing(NamedTuple):
    """Results of one call of `fit`."""

    fitted: Sequence[FittedSeries]
    unfit: Sequence[UnfittedSeries]
    joint: Sequence[Joint] = ()
    refused: Sequence[str] = ()  # reasons for a missing gamma
    local: Sequence[LocalGamma] = ()

    def table(self, screen: Screen = UNBOUNDED) -> str:
        """Return the tables and sentences for people."""
        parameters, errors = _parameter_rows(self.fitted), _error_rows(self.fitted)
        tables = [
            columns_of(rows, left=range(len(rows[0])), left_out=left_out, heads=heads)
            for rows, left_out, heads in ((parameters, SECONDARY, 1), (errors, (), 2))
        ]
        sentences = [self._grade_lines(), self._joint_lines(), self._notes(), self._unfit_lines(), self._pooled_lines()]
        parts = [fitted_lines(columns, screen, WHOLE) for columns in tables]
        parts += [wrapped(lines, screen) for lines in sentences if lines]
        return "\n\n".join("\n".join(lines) for lines in parts) + "\n"

    def csv(self) -> str:
        """Return one row per parameter as CSV, SI units; empty: unknown. A trend has two rows for each size."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PARAMETER_COLUMNS)
        for fitted in self.fitted:
            model = fitted.model
            form = "trend" if model.trend_share == 1 else "mean of trend and alpha-beta"
            series_values = (model.run, model.competitor, "", form)
            for line in model.trend:
                for name in ("base_s", "slope_s"):
                    writer.writerow([*series_values, name, "", line.size_bytes, getattr(line, name), None, None, ""])
            for part in () if model.trend else model.parts:
                series_values = (model.run, model.competitor, part.priced_as, part.form.name)
                for name, link, above, value, low, high, identified in part.parameters:
                    writer.writerow([*series_values, name, link, above, value, low, high, int(identified)])
                if part.form.contention:
                    writer.writerow([*series_values, "contention", "", 0.0, part.contention, None, None, 1])
        return file.getvalue()

    def json(self) -> str:
        """Return everything as JSON."""
        content = {
            "schema": SCHEMA,
            "models": [_model_values(fitted.model) for fitted in self.fitted],
            "pooled": _errors_values(pooled([fitted.scores for fitted in self.fitted])),
            "pooled_plain": _errors_values(pooled([fitted.plain for fitted in self.fitted])),
            "joint": [fit._asdict() | {"parameters": [p._asdict() for p in fit.parameters]} for fit in self.joint],
            "no_gamma": list(self.refused),
            "local_gamma": [floor._asdict() | {"gamma": floor.gamma._asdict()} for floor in self.local],
            "unfit": [series._asdict() for series in self.unfit],
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    def _grade_lines(self) -> list[str]:
        """Return the grades of the runs, and the placement of their vectors if known."""
        facts: dict[str, tuple[list[str], set[str]]] = {}
        for model in (series.model for series in self.fitted):
            grades, placements = facts.setdefault(model.run, ([], set()))
            grades.append(model.grade)
            placements |= {model.placement} - {UNKNOWN}
        lines = []
        for run, (grades, placements) in facts.items():
            of_run = f"{run}: " if run else ""
            placed = f"; placement of vectors: {' and '.join(sorted(placements))}" if placements else ""
            lines.append(f"{of_run}grade of the times: {worst(grades)}" + placed)
        return lines

    def _joint_lines(self) -> list[str]:
        lines = []
        for fit in self.joint:
            values = ", ".join(map(_parameter_phrase, fit.parameters))
            prefix = f"{fit.run}: " if fit.run else ""
            lines.append(
                f"{prefix}{' and '.join(fit.competitors)} together: {values}; median error {fit.median_error:.1%}, "
                f"condition number {fit.condition:.2g}"
            )
        lines += [f"no gamma: {reason}" for reason in self.refused]
        return lines + [
            f"{fit.run}: gamma of a local reduction {_value_text(fit.gamma)} ps/byte (floor, {in_ranks([fit.ranks])})"
            for fit in self.local
        ]

    def _notes(self) -> list[str]:
        models = [series.model for series in self.fitted]
        if len({model.run for model in models}) == 1:  # the tables above name it
            models = [replace(model, run="") for model in models]
        return joined_notes(list(zip(_series_labels(models), (model.notes for model in models))))

    def _unfit_lines(self) -> list[str]:
        return [f"not fitted: {f'{one.run}: ' if one.run else ''}{one.competitor}: {one.reason}" for one in self.unfit]

    def _pooled_lines(self) -> list[str]:
        """Return the errors of all cells together."""
        chosen, plain = (
            pooled([series.scores for series in self.fitted]),
            pooled([series.plain for series in self.fitted]),
        )
        lines = []
        for kind in KINDS:
            if kind in chosen:
                lines.append(
                    f"{SCORES[kind]}, pooled over {len(self.fitted)} series, {chosen[kind].points} cells: "
                    f"{_pooled_text(chosen[kind])}; uniform alpha-beta model: {_pooled_text(plain[kind])}"
                )
        return lines


def _parameter_rows(fitted: Sequence[FittedSeries]) -> list[list[str]]:
    rows = [["series", "parameter", "value", "unit", "95 % interval", "rate", "form"]]
    models = [series.model for series in fitted]
    for model, label in zip(models, _series_labels(models)):
        if model.trend:
            rows.append([label, "-", "-", "", "", "", trend_in_words(model)])
            continue
        for part in model.parts:
            form = f"{part.form.name} of {part.priced_as}"
            for parameter in part.parameters:
                unit = UNITS[parameter.name][1]
                value = [_value_text(parameter), unit, _interval_text(parameter), _rate_text(parameter)]
                rows.append([label, _parameter_name(parameter), *value, form])
                label = form = ""
            if part.form.contention:
                rows.append(["", "contention", f"{part.contention:.3f}", "exponent of p", "", "", ""])
    return rows


def _error_rows(fitted: Sequence[FittedSeries]) -> list[list[str]]:
    rows = [
        ["", "", "", *(SCORES[kind] for kind in KINDS), "uniform model,"],
        ["series", "ranks", "cells", *["median P90 covered"] * len(KINDS), "largest left out"],
    ]
    models = [series.model for series in fitted]
    for model, label in zip(models, _series_labels(models)):
        cells = [_error_text(model.errors.get(kind)) for kind in KINDS]
        points, plain_largest = str(model.errors["in_sample"].points), model.plain_errors.get(LEAVE_LARGEST)
        rows.append([label, _ranks_text(model), points, *cells, _error_text(plain_largest)])
    return rows


def _ranks_text(model: Model) -> str:
    if len(model.ranks) == 1:
        return in_ranks(model.ranks).split()[0]
    return ",".join(map(str, model.ranks)) if len(model.ranks) < 6 else f"{model.ranks[0]}..{model.ranks[-1]}"


def _series_labels(models: Sequence[Model]) -> list[str]:
    """Return a name for each: run, algorithm and state of the cache, and what else tells series of these apart."""
    labels = [
        " ".join(filter(None, (one.run and f"{one.run}:", one.competitor, cache_label(one.cache)))) for one in models
    ]
    for more in OF_SERIES:
        several = {
            label
            for label, one in zip(labels, models)
            for other_label, other in zip(labels, models)
            if label == other_label and getattr(one, more) != getattr(other, more)
        }
        labels = [
            f"{label} {getattr(one, more)}" if label in several and getattr(one, more) else label
            for label, one in zip(labels, models)
        ]
    return labels


def _error_text(errors: Errors | None) -> str:
    if errors is None:
        return "-"
    covered = "" if errors.covered is None else f"  {errors.covered:.0%}"
    return f"{100 * errors.median:.1f}%  {100 * errors.p90:.0f}%{covered}"


def _pooled_text(errors: Errors) -> str:
    return f"median {errors.median:.1%}, P90 {errors.p90:.0%}, 90 % intervals cover {errors.covered:.0%}"


def _parameter_name(parameter: Parameter) -> str:
    name = UNITS[parameter.name][0]
    link = f" {parameter.link} nodes" if parameter.link else ""
    if not parameter.above:
        return name + link
    size = format_size(parameter.above)
    return f"jump{link} at {size}" if parameter.name == "alpha_s" else f"{name}{link} above {size}"


def _parameter_phrase(parameter: Parameter) -> str:
    """Return `beta 3.00 ps/byte (2.90 to 3.10)`."""
    unit = UNITS[parameter.name][1]
    return f"{_parameter_name(parameter)} {_value_text(parameter)} {unit} ({_interval_text(parameter)})"


def _value_text(parameter: Parameter) -> str:
    if not parameter.identified:
        return "-"
    return three_digits(parameter.value * UNITS[parameter.name][2])


def _interval_text(parameter: Parameter) -> str:
    factor = UNITS[parameter.name][2]
    if not parameter.identified:
        bound = "" if parameter.high is None else f", at most {three_digits(max(LEAST, parameter.high * factor))}"
        return f"not identified{bound}"
    if parameter.low is None or parameter.high is None:
        return "unknown"
    return f"{three_digits(parameter.low * factor)} to {three_digits(parameter.high * factor)}"


def _rate_text(parameter: Parameter) -> str:
    """Return 1/beta, the bandwidth of one link, in GB/s."""
    if parameter.name != "beta_s_per_byte" or not parameter.identified:
        return ""
    return f"{three_digits(1e-9 / parameter.value)} GB/s"


def _model_values(model: Model) -> dict[str, Any]:
    """Return a model as JSON values with names."""
    parts, uniform = map(_part_values, model.parts), model.uniform and _part_values(model.uniform)
    errors = {"errors": _errors_values(model.errors), "plain_errors": _errors_values(model.plain_errors)}
    lists = ("smallest", "largest", "trend", "at_most_ranks")
    ends = {name: [one._asdict() for one in getattr(model, name)] for name in lists}
    plain = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    return plain | {"parts": [*parts], "uniform": uniform} | ends | errors


def _part_values(part: ModelPart) -> dict[str, Any]:
    return {
        "priced_as": part.priced_as,
        "form": part.form.name,
        "contention": part.contention,
        "parameters": [parameter._asdict() for parameter in part.parameters],
    }


def _errors_values(errors: dict[str, Errors]) -> dict[str, Any]:
    return {kind: error._asdict() for kind, error in errors.items()}
