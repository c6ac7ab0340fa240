"""Model of a series: its prices, its measured cells, and how far off it is where it was not fitted.

A model is no better than the times behind it, whose grade it carries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Annotated, NamedTuple

import numpy as np

from ..algorithms import builtin_of, is_builtin
from ..evaluation.grade import GOOD, GRADES, NOT_RELIABLE, PROVISIONAL
from ..runs.cell import is_placement
from ..runs.competitor import Competitor
from ..runs.typed_json import NotNegative, Positive, Rule, at_least, not_empty, one_of
from ..schedule.algorithm import Algorithm
from ..units import MAX_RANKS, format_rate
from .alpha_beta import BETA, BETWEEN, Parameter, priced_s
from .anchor import Anchored, Measured
from .intervals import USELESS, HeldOut, Range
from .terms import terms

UNKNOWN = "unknown"  # grade of imported logs
LEVELS = (*GRADES, UNKNOWN)
LEAST_S = 1e-12  # seconds of a call; shorter ones are implausible
ABOVE_LINK = 1.1  # factor to the rate of a link up to which a fitted rate may be an error of the fit


def _is_placement(text: str) -> bool:
    return text == UNKNOWN or is_placement(text)


class MeasuredCell(NamedTuple):
    """A measured time."""

    ranks: Annotated[int, at_least(1, MAX_RANKS)]
    nodes: Annotated[int, at_least(0, MAX_RANKS)]  # 0: not known
    size_bytes: Positive
    time_s: Annotated[float, at_least(LEAST_S, 1e9)]  # median over launches


@dataclass(frozen=True)
class Model:
    """Model of one series; without cells nothing was measured, and the prices were given."""

    competitor: str  # such as ring@pipelined
    priced_as: Annotated[str, Rule(is_builtin, "an algorithm of this version")]  # whose messages and bytes are priced
    parameters: Annotated[tuple[Parameter, ...], not_empty]
    cells: tuple[MeasuredCell, ...] = ()
    is_library: bool = False  # a library's own choice: the geometric mean with a trend
    run: str = ""  # empty: of no run
    imported: bool = False
    conditions: str = ""  # of its run, but for those that are the default: cache cold, in-place yes
    dtype: str = ""  # empty: not known
    op: str = ""  # empty: not known
    itemsize: Positive = 1  # bytes
    segment: Positive | None = None  # length of a segment; None: messages go whole, or each size has its own; elements
    ranks_per_node: NotNegative | None = None  # None: not the same throughout, or not known
    launches: int = 0
    held_out: HeldOut | None = None  # None: fewer than three numbers of ranks
    ranges: tuple[Range, ...] = ()
    notes: tuple[str, ...] = field(default=())  # what to know of the fit, in sentences
    grade: Annotated[str, one_of(*LEVELS)] = UNKNOWN  # the worst of the times that were fitted
    placement: Annotated[str, Rule(_is_placement, "page, numpy, or bytes")] = UNKNOWN  # where vectors lay in memory

    @property
    def algorithm(self) -> str:
        """Return the name of the competitor without its way."""
        return Competitor(self.competitor).algorithm

    @property
    def alike(self) -> tuple[str, ...]:
        """Return what it shares with the models that it competes with."""
        return self.run, self.dtype, self.op

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Return the measured numbers of ranks, ascending."""
        return tuple(sorted({cell.ranks for cell in self.cells}))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the measured sizes in bytes, ascending."""
        return tuple(sorted({cell.size_bytes for cell in self.cells}))

    @cached_property
    def range_by_times(self) -> dict[float, Range]:
        """Return the held-out ranges by distance."""
        return {one.times: one for one in self.ranges}

    @property
    def is_useless(self) -> bool:
        """Return whether a tenth of the times that were held out are off by more than they are long."""
        return self.held_out is not None and self.held_out.p90 > USELESS

    def nodes_at(self, ranks: int, ranks_per_node: int | None = None) -> int | None:
        """Return the nodes of so many ranks: by `ranks_per_node`, else as measured; None: not known."""
        per_node = ranks_per_node or self.ranks_per_node
        if per_node:
            return ceil(ranks / per_node)
        return next((cell.nodes for cell in self.cells if cell.ranks == ranks), 0) or None

    @cached_property
    def anchored(self) -> Anchored:
        """Return its times at any ranks and sizes."""
        return Anchored(cell_columns(self.cells), self._price_s, self.is_library)

    @property
    def schedule(self) -> Algorithm:
        """Return the algorithm whose messages and bytes are priced."""
        return builtin_of(self.priced_as)

    def _price_s(self, ranks: int, nodes: int, size_bytes: int) -> float:
        return self.price_s(ranks, nodes or None, size_bytes, self.segment)

    def price_s(self, ranks: int, nodes: int | None, size_bytes: int, segment: int | None) -> float:
        """Return the seconds of its schedule at its prices; `segment` in elements."""
        cut = segment if self.schedule.segmented else None
        path = terms(self.schedule, ranks, nodes, size_bytes, self.itemsize, cut)
        return max(priced_s(self.parameters, path), LEAST_S)


def cell_columns(cells: Iterable[MeasuredCell]) -> Measured:
    """Return cells as arrays."""
    columns = list(zip(*cells)) or [(), (), (), ()]
    return Measured(*(np.array(column, dtype=kind) for column, kind in zip(columns, (int, int, int, float))))


def price_of(model: Model, name: str, link: str = "") -> Parameter | None:
    """Return the price over links of one kind; of the kind alone, or over all links; None: it has none."""
    return next((one for one in model.parameters if one.name == name and one.link in ("", link)), None)


def drop_rates_above(model: Model, rate_bytes_per_s: float) -> Model:
    """Return `model` with a beta between nodes whose rate a node's link does not have as not identified, and why.

    Only where these links are told apart from those within nodes, or a node has one rank.
    """
    beta = price_of(model, BETA, BETWEEN)
    is_apart = beta is not None and (beta.link or model.ranks_per_node == 1)
    if beta is None or not is_apart or beta.value * rate_bytes_per_s * ABOVE_LINK >= 1 or not beta.value:
        return model
    note = (
        f"a beta of {format_rate(1 / beta.value)}, beyond the {format_rate(rate_bytes_per_s)} of a node's link, is not "
        "identified"
    )
    parameters = tuple(one._replace(low=None, high=None) if one == beta else one for one in model.parameters)
    return replace(model, parameters=parameters, notes=(*model.notes, note))


def worst(grades: Iterable[str]) -> str:
    """Return the worst of `grades`, where an unknown one may be any but `good`; `unknown` if there is none."""
    found = set(grades)
    return next((level for level in (NOT_RELIABLE, PROVISIONAL, UNKNOWN, GOOD) if level in found), UNKNOWN)
