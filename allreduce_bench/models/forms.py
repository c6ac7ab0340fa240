"""Forms of a model of a time, all linear in their parameters but for one exponent; the trend; the observations to fit.

T = call + (sum over messages of g(bytes of the message) + gamma * bytes reduced) * p^contention, with

    g(m) = alpha + beta m                       Hockney, Parallel Computing 20(3), 1994
    g of its own within and between nodes       two levels
    g with knots: at each a jump and another    eager and rendezvous, caches: in the size of a message on the wire,
    slope                                       as PLogP has it (Kielmann, Bal and Verstoep, 2000)

A trend has no form: of each size a line over log2 of the ranks, whose slope neighbouring sizes share, between sizes an
interpolation. It claims no price of a message or a byte, and knows no other sizes.

`Observations` holds the measurements of one series, as arrays: one row per cell (ranks and size), and the terms of its
critical path (`TermColumns`). The time of a cell is the median over its launches of their medians, so that a number of
ranks with many launches does not outweigh the others, and an outlying launch does not count.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..runs.typed_json import NotNegative, Positive
from ..units import format_size
from .terms import Terms

LINKS = ("within", "between")
TINY_S = 1e-12  # no call is shorter
NEIGHBOURS = 2  # sizes on each side with which a line of a trend shares its slope


class Form(NamedTuple):
    """Terms of a model."""

    call: bool = False  # whether a call costs seconds by itself
    reduced: bool = False  # whether gamma is apart from beta
    levels: int = 1  # 2: links within nodes and between them are apart
    knots: tuple[NotNegative, ...] = ()  # lengths of a message at which its cost changes, ascending; bytes
    contention: bool = False  # whether all but the call grows with a power of the number of ranks

    @property
    def name(self) -> str:
        """Return the form in words: `alpha-beta`, `call + two-level alpha-beta, knots at 8 KiB, p^contention`."""
        phrase = ("call + " if self.call else "") + ("two-level " if self.levels == 2 else "")
        phrase += "alpha-beta" + ("-gamma" if self.reduced else "")
        if self.knots:
            phrase += f", knots at {', '.join(map(format_size, self.knots))}"
        return phrase + (", p^contention" if self.contention else "")


class Meaning(NamedTuple):
    """Meaning of one parameter of a form."""

    name: str  # with its unit: alpha_s, beta_s_per_byte, gamma_s_per_byte, call_s
    link: str  # within, between; empty: all links alike
    above: float  # least bytes of a message for it to count: jumps and slopes behind a knot


def meanings(form: Form) -> list[Meaning]:
    """Return the linear parameters in the order of the columns of `matrix`."""
    columns = [Meaning("call_s", "", 0.0)] if form.call else []
    for link in LINKS if form.levels == 2 else ("",):
        for above in (0.0, *form.knots):
            columns += [Meaning("alpha_s", link, above), Meaning("beta_s_per_byte", link, above)]
    return columns + ([Meaning("gamma_s_per_byte", "", 0.0)] if form.reduced else [])


def matrix(form: Form, points: Sequence[Terms]) -> np.ndarray:
    """Return float64 [point, parameter]: the coefficient of each linear parameter; times = matrix @ parameters."""
    rows = [_coefficients(form, terms) for terms in points]
    return np.array(rows, dtype=float).reshape(len(points), len(meanings(form)))


def _coefficients(form: Form, terms: Terms) -> list[float]:
    """Return one row of `matrix`."""
    row = [1.0] if form.call else []
    edges = (0.0, *form.knots, np.inf)
    for link in LINKS if form.levels == 2 else ("",):
        messages = [message for message in terms.messages if not link or message.between == (link == "between")]
        for low, high in zip(edges, edges[1:]):
            reaching = [message for message in messages if message.size_bytes >= low]
            row.append(sum(message.number for message in reaching))
            row.append(sum(message.number * (min(message.size_bytes, high) - low) for message in reaching))
    return row + ([terms.reduced_nbytes] if form.reduced else [])


def crowded(form: Form, columns: np.ndarray, log_ranks: np.ndarray, contention: float) -> np.ndarray:
    """Scale `columns` (as of `matrix`) by p^contention, except the call's: a call waits for nobody."""
    grown = columns * np.exp(contention * log_ranks)[:, None]
    if form.call:
        grown[:, 0] = columns[:, 0]
    return grown


class SizeLine(NamedTuple):
    """One size of a trend."""

    size_bytes: Positive
    base_s: float  # seconds of the line at one rank
    slope_s: float  # seconds that each doubling of the ranks adds
    least_s: NotNegative  # seconds that no time of the trend is below: half of the least measured one


def trend_s(lines: Sequence[SizeLine], log_ranks: np.ndarray, size_bytes: np.ndarray) -> np.ndarray:
    """Return float64 [cell]: seconds of a trend, whose `lines` ascend in size; beyond these, those of the last one."""
    base_s, slope_s, least_s = (np.array([line[field] for line in lines]) for field in (1, 2, 3))
    doublings = log_ranks / np.log(2)
    least_s = np.maximum(least_s, TINY_S)
    logs = np.log(np.maximum(base_s[:, None] + slope_s[:, None] * doublings, least_s[:, None]))  # [line, cell]
    known = np.log([line.size_bytes for line in lines])
    return np.exp([np.interp(at, known, column) for at, column in zip(np.log(size_bytes), logs.T)])


class TermColumns:
    """Terms of a series under one algorithm, as arrays; its `matrix` is that of all rows, computed faster."""

    def __init__(self, terms: Sequence[Terms]):
        self.terms = tuple(terms)
        most = max((len(cell_terms.messages) for cell_terms in terms), default=0)
        self.size_bytes, self.number = np.zeros((2, len(terms), most))  # [cell, message]
        self.between = np.zeros((len(terms), most), dtype=bool)
        self.reduced = np.array([cell_terms.reduced_nbytes for cell_terms in terms], dtype=float)
        for row, cell_terms in enumerate(terms):
            for index, message in enumerate(cell_terms.messages):
                self.size_bytes[row, index], self.number[row, index] = message.size_bytes, message.number
                self.between[row, index] = message.between
        self.links_apart = np.array([cell_terms.links_apart for cell_terms in terms], dtype=bool)
        self._known: dict[tuple[str, float], tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def largest(self) -> np.ndarray:
        """Return float64 [cell]: bytes of the largest message."""
        return (self.size_bytes * (self.number > 0)).max(axis=1, initial=0.0)

    @cached_property
    def mixed(self) -> bool:
        """Return whether some messages stay within a node and others do not, and all cells tell.

        Mixing a declared cost that does not separate links with schedules that do would look like two levels.
        """
        sent = self.number > 0
        across, inside = (self.between & sent).any(axis=1), (~self.between & sent).any(axis=1)
        return bool(across.any() and inside.any() and (self.links_apart | (across & inside)).all())

    def matrix(self, form: Form) -> np.ndarray:
        """Return float64 [cell, parameter], in the order of `meanings`."""
        columns = [np.ones(len(self.reduced))] if form.call else []
        for link in LINKS if form.levels == 2 else ("",):
            for low, high in zip((0.0, *form.knots), (*form.knots, np.inf)):
                reaching, beyond = self._above(link, low)
                columns += [reaching, beyond - self._above(link, high)[1] if high < np.inf else beyond]
        return np.column_stack(columns + ([self.reduced] if form.reduced else []))

    def _above(self, link: str, edge: float) -> tuple[np.ndarray, np.ndarray]:
        """Return for each cell the messages of at least `edge` bytes, and their bytes beyond it."""
        if (link, edge) not in self._known:
            number = self.number * (self.between == (link == "between")) if link else self.number
            reaching = (number * (self.size_bytes >= edge)).sum(axis=1)
            self._known[link, edge] = reaching, (number * np.maximum(self.size_bytes - edge, 0)).sum(axis=1)
        return self._known[link, edge]


class Observations:
    """Cells of one series.

    `logs` float64 [launch, cell]: log seconds, NaN where a launch did not measure a cell. Launches of different numbers
    of ranks are independent: row i holds the i-th launch of each number of ranks. `paths`: by the name of each
    algorithm that the series may be priced as; `switches`: it may be priced as several of them, by size.
    """

    def __init__(
        self,
        ranks: np.ndarray,
        size_bytes: np.ndarray,
        logs: np.ndarray,
        paths: Mapping[str, TermColumns],
        switches: bool = False,
    ):
        self.ranks, self.size_bytes, self.logs, self.paths, self.switches = ranks, size_bytes, logs, paths, switches
        self.log_ranks = np.log(ranks.astype(float))
        self.log_time = np.nanmedian(logs, axis=0)

    @property
    def counts(self) -> list[int]:
        """Return the numbers of ranks, ascending."""
        return sorted(set(self.ranks.tolist()))

    @cached_property
    def launches(self) -> np.ndarray:
        """Return int [cell]: the number of launches with the cell's number of ranks."""
        number_of = {p: int((~np.isnan(self.logs[:, self.ranks == p])).any(axis=1).sum()) for p in self.counts}
        return np.array([number_of[p] for p in self.ranks.tolist()])

    def at(self, counts: Sequence[int]) -> np.ndarray:
        """Return bool [cell]: the cells with these numbers of ranks."""
        return np.isin(self.ranks, list(counts))

    def trend(self, counts: Sequence[int]) -> tuple[SizeLine, ...]:
        """Return the line of each size, which errors in percent weigh; empty: one lacks times at two of these ranks.

        Few ranks tell little of a slope: relative to the size's mean time it is the median of those of up to
        NEIGHBOURS sizes on each side, and none falls. Between sizes whose lines are far apart, a library may have
        switched.
        """
        times, rises, rows = {}, [], self.at(counts)
        for size_bytes in sorted(set(self.size_bytes[rows].tolist())):
            of_size = rows & (self.size_bytes == size_bytes)
            time_s, doublings = np.exp(self.log_time[of_size]), self.log_ranks[of_size] / np.log(2)
            if np.ptp(doublings) == 0:
                return ()
            times[size_bytes] = time_s, doublings
            rises.append(np.polyfit(doublings, time_s, 1, w=1 / time_s)[0] / _geometric_mean(time_s))
        lines = []
        for place, (size_bytes, (time_s, doublings)) in enumerate(times.items()):
            near = rises[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
            slope_s = max(0.0, float(np.median(near))) * _geometric_mean(time_s)
            base_s = float(np.average(time_s - slope_s * doublings, weights=time_s**-2.0))
            lines.append(SizeLine(size_bytes, base_s, slope_s, float(time_s.min() / 2)))
        return tuple(lines)


def _geometric_mean(time_s: np.ndarray) -> float:
    return float(np.exp(np.log(time_s).mean()))
