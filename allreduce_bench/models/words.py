"""Models in words: a row of prices, errors, sizes and ranks for each series, as `fit` and the page print them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..algorithms import builtin
from ..units import few, format_ranges, format_size, three_digits
from .alpha_beta import ALPHA, BETA, GAMMA, Parameter
from .known_algorithms import known_as
from .model import Model, price_of

if TYPE_CHECKING:
    import pandas as pd

ALL = 3  # from this many series on, a note about every one of them begins with "all"
UNITS = {ALPHA: ("us", 1e6), BETA: ("ps/byte", 1e12), GAMMA: ("ps/byte", 1e12)}  # unit, units per second
NOT_IDENTIFIED = "not identified"
LEAST = 0.001  # us or ps: what is below that is not told apart from 0


class PriceRow(NamedTuple):
    """A series, or its links of one kind, in words."""

    series: str  # empty: as above
    alpha: str  # us a message
    beta: str  # ps a byte
    rate: str  # 1/beta of one link
    median: str  # of the errors at the largest number of ranks, left out; percent
    p90: str
    sizes: str
    ranks: str


HEADS = PriceRow(
    *("series", "alpha, us (95 %)", "beta, ps/byte (95 %)", "1/beta", "held out: median", "P90", "sizes", "ranks")
)


def price_rows(models: Sequence[Model], labels: Sequence[str]) -> list[PriceRow]:
    """Return a row for each model and kind of link."""
    return [row for model, label in zip(models, labels) for row in _rows_of(model, label)]


def _rows_of(model: Model, label: str) -> Iterator[PriceRow]:
    held_out = model.held_out
    sizes = dict.fromkeys(map(format_size, (model.sizes[0], model.sizes[-1])))
    errors = (f"{held_out.median:.0%}", f"{held_out.p90:.0%}") if held_out else ("-", "-")
    is_named = model.priced_as in (model.algorithm, known_as(model.algorithm, builtin()))
    name = label if is_named else f"{label} as {model.priced_as}"
    ends: tuple[str, ...] = (*errors, " to ".join(sizes), format_ranges(model.ranks))
    for link in dict.fromkeys(one.link for one in model.parameters if one.name == ALPHA):
        alpha, beta = (price_of(model, price, link) for price in (ALPHA, BETA))
        where = f"{link} nodes" if link else ""
        yield PriceRow(
            ", ".join(filter(None, [name, where])), price_text(alpha), price_text(beta), rate_text(beta), *ends
        )
        name, ends = "", ("",) * len(ends)


def price_text(price: Parameter | None) -> str:
    """Return `5.01 (4.90 to 5.12)`, `5.01 (not identified)`; `not identified` for nothing."""
    if price is None:
        return "-"
    factor = UNITS[price.name][1]
    value, low, high = (None if one is None else one * factor for one in (price.value, price.low, price.high))
    if not value or value < LEAST:
        return NOT_IDENTIFIED if high is None else f"0 (0 to {three_digits(max(LEAST, high))})"
    if low is None or high is None:
        return f"{three_digits(value)} ({NOT_IDENTIFIED})"
    return f"{three_digits(value)} ({three_digits(low) if low else '0'} to {three_digits(high)})"


def rate_text(beta: Parameter | None) -> str:
    """Return the bandwidth of one link, in GB/s."""
    return f"{three_digits(1e-9 / beta.value)} GB/s" if beta and beta.value else ""


def warning(models: Iterable[Model], most: int = 3) -> str:
    """Return which models are of no use; empty: none."""
    useless = [
        f"{model.competitor} (held-out P90 {model.held_out.p90:.0%})"
        for model in models
        if model.is_useless and model.held_out
    ]
    if not useless:
        return ""
    return f"do not use {'this model' if len(useless) == 1 else 'these models'}: {few(useless, most)}"


def parameter_frame(models: Iterable[Model]) -> "pd.DataFrame":
    """Return one row per parameter, in SI units: run, competitor, priced_as, fields of Parameter, identified."""
    import pandas as pd  # late: nothing else here needs it

    rows = [
        {"run": model.run, "competitor": model.competitor, "priced_as": model.priced_as, **one._asdict()}
        | {"identified": one.is_identified}
        for model in models
        for one in model.parameters
    ]
    return pd.DataFrame(rows, columns=["run", "competitor", "priced_as", *Parameter._fields, "identified"])


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
