"""Models in words: their series, forms, parameters with intervals, errors and notes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..units import format_size, in_ranks, three_digits
from .model import Errors, Model, ModelPart, Parameter

if TYPE_CHECKING:
    import pandas as pd

ALL = 3  # from this many series on, a note about every one of them begins with "all"
COLD = "cold"  # not the default
SYMBOLS = {  # parameter -> symbol, unit, units per second
    "alpha_s": ("α", "us/message", 1e6),
    "beta_s_per_byte": ("β", "ps/byte", 1e12),
    "gamma_s_per_byte": ("γ", "ps/byte reduced", 1e12),
    "call_s": ("call", "us", 1e6),
}
SCORES = {
    "in_sample": "error in sample",
    "leave_one_p_out": "error at a rank count left out",
    "leave_largest_p_out": "error at the largest left out",
}


def model_lines(models: Iterable[Model]) -> list[dict]:
    """Return the table entries of each model in words: series, ranks, parts, errors, plain_errors, notes."""
    return [
        {
            "series": series_label(model),
            "ranks": in_ranks(model.ranks) if model.ranks else "",
            "parts": _parts_in_words(model),
            "errors": [_error_in_words(model.errors, name) for name in SCORES],
            "plain_errors": [_error_in_words(model.plain_errors, name) for name in SCORES],
            "notes": model.notes,
        }
        for model in models
    ]


def series_label(model: Model) -> str:
    """Return the label of a model within its run: `ring`, `ring, cold cache`."""
    label = cache_label(model.cache)
    return f"{model.competitor}{f', {label} cache' if label else ''}"


def _parts_in_words(model: Model) -> list[dict]:
    """Return its parts in words; those beside a trend mean nothing."""
    trend = [{"form": trend_in_words(model), "parameters": []}]
    return trend if model.trend else [_part_in_words(part, model) for part in model.parts]


def trend_in_words(model: Model) -> str:
    """Return what gives the times of a model with a trend: that, or its mean with the parts."""
    return (
        "trend: of each size a line over log2 p; no alpha and beta"
        if model.trend_share == 1
        else "geometric mean of a trend (of each size a line over log2 p) and of alpha-beta models; no alpha and beta"
    )


def _part_in_words(part: ModelPart, model: Model) -> dict:
    """Return form and parameters in words, with the priced algorithm if the series has another name."""
    contention = [f"contention: times p^{part.contention:.3g}"] if part.form.contention else []
    lead = "" if part.priced_as == model.algorithm else f"as {part.priced_as}: "
    return {"form": f"{lead}{part.form.name}", "parameters": [*map(parameter_phrase, part.parameters), *contention]}


def parameter_phrase(parameter: Parameter) -> str:
    """Return `α between nodes = 2.00 us/message [1.90, 2.10]`, `β ≤ 3.00 ps/byte (not identified)`."""
    symbol, unit, factor = SYMBOLS[parameter.name]
    where = f" {parameter.link} nodes" if parameter.link else ""
    above = f" from {format_size(parameter.above)}" if parameter.above else ""
    if above and parameter.name == "alpha_s":  # extra time of messages of at least that size
        symbol, above = "jump", f" at {format_size(parameter.above)}"
    if not parameter.identified:
        bound = f" ≤ {three_digits(parameter.high * factor)} {unit}" if parameter.high else ""
        return f"{symbol}{where}{above}{bound} (not identified)"
    ends = [three_digits(end * factor) for end in (parameter.low, parameter.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
    rate = (
        f", 1/β = {three_digits(1e-9 / parameter.value)} GB/s"
        if parameter.name == "beta_s_per_byte" and parameter.value
        else ""
    )
    return f"{symbol}{where}{above} = {three_digits(parameter.value * factor)} {unit}{interval}{rate}"


def _error_in_words(errors: Mapping[str, Errors], name: str) -> str:
    """Return `3.1 % (P90 10 %), 92 % covered`."""
    if name not in errors:
        return "-"
    error = errors[name]
    covered = "" if error.covered is None else f", {100 * error.covered:.0f} % covered"
    return f"{three_digits(100 * error.median)} % (P90 {three_digits(100 * error.p90)} %){covered}"


def parameter_frame(models: Iterable[Model]) -> "pd.DataFrame":
    """Return one row per parameter, in SI units: competitor, cache, priced_as, form, fields of Parameter.

    A trend has none.
    """
    import pandas as pd  # late: nothing else here needs it

    rows = [
        {"competitor": model.competitor, "cache": model.cache, "priced_as": part.priced_as}
        | {"form": part.form.name, **parameter_row._asdict()}
        for model in models
        if not model.trend
        for part in model.parts
        for parameter_row in _parameters_of(part)
    ]
    columns = ["competitor", "cache", "priced_as", "form", *Parameter._fields]
    return pd.DataFrame(rows, columns=columns)


def _parameters_of(part: ModelPart) -> Sequence[Parameter]:
    """Return the parameters of a part, including the contention if the form has one."""
    if not part.form.contention:
        return part.parameters
    return *part.parameters, Parameter("contention", "", 0.0, part.contention, None, None, True)


def joined_notes(notes_of: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Join (name of a series, its notes): `ring, tree: 4 ranks are oversubscribed`; in order of appearance.

    A note of all of three or more series begins with `all series`. Notes that differ in a figure stay separate.
    """
    names_of: dict[str, list[str]] = {}
    for name, notes in notes_of:
        for note in notes:
            names_of.setdefault(note, []).append(name)
    return [
        f"{'all series' if len(names) == len(notes_of) >= ALL else ', '.join(names)}: {note}"
        for note, names in names_of.items()
    ]


def cache_label(cache: str) -> str:
    """Return `cold`; empty for the default."""
    return COLD if cache == COLD else ""
