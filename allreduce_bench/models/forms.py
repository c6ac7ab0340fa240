"""The shapes that a model of a time may have, all linear in their parameters but for one exponent.

T = call + (sum over messages of g(bytes of the message) + gamma * bytes reduced) * p^contention, with

    g(m) = alpha + beta m                       Hockney, Parallel Computing 20(3), 1994
    g of its own within and between nodes       two levels
    g with knots: at each a jump and another    eager and rendezvous, caches: in the size of a message on the wire,
    slope                                       as PLogP has it (Kielmann, Bal and Verstoep, 2000)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..runs.typed_json import NotNegative
from ..units import format_size
from .terms import Terms

LINKS = ("within", "between")


class Form(NamedTuple):
    """Which terms a model has."""

    call: bool = False  # seconds of a call, whatever it does
    reduced: bool = False  # gamma apart from beta
    levels: int = 1  # 2: links within nodes and between them
    knots: tuple[NotNegative, ...] = ()  # bytes of a message at which its cost changes, ascending
    contention: bool = False  # all but the call times p^contention

    @property
    def name(self) -> str:
        """In words: `alpha-beta`, `call + two-level alpha-beta, knots at 8 KiB, p^contention`."""
        phrase = ("call + " if self.call else "") + ("two-level " if self.levels == 2 else "")
        phrase += "alpha-beta" + ("-gamma" if self.reduced else "")
        if self.knots:
            phrase += f", knots at {', '.join(map(format_size, self.knots))}"
        return phrase + (", p^contention" if self.contention else "")


class Meaning(NamedTuple):
    """What one parameter of a form is."""

    name: str  # with its unit: alpha_s, beta_s_per_byte, gamma_s_per_byte, call_s
    link: str  # within, between; empty: links are alike
    above: float  # bytes of a message from which on it counts: jumps and slopes behind a knot


def meanings(form: Form) -> list[Meaning]:
    """The linear parameters in the order of the columns of `matrix`."""
    columns = [Meaning("call_s", "", 0.0)] if form.call else []
    for link in LINKS if form.levels == 2 else ("",):
        for above in (0.0, *form.knots):
            columns += [Meaning("alpha_s", link, above), Meaning("beta_s_per_byte", link, above)]
    return columns + ([Meaning("gamma_s_per_byte", "", 0.0)] if form.reduced else [])


def matrix(form: Form, points: Sequence[Terms]) -> np.ndarray:
    """float64 [point, parameter]: what stands before each linear parameter; times = matrix @ parameters."""
    rows = [_coefficients(form, terms) for terms in points]
    return np.array(rows, dtype=float).reshape(len(points), len(meanings(form)))


def crowded(form: Form, columns: np.ndarray, log_ranks: np.ndarray, contention: float) -> np.ndarray:
    """`columns` (as of `matrix`) times p^contention, but for that of the call: that waits for nobody."""
    grown = columns * np.exp(contention * log_ranks)[:, None]
    if form.call:
        grown[:, 0] = columns[:, 0]
    return grown


def _coefficients(form: Form, terms: Terms) -> list[float]:
    row = [1.0] if form.call else []
    edges = (0.0, *form.knots, np.inf)
    for link in LINKS if form.levels == 2 else ("",):
        messages = [message for message in terms.messages if not link or message.between == (link == "between")]
        for low, high in zip(edges, edges[1:]):
            reaching = [message for message in messages if message.nbytes >= low]
            row.append(sum(message.number for message in reaching))
            row.append(sum(message.number * (min(message.nbytes, high) - low) for message in reaching))
    return row + ([terms.reduced_nbytes] if form.reduced else [])
