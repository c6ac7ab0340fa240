"""Models in words and as tables: their forms, parameters with intervals, errors, notes and caches."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd

from ..runs.cell import EXECUTORS, IMPORTED, NATIVE
from ..units import format_size, in_ranks, three_digits
from .model import Errors, Model, ModelPart, Parameter

ALL = 3  # from so many series on, a note about every one of them begins with "all"
WARM, COLD = "warm", "cold"  # caches: warm is the usual one
SYMBOLS = {  # parameter -> symbol, unit, how many of it are a second
    "alpha_s": ("α", "us/message", 1e6),
    "beta_s_per_byte": ("β", "ps/byte", 1e12),
    "gamma_s_per_byte": ("γ", "ps/byte reduced", 1e12),
    "call_s": ("call", "us", 1e6),
}
SCORES = {"in_sample": "in sample", "leave_one_p_out": "one p left out", "leave_largest_p_out": "largest p left out"}


def model_lines(models: Iterable[Model]) -> list[dict]:
    """For each model what a table says of it: series, ranks, parts, errors, plain_errors, notes; all in words."""
    return [
        {
            "series": series_label(model),
            "ranks": in_ranks(model.ranks) if model.ranks else "",
            "parts": [_part_in_words(part, model) for part in model.parts],
            "errors": [_error_in_words(model.errors, name) for name in SCORES],
            "plain_errors": [_error_in_words(model.plain_errors, name) for name in SCORES],
            "notes": model.notes,
        }
        for model in models
    ]


def series_label(model: Model) -> str:
    """What tells a model from the others of its run: `ring`, `ring, cold cache`."""
    imported = "" if model.executor in ("", NATIVE, IMPORTED, *EXECUTORS) else f", {model.executor}"
    label = cache_label(model.cache)
    return f"{model.competitor}{imported}{f', {label} cache' if label else ''}"


def _part_in_words(part: ModelPart, model: Model) -> dict:
    """Its form and parameters; whose messages it counts, where the name of the series does not say so."""
    contention = [f"contention: times p^{part.contention:.3g}"] if part.form.contention else []
    lead = "" if part.priced_as == model.algorithm else f"as {part.priced_as}: "
    return {"form": f"{lead}{part.form.name}", "parameters": [*map(parameter_phrase, part.parameters), *contention]}


def parameter_phrase(parameter: Parameter) -> str:
    """`α between nodes = 2.00 us/message [1.90, 2.10]`, `β ≤ 3.00 ps/byte (not identified)`."""
    symbol, unit, factor = SYMBOLS[parameter.name]
    where = f" {parameter.link} nodes" if parameter.link else ""
    above = f" from {format_size(parameter.above)}" if parameter.above else ""
    if above and parameter.name == "alpha_s":  # a message of that size or more takes so much longer
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
    """`3.1 % (P90 10 %), 92 % covered`."""
    if name not in errors:
        return "-"
    error = errors[name]
    covered = "" if error.covered is None else f", {100 * error.covered:.0f} % covered"
    return f"{three_digits(100 * error.median)} % (P90 {three_digits(100 * error.p90)} %){covered}"


def parameter_frame(models: Iterable[Model]) -> pd.DataFrame:
    """One row a parameter, in SI units: algorithm, executor, cache, priced_as, form, and the fields of Parameter."""
    rows = [
        {"algorithm": model.algorithm, "executor": model.executor, "cache": model.cache, "priced_as": part.priced_as}
        | {"form": part.form.name, **parameter_row._asdict()}
        for model in models
        for part in model.parts
        for parameter_row in _parameters_of(part)
    ]
    columns = ["algorithm", "executor", "cache", "priced_as", "form", *Parameter._fields]
    return pd.DataFrame(rows, columns=columns)


def _parameters_of(part: ModelPart) -> Sequence[Parameter]:
    """The parameters of a part, its contention among them where the form has one."""
    if not part.form.contention:
        return part.parameters
    return *part.parameters, Parameter("contention", "", 0.0, part.contention, None, None, True)


def joined_notes(notes_of: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Join (name of a series, its notes): `ring, tree: 4 ranks are oversubscribed`; in the order of their appearance.

    What holds for all of three series or more begins with `all series`. Notes that differ in a figure stay apart.
    """
    names_of: dict[str, list[str]] = {}
    for name, notes in notes_of:
        for note in notes:
            names_of.setdefault(note, []).append(name)
    return [
        f"{'all series' if len(names) == len(notes_of) >= ALL else ', '.join(names)}: {note}"
        for note, names in names_of.items()
    ]


def preferred_cache(caches: Collection[str]) -> str:
    """Of those measured the one that is looked at where one is enough: warm where that was measured."""
    return WARM if WARM in caches else COLD


def cache_label(cache: str) -> str:
    """`cold`; empty for the usual one."""
    return COLD if cache == COLD else ""
