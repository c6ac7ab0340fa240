"""The declaration of a figure of the report, its input, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ..models.bounds import Bounds
from ..models.curves import held_against_models, lower_bounds, passed_bounds
from ..models.model import Model
from ..schedule.algorithm import Algorithm
from .drawn_bounds import bound_curves, bound_sentence, with_bounds
from .live_chart import NO_SWITCHES, LiveChart, Switch

TIMES, MODELS, RUNS = "times", "models", "runs"  # what was measured, the models, several runs over each other
CELL = ["ranks", "algorithm", "executor", "cache", "nbytes"]  # columns that name a cell


@dataclass(frozen=True)
class FigureData:
    """One run: its competing rows, its models, a user's own algorithms, and its switch points."""

    frame: pd.DataFrame
    models: Sequence[Model]
    own: Mapping[str, Algorithm]
    switches: Mapping[int, Sequence[Switch]] = field(default_factory=lambda: NO_SWITCHES)  # ranks -> switch points

    @cached_property
    def least(self) -> dict[int, Bounds]:
        """The lower bounds of each number of ranks at which the models hold."""
        return lower_bounds(self.models, self.frame)

    @cached_property
    def passed(self) -> frozenset[int]:
        """The numbers of ranks at which measured times are below their supposed lower bound."""
        return passed_bounds(self.least, self.frame)

    @cached_property
    def limits(self) -> pd.DataFrame:
        """The `bound_curves` over the measured sizes; there is at least one size."""
        sizes = self.frame.loc[self.frame["time_s"].notna() & (self.frame["nbytes"] > 0), "nbytes"]
        return bound_curves(self.least, sizes.min(), sizes.max(), self.passed)

    @cached_property
    def bounded(self) -> pd.DataFrame:
        """The rows with their bounds."""
        return with_bounds(self.frame, self.least, self.passed)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The measured cells with the times of their models: see `models.curves.held`."""
        return held_against_models(self.frame, self.models, self.own)

    @property
    def bound_sentence(self) -> str:
        """The models that the bound comes from; starts with a blank."""
        return bound_sentence(self.frame, self.models, self.least, self.passed)

    @property
    def has_both_caches(self) -> bool:
        """Whether cells were measured with a warm and with a cold cache."""
        return self.frame["cache"].nunique() > 1

    @property
    def warm_sentence(self) -> str:
        """The sentence in the caption of a figure that shows warm cells only; starts with a blank."""
        return " Warm cache." if self.has_both_caches else ""


class Drawing(NamedTuple):
    """A figure, its caption and its numbers."""

    figure: Figure
    caption: str
    numbers: pd.DataFrame  # what is drawn, in SI units
    live: LiveChart | None = None  # the same for readers with a script; None: the picture is all there is


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFigure:
    """One figure of the page."""

    stem: str  # of its files
    section: str  # TIMES, which is drawn where a vector with elements has a time, MODELS, or RUNS
    turn: int  # its place in the section: those with a low turn come first
    draw: Callable[[FigureData], Drawing | None]  # None: there is nothing to draw
    why_not: Callable[[FigureData], str] | None = None  # what the page says where it is not drawn
