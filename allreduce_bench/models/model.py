"""A fitted model: its parameters, how far it was off where it was not fitted, and what it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log2
from typing import Annotated, NamedTuple

import numpy as np

from ..runs.cell import competitor_name
from ..runs.typed_json import NotNegative, Positive, not_empty
from .forms import Form, crowded, matrix
from .terms import Terms

FAR = 2.0  # times the measured numbers of ranks, up or down: what lies beyond is speculative
COVERAGE = 0.9  # of a prediction interval


class Parameter(NamedTuple):
    """A parameter with its 95 % interval; see `forms.Meaning` for `link` and `above`."""

    name: str
    link: str
    above: float
    value: NotNegative
    low: float | None  # None: no interval is known
    high: float | None
    identified: bool  # False: the data only say that it is at most `high`, or cannot tell it from others


class Errors(NamedTuple):
    """Of |model / measured - 1| over points."""

    median: float
    p90: float
    points: int
    covered: float | None = None  # share of the points within their prediction interval, where there is one


class ModelPart(NamedTuple):
    """A form with its parameters, for the schedule of one algorithm."""

    priced_as: str  # the algorithm whose schedule or declared cost counts
    form: Form
    parameters: tuple[Parameter, ...]
    contention: NotNegative = 0.0


class Prediction(NamedTuple):
    """A predicted time; without an interval where nothing was measured."""

    time_s: float
    low_s: float | None
    high_s: float | None
    speculative: bool  # beyond FAR times the measured numbers of ranks


@dataclass(frozen=True)
class Model:
    """The model of one series; the time is that of its fastest part: a library that switches has several."""

    algorithm: str
    parts: Annotated[tuple[ModelPart, ...], not_empty]
    run: str = ""
    executor: str = ""
    cache: str = "warm"
    dtype: str = ""
    op: str = ""
    itemsize: Positive = 1
    segment: Positive | None = None  # elements
    window: Positive | None = None  # messages posted ahead
    ranks: tuple[Positive, ...] = ()  # that were measured
    ranks_per_node: NotNegative | None = None  # where it was the same throughout
    nbytes: tuple[Positive, ...] = ()  # smallest and largest measured size
    launches: int = 0
    reach_log: NotNegative | None = None  # half width of the 90 % prediction interval of log time, at measured ranks
    reach_log_per_doubling: NotNegative = 0.0  # what is added for each doubling of the ranks beyond them
    errors: dict[str, Errors] = field(default_factory=dict)  # in_sample, leave_one_p_out, leave_largest_p_out
    plain_errors: dict[str, Errors] = field(default_factory=dict)  # the same of the plain alpha-beta fit
    notes: tuple[str, ...] = ()  # what a reader must know of the fit, sentences

    @property
    def competitor(self) -> str:
        """What readers call it: its algorithm, and its executor where that is not the usual one."""
        return competitor_name(self.algorithm, self.executor)

    def predict(self, ranks: int, terms_of: Sequence[Terms]) -> Prediction:
        """The time at `ranks`, from the terms of each part at these ranks and this size."""
        time_s = min(seconds(part, [terms], [ranks])[0] for part, terms in zip(self.parts, terms_of))
        beyond = max(0.0, log2(ranks / max(self.ranks))) if self.ranks else 0.0
        below = max(0.0, log2(min(self.ranks) / ranks)) if self.ranks else 0.0
        speculative = bool(self.ranks) and not min(self.ranks) / FAR <= ranks <= FAR * max(self.ranks)
        if self.reach_log is None:
            return Prediction(float(time_s), None, None, speculative)
        factor = exp(self.reach_log + self.reach_log_per_doubling * (beyond + below))
        return Prediction(float(time_s), float(time_s / factor), float(time_s * factor), speculative)


def seconds(part: ModelPart, terms: Sequence[Terms], ranks: Sequence[int]) -> np.ndarray:
    """float64 [point]: the times of a part."""
    values = np.array([parameter.value for parameter in part.parameters], dtype=float)
    return (
        crowded(part.form, matrix(part.form, terms), np.log(np.asarray(ranks, dtype=float)), part.contention) @ values
    )
