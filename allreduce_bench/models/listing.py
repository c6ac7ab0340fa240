"""The output of `fit`: a table of prices, errors, sizes and ranks; below it what to know of it."""

from collections.abc import Sequence
from typing import NamedTuple

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import in_ranks, three_digits
from .fitting import LocalGamma, UnfittedSeries
from .model import UNKNOWN, Model, worst
from .words import HEADS, joined_notes, price_rows, warning

SECONDARY = (3, 6)  # columns left out first
OF_SERIES = ("dtype", "op", "segment")  # told where the competitor is the same


class Listing(NamedTuple):
    """Results of one call of `fit`."""

    models: Sequence[Model]
    unfit: Sequence[UnfittedSeries]
    local: Sequence[LocalGamma] = ()

    def table(self, screen: Screen = UNBOUNDED) -> str:
        """Return the table and sentences for people."""
        labels = self._labels()
        rows = [HEADS, *price_rows(self.models, labels)]
        lines = fitted(columns_of(rows, left=(0, 1, 2, 3, 6, 7), left_out=SECONDARY), screen)
        notes = joined_notes(list(zip(labels, (model.notes for model in self.models))))
        sentences = [*filter(None, [warning(self.models)]), *self._grades(), *self._gammas(), *notes, *self._unfit()]
        return "\n".join([*lines, "", *wrapped(sentences, screen)]) + "\n"

    def _grades(self) -> list[str]:
        """Return what the times of each run are worth, and how they were measured."""
        sentences = []
        for run in dict.fromkeys(model.run for model in self.models):
            models = [model for model in self.models if model.run == run]
            of_run = f"{run}: " if run and len(models) < len(self.models) else ""
            facts = [
                f"grade of the times: {worst(model.grade for model in models)}",
                *([f"placement of vectors: {models[0].placement}"] if models[0].placement != UNKNOWN else []),
                *([f"conditions: {models[0].conditions}"] if models[0].conditions else []),
            ]
            sentences.append(of_run + "; ".join(facts))
        return sentences

    def _gammas(self) -> list[str]:
        return [
            f"{f'{one.run}: ' if len(self.local) > 1 else ''}gamma of a local reduction "
            f"{three_digits(one.gamma.value * 1e12)} ps/byte (floor, {in_ranks([one.ranks])}); beta holds moving and "
            "reducing a byte"
            for one in self.local
            if one.gamma.value
        ]

    def _unfit(self) -> list[str]:
        several = len({*(model.run for model in self.models), *(one.run for one in self.unfit)}) > 1
        return [
            f"not fitted: {f'{one.run}: ' if several and one.run else ''}{one.competitor}: {one.reason}"
            for one in self.unfit
        ]

    def _labels(self) -> list[str]:
        """Return a name for each model: its run, if there are several, its competitor, and what tells it apart."""
        models, several = self.models, len({model.run for model in self.models}) > 1
        labels = [f"{one.run}: {one.competitor}" if several and one.run else one.competitor for one in models]
        for more in OF_SERIES:
            of_label: dict[str, set] = {}
            for label, one in zip(labels, models):
                of_label.setdefault(label, set()).add(getattr(one, more))
            labels = [
                f"{label} {getattr(one, more)}" if len(of_label[label]) > 1 and getattr(one, more) else label
                for label, one in zip(labels, models)
            ]
        return labels
