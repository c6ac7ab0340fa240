"""What `fit` prints: parameters with units and intervals, errors beside those of the plain fit, and what to know."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from ..units import aligned, format_size, in_ranks, three_digits
from .description import SYMBOLS
from .joint import Joint, Local
from .model import Errors, Model, Parameter
from .scores import KINDS, LEAVE_LARGEST, pooled
from .series import FittedSeries, UnfittedSeries

UNITS = {name: (name.split("_")[0], unit, factor) for name, (_, unit, factor) in SYMBOLS.items()}  # no Greek letters
HEADINGS = {"in_sample": "in sample", "leave_one_p_out": "one p out", "leave_largest_p_out": "largest p out"}
SAME = ("run", "algorithm", "executor", "priced_as", "form")
PARAMETER_COLUMNS = (*SAME, "parameter", "link", "above_bytes", "value", "low", "high", "identified")


class Listing(NamedTuple):
    """All that one call of `fit` found."""

    fitted: Sequence[FittedSeries]
    unfit: Sequence[UnfittedSeries]
    joint: Sequence[Joint] = ()
    refused: Sequence[str] = ()  # why there is no gamma
    local: Sequence[Local] = ()

    def table(self) -> str:
        """For people."""
        parts = [_table(_parameter_rows(self.fitted)), _table(_error_rows(self.fitted))]
        parts += ["\n".join(lines) for lines in (self._joint_lines(), self._notes(), self._unfit_lines()) if lines]
        return "\n\n".join([*parts, "\n".join(self._pooled_lines())]) + "\n"

    def csv(self) -> str:
        """One row a parameter, SI units; empty: not known."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PARAMETER_COLUMNS)
        for one in self.fitted:
            model = one.model
            for part in model.parts:
                same = (model.run, model.algorithm, model.executor, part.priced_as, part.form.name)
                for name, link, above, value, low, high, told in part.parameters:
                    writer.writerow([*same, name, link, above, value, low, high, int(told)])
                if part.form.contention:
                    writer.writerow([*same, "contention", "", 0.0, part.contention, None, None, 1])
        return file.getvalue()

    def json(self) -> str:
        """Everything."""
        content = {
            "models": [_model_values(one.model) for one in self.fitted],
            "pooled": _errors_values(pooled([one.scores for one in self.fitted])),
            "pooled_plain": _errors_values(pooled([one.plain for one in self.fitted])),
            "joint": [one._asdict() | {"parameters": [p._asdict() for p in one.parameters]} for one in self.joint],
            "no_gamma": list(self.refused),
            "local_gamma": [one._asdict() | {"gamma": one.gamma._asdict()} for one in self.local],
            "unfit": [one._asdict() for one in self.unfit],
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    def _joint_lines(self) -> list[str]:
        lines = []
        for one in self.joint:
            words = ", ".join(f"{_name(p)} {_value(p)} {UNITS[p.name][1]} ({_interval(p)})" for p in one.parameters)
            where = f"{one.run}: " if one.run else ""
            lines.append(
                f"{where}{' and '.join(one.algorithms)} together: {words}; median error {one.median_error:.1%}, "
                f"condition number {one.condition:.2g}"
            )
        lines += [f"no gamma: {why}" for why in self.refused]
        return lines + [
            f"{one.run}: gamma of a local reduction {_value(one.gamma)} ps/byte (floor, {in_ranks([one.ranks])})"
            for one in self.local
        ]

    def _notes(self) -> list[str]:
        return [f"{_label(one.model)}: {note}" for one in self.fitted for note in one.model.notes]

    def _unfit_lines(self) -> list[str]:
        return [f"not fitted: {f'{one.run}: ' if one.run else ''}{one.algorithm}: {one.reason}" for one in self.unfit]

    def _pooled_lines(self) -> list[str]:
        """The errors of all cells together."""
        chosen, plain = pooled([one.scores for one in self.fitted]), pooled([one.plain for one in self.fitted])
        lines = []
        for kind in KINDS:
            if kind in chosen:
                lines.append(
                    f"{HEADINGS[kind]}, pooled over {len(self.fitted)} series, {chosen[kind].points} cells: "
                    f"{_pooled(chosen[kind])}; plain alpha-beta: {_pooled(plain[kind])}"
                )
        return lines


def _parameter_rows(fitted: Sequence[FittedSeries]) -> list[list[str]]:
    rows = [["series", "parameter", "value", "unit", "95 % interval", "rate", "form"]]
    for one in fitted:
        model, label = one.model, _label(one.model)
        for part in model.parts:
            form = f"{part.form.name} of {part.priced_as}"
            for parameter in part.parameters:
                unit = UNITS[parameter.name][1]
                rows.append([label, _name(parameter), _value(parameter), unit, _interval(parameter), _rate(parameter)])
                rows[-1].append(form)
                label = form = ""
            if part.form.contention:
                rows.append(["", "contention", f"{part.contention:.3f}", "exponent of p", "", "", ""])
    return rows


def _error_rows(fitted: Sequence[FittedSeries]) -> list[list[str]]:
    titles = [f"{HEADINGS[kind]}: median P90 covered" for kind in KINDS]
    rows = [["series", "ranks", "cells", *titles, "plain, largest p out"]]
    for one in fitted:
        model = one.model
        cells = [_words(model.errors.get(kind)) for kind in KINDS]
        rows.append([_label(model), in_ranks(model.ranks).split()[0] if len(model.ranks) == 1 else _ranks(model)])
        rows[-1] += [str(model.errors["in_sample"].points), *cells, _words(model.plain_errors.get(LEAVE_LARGEST))]
    return rows


def _ranks(model: Model) -> str:
    return ",".join(map(str, model.ranks)) if len(model.ranks) < 6 else f"{model.ranks[0]}..{model.ranks[-1]}"


def _label(model: Model) -> str:
    return " ".join(
        filter(None, (model.run and f"{model.run}:", model.algorithm, "cold" if model.cache == "cold" else ""))
    )


def _words(errors: Errors | None) -> str:
    if errors is None:
        return "-"
    covered = "" if errors.covered is None else f"  {errors.covered:.0%}"
    return f"{100 * errors.median:.1f}%  {100 * errors.p90:.0f}%{covered}"


def _pooled(errors: Errors) -> str:
    return f"median {errors.median:.1%}, P90 {errors.p90:.0%}, 90 % intervals cover {errors.covered:.0%}"


def _name(parameter: Parameter) -> str:
    name = UNITS[parameter.name][0]
    link = f" {parameter.link} nodes" if parameter.link else ""
    if not parameter.above:
        return name + link
    size = format_size(parameter.above)
    return f"jump{link} at {size}" if parameter.name == "alpha_s" else f"{name}{link} above {size}"


def _value(parameter: Parameter) -> str:
    if not parameter.identified:
        return "-"
    return three_digits(parameter.value * UNITS[parameter.name][2])


def _interval(parameter: Parameter) -> str:
    factor = UNITS[parameter.name][2]
    if not parameter.identified:
        bound = "" if parameter.high is None else f", at most {three_digits(parameter.high * factor)}"
        return f"not identified{bound}"
    if parameter.low is None or parameter.high is None:
        return "not known"
    return f"{three_digits(parameter.low * factor)} to {three_digits(parameter.high * factor)}"


def _rate(parameter: Parameter) -> str:
    """1/beta: bytes per second of one link."""
    if parameter.name != "beta_s_per_byte" or not parameter.identified:
        return ""
    return f"{three_digits(1e-9 / parameter.value)} GB/s"


def _table(rows: list[list[str]]) -> str:
    return "\n".join(aligned(rows, left=range(len(rows[0]))))


def _model_values(model: Model) -> dict[str, Any]:
    """A model as JSON values with names."""
    parts = [
        {"priced_as": part.priced_as, "form": part.form.name, "contention": part.contention}
        | {"parameters": [parameter._asdict() for parameter in part.parameters]}
        for part in model.parts
    ]
    errors = {"errors": _errors_values(model.errors), "plain_errors": _errors_values(model.plain_errors)}
    plain = {one.name: getattr(model, one.name) for one in fields(model)}
    return plain | {"parts": parts} | errors


def _errors_values(errors: dict[str, Errors]) -> dict[str, Any]:
    return {kind: found._asdict() for kind, found in errors.items()}
