"""What `fit` prints: parameters with units and intervals, errors beside those of the plain fit, and what to know."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from ..tables import UNBOUNDED, Screen, columns_of, wrapped
from ..tables import fitted as fitted_lines
from ..units import format_size, in_ranks, three_digits
from .description import SYMBOLS, cache_label, joined_notes
from .joint import Joint, LocalGamma
from .model import UNKNOWN, Errors, Model, Parameter, worst
from .scores import KINDS, LEAVE_LARGEST, pooled
from .series import FittedSeries, UnfittedSeries

UNITS = {name: (name.split("_")[0], unit, factor) for name, (_, unit, factor) in SYMBOLS.items()}  # no Greek letters
HEADINGS = {"in_sample": "in sample", "leave_one_p_out": "one p out", "leave_largest_p_out": "largest p out"}
SAME = ("run", "algorithm", "executor", "priced_as", "form")
SCHEMA = "urn:allreduce-bench:fit:1"  # of `Listing.json`, described in `json_schema`
SECONDARY, WHOLE = (5, 6), "--format csv"  # columns of parameters that are left out first, and what shows all
PARAMETER_COLUMNS = (*SAME, "parameter", "link", "above_bytes", "value", "low", "high", "identified")


class Listing(NamedTuple):
    """All that one call of `fit` found."""

    fitted: Sequence[FittedSeries]
    unfit: Sequence[UnfittedSeries]
    joint: Sequence[Joint] = ()
    refused: Sequence[str] = ()  # why there is no gamma
    local: Sequence[LocalGamma] = ()

    def table(self, screen: Screen = UNBOUNDED) -> str:
        """For people."""
        parameters, errors = _parameter_rows(self.fitted), _error_rows(self.fitted)
        tables = [
            columns_of(rows, left=range(len(rows[0])), left_out=left_out)
            for rows, left_out in ((parameters, SECONDARY), (errors, ()))
        ]
        sentences = [self._grade_lines(), self._joint_lines(), self._notes(), self._unfit_lines(), self._pooled_lines()]
        parts = [fitted_lines(columns, screen, WHOLE) for columns in tables]
        parts += [wrapped(lines, screen) for lines in sentences if lines]
        return "\n\n".join("\n".join(lines) for lines in parts) + "\n"

    def csv(self) -> str:
        """One row a parameter, SI units; empty: not known."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PARAMETER_COLUMNS)
        for fitted in self.fitted:
            model = fitted.model
            for part in model.parts:
                series_values = (model.run, model.algorithm, model.executor, part.priced_as, part.form.name)
                for name, link, above, value, low, high, identified in part.parameters:
                    writer.writerow([*series_values, name, link, above, value, low, high, int(identified)])
                if part.form.contention:
                    writer.writerow([*series_values, "contention", "", 0.0, part.contention, None, None, 1])
        return file.getvalue()

    def json(self) -> str:
        """Everything."""
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
        """The grades of the runs, and where their vectors lay, where that is known."""
        facts: dict[str, tuple[list[str], set[str]]] = {}
        for model in (series.model for series in self.fitted):
            grades, placements = facts.setdefault(model.run, ([], set()))
            grades.append(model.grade)
            placements |= {model.placement} - {UNKNOWN}
        return [
            f"{f'{run}: ' if run else ''}grade of the times: {worst(grades)}"
            + (f"; placement of vectors: {' and '.join(sorted(placements))}" if placements else "")
            for run, (grades, placements) in facts.items()
        ]

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
        if len({model.run for model in models}) == 1:  # which the tables above name
            models = [replace(model, run="") for model in models]
        return joined_notes([(_series_label(model), model.notes) for model in models])

    def _unfit_lines(self) -> list[str]:
        return [f"not fitted: {f'{one.run}: ' if one.run else ''}{one.competitor}: {one.reason}" for one in self.unfit]

    def _pooled_lines(self) -> list[str]:
        """The errors of all cells together."""
        chosen, plain = (
            pooled([series.scores for series in self.fitted]),
            pooled([series.plain for series in self.fitted]),
        )
        lines = []
        for kind in KINDS:
            if kind in chosen:
                lines.append(
                    f"{HEADINGS[kind]}, pooled over {len(self.fitted)} series, {chosen[kind].points} cells: "
                    f"{_pooled_text(chosen[kind])}; plain alpha-beta: {_pooled_text(plain[kind])}"
                )
        return lines


def _parameter_rows(fitted: Sequence[FittedSeries]) -> list[list[str]]:
    rows = [["series", "parameter", "value", "unit", "95 % interval", "rate", "form"]]
    for fitted_series in fitted:
        model, label = fitted_series.model, _series_label(fitted_series.model)
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
    titles = [f"{HEADINGS[kind]}: median P90 covered" for kind in KINDS]
    rows = [["series", "ranks", "cells", *titles, "plain, largest p out"]]
    for fitted_series in fitted:
        model = fitted_series.model
        cells = [_error_text(model.errors.get(kind)) for kind in KINDS]
        points, plain_largest = str(model.errors["in_sample"].points), model.plain_errors.get(LEAVE_LARGEST)
        rows.append([_series_label(model), _ranks_text(model), points, *cells, _error_text(plain_largest)])
    return rows


def _ranks_text(model: Model) -> str:
    if len(model.ranks) == 1:
        return in_ranks(model.ranks).split()[0]
    return ",".join(map(str, model.ranks)) if len(model.ranks) < 6 else f"{model.ranks[0]}..{model.ranks[-1]}"


def _series_label(model: Model) -> str:
    return " ".join(filter(None, (model.run and f"{model.run}:", model.competitor, cache_label(model.cache))))


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
    """`beta 3.00 ps/byte (2.90 to 3.10)`."""
    unit = UNITS[parameter.name][1]
    return f"{_parameter_name(parameter)} {_value_text(parameter)} {unit} ({_interval_text(parameter)})"


def _value_text(parameter: Parameter) -> str:
    if not parameter.identified:
        return "-"
    return three_digits(parameter.value * UNITS[parameter.name][2])


def _interval_text(parameter: Parameter) -> str:
    factor = UNITS[parameter.name][2]
    if not parameter.identified:
        bound = "" if parameter.high is None else f", at most {three_digits(parameter.high * factor)}"
        return f"not identified{bound}"
    if parameter.low is None or parameter.high is None:
        return "unknown"
    return f"{three_digits(parameter.low * factor)} to {three_digits(parameter.high * factor)}"


def _rate_text(parameter: Parameter) -> str:
    """1/beta: bytes per second of one link."""
    if parameter.name != "beta_s_per_byte" or not parameter.identified:
        return ""
    return f"{three_digits(1e-9 / parameter.value)} GB/s"


def _model_values(model: Model) -> dict[str, Any]:
    """A model as JSON values with names."""
    parts = [
        {"priced_as": part.priced_as, "form": part.form.name, "contention": part.contention}
        | {"parameters": [parameter._asdict() for parameter in part.parameters]}
        for part in model.parts
    ]
    errors = {"errors": _errors_values(model.errors), "plain_errors": _errors_values(model.plain_errors)}
    plain = {field.name: getattr(model, field.name) for field in fields(model)}
    return plain | {"parts": parts} | errors


def _errors_values(errors: dict[str, Errors]) -> dict[str, Any]:
    return {kind: error._asdict() for kind, error in errors.items()}
