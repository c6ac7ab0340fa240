"""What was measured of one series, as arrays: one row a cell (ranks and size), and what lies on its critical path.

The time of a cell is the median over its launches of their medians, so that a number of ranks with many launches does
not outweigh the others, and an outlying launch does not count.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from .forms import LINKS, Form
from .terms import Terms


class TermColumns:
    """The terms of a series under one algorithm, as arrays; `matrix` is `forms.matrix` of all rows, quicker."""

    def __init__(self, terms: Sequence[Terms]):
        self.terms = tuple(terms)
        most = max((len(cell_terms.messages) for cell_terms in terms), default=0)
        self.nbytes, self.number = np.zeros((2, len(terms), most))  # [cell, message]
        self.between = np.zeros((len(terms), most), dtype=bool)
        self.reduced = np.array([cell_terms.reduced_nbytes for cell_terms in terms], dtype=float)
        for row, cell_terms in enumerate(terms):
            for index, message in enumerate(cell_terms.messages):
                self.nbytes[row, index], self.number[row, index] = message.nbytes, message.number
                self.between[row, index] = message.between
        self.enumerated = np.array([cell_terms.enumerated for cell_terms in terms], dtype=bool)
        self._known: dict[tuple[str, float], tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def largest(self) -> np.ndarray:
        """float64 [cell]: bytes of the largest message."""
        return (self.nbytes * (self.number > 0)).max(axis=1, initial=0.0)

    @cached_property
    def mixed(self) -> bool:
        """Whether some messages stay within a node and others do not, and all cells tell.

        A declared cost that does not tell links apart beside schedules that do would look like two levels.
        """
        sent = self.number > 0
        across, inside = (self.between & sent).any(axis=1), (~self.between & sent).any(axis=1)
        return bool(across.any() and inside.any() and (self.enumerated | (across & inside)).all())

    def matrix(self, form: Form) -> np.ndarray:
        """float64 [cell, parameter], in the order of `forms.meanings`."""
        columns = [np.ones(len(self.reduced))] if form.call else []
        for link in LINKS if form.levels == 2 else ("",):
            for low, high in zip((0.0, *form.knots), (*form.knots, np.inf)):
                reaching, beyond = self._above(link, low)
                columns += [reaching, beyond - self._above(link, high)[1] if high < np.inf else beyond]
        return np.column_stack(columns + ([self.reduced] if form.reduced else []))

    def _above(self, link: str, edge: float) -> tuple[np.ndarray, np.ndarray]:
        """Messages of at least `edge` bytes, and their bytes beyond it, of each cell."""
        if (link, edge) not in self._known:
            number = self.number * (self.between == (link == "between")) if link else self.number
            reaching = (number * (self.nbytes >= edge)).sum(axis=1)
            self._known[link, edge] = reaching, (number * np.maximum(self.nbytes - edge, 0)).sum(axis=1)
        return self._known[link, edge]


class Observations:
    """The cells of one series.

    `logs` float64 [launch, cell]: log seconds, NaN where a launch did not measure a cell. Launches of different numbers
    of ranks have nothing in common: row i holds the i-th launch of each number of ranks. `paths`: by the name of each
    algorithm that the series may be priced as; `switches`: it may be priced as several of them at the same time.
    """

    def __init__(
        self,
        ranks: np.ndarray,
        nbytes: np.ndarray,
        logs: np.ndarray,
        paths: Mapping[str, TermColumns],
        switches: bool = False,
    ):
        self.ranks, self.nbytes, self.logs, self.paths, self.switches = ranks, nbytes, logs, paths, switches
        self.log_ranks = np.log(ranks.astype(float))
        self.log_time = np.nanmedian(logs, axis=0)

    @property
    def counts(self) -> list[int]:
        """The numbers of ranks, ascending."""
        return sorted(set(self.ranks.tolist()))

    @cached_property
    def launches(self) -> np.ndarray:
        """int [cell]: how many launches its number of ranks has."""
        number_of = {p: int((~np.isnan(self.logs[:, self.ranks == p])).any(axis=1).sum()) for p in self.counts}
        return np.array([number_of[p] for p in self.ranks.tolist()])

    def at(self, counts: Sequence[int]) -> np.ndarray:
        """bool [cell]: those of these numbers of ranks."""
        return np.isin(self.ranks, list(counts))
