"""Fitted model: its parameters or its trend, its errors on held-out data, its predictions; lower bounds from models.

A model is no better than the times behind it, whose grade it carries.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log, log2
from operator import itemgetter
from typing import Annotated, NamedTuple

import numpy as np

from ..evaluation.grade import GOOD, GRADES, NOT_RELIABLE, PROVISIONAL
from ..runs.competitor import Competitor
from ..runs.typed_json import LATER, Natural, NotNegative, Positive, at_least, not_empty
from ..schedule.price import bound_path
from ..units import format_rate
from .forms import LINKS, Form, SizeLine, crowded, matrix, trend_s
from .terms import Terms

# Grades
UNKNOWN = "unknown"  # for imported logs, and files without grades
LEVELS = (*GRADES, UNKNOWN)


# What a file may hold: far more than is fitted, but times are numbers
Exponent = Annotated[float, at_least(0, 10)]
Log = Annotated[float, at_least(0, 100)]

# Predictions
FAR = 2.0  # factor to the measured numbers of ranks, up or down, beyond which a prediction is speculative
MOST_SIZE = 4.0  # factor to the measured sizes, up or down, beyond which no time is predicted unless requested
LIBRARY_WIDER = 2.0  # factor of what each doubling of the size adds to a library's interval: it may switch there
BELOW_WIDER = 1.5  # the same below the measured sizes
FULL_DOUBLINGS = 2.0  # beyond the measured sizes, from which on a model is shifted to the times at their end, of which
# one may be off; that of a library, after one: its choice may change near the end
COVERAGE = 0.9  # of a prediction interval
ABOVE_LINK = 1.1  # factor to the rate of a link up to which a fitted rate may be an error of the fit
UNKNOWN_SHARE = 0.1  # share of a time that may depend on unidentified parameters without a warning


class Parameter(NamedTuple):
    """Parameter with its 95 % interval; see `forms.Meaning` for `link` and `above`."""

    name: str  # alpha_s (s per message), beta_s_per_byte, gamma_s_per_byte (s/byte) or call_s (s)
    link: str  # within or between nodes; empty: links are alike
    above: float  # length of a message from which on it counts; bytes
    value: NotNegative
    low: float | None  # lower end of the 95 % interval; None: not known
    high: float | None  # upper end of the 95 % interval; None: not known
    identified: bool  # False: the data only say that it is at most `high`, or cannot tell it from others


class Errors(NamedTuple):
    """Relative errors |model / measured - 1| over points."""

    median: float  # median of |model / measured - 1|
    p90: float  # 90 % of them are not above this
    points: int  # cells
    covered: float | None = None  # share of the cells within their prediction interval; None: no interval


class ModelPart(NamedTuple):
    """Form with its parameters, for the schedule of one algorithm."""

    priced_as: str  # algorithm whose messages and bytes are priced
    form: Form
    parameters: tuple[Parameter, ...]
    contention: Exponent = 0.0  # exponent of the number of ranks that all but the call grows with


class Prediction(NamedTuple):
    """Predicted time; without an interval if nothing was measured."""

    time_s: float
    low_s: float | None
    high_s: float | None
    speculative: bool  # beyond FAR times the measured numbers of ranks, or beyond the measured sizes
    unidentified: str = ""  # alpha, beta, alpha and beta: what the time depends on without being identified
    least_s: float = 0.0  # lower bound, for any values of unidentified parameters
    size_factor: float = 1.0  # how many times larger or smaller than the measured sizes; 1: within them

    def changed(self, change: Callable[[float], float]) -> "Prediction":
        """Return the prediction with all its times changed."""
        low_s, high_s = (None if end is None else change(end) for end in (self.low_s, self.high_s))
        return self._replace(time_s=change(self.time_s), low_s=low_s, high_s=high_s, least_s=change(self.least_s))


class SizeEnd(NamedTuple):
    """The times at an end of the measured sizes, on one number of ranks; predictions of sizes beyond follow them."""

    ranks: Positive
    off_log: float  # logarithm of measured over modelled there
    # exponent of the size with which times grow there; None: the schedule is known, and the model's growth holds
    growth: float | None = None


LEAST_S = 1e-12  # seconds of a call; shorter ones are implausible


class SizeTime(NamedTuple):
    """A measured time."""

    size_bytes: Positive
    time_s: Annotated[float, at_least(LEAST_S)]  # median over launches


@dataclass(frozen=True)
class Model:
    """Model of one series; the time is that of its fastest part: a library that switches has several.

    If it has a trend, that gives the times at its sizes, or the geometric mean of it and of the parts does; beyond,
    they grow as the parts do.
    """

    competitor: str  # such as ring@pipelined
    # the time is that of the fastest part: a library that switches has several
    parts: Annotated[tuple[ModelPart, ...], not_empty]
    run: str = ""  # empty: of no run
    imported: bool = False
    cache: str = "warm"  # warm or cold
    dtype: str = ""  # empty: not known
    op: str = ""  # empty: not known
    itemsize: Positive = 1  # bytes
    segment: Positive | None = None  # length of a segment; None: messages go whole, or each size has its own; elements
    ranks: tuple[Positive, ...] = ()  # measured
    ranks_per_node: NotNegative | None = None  # ranks of a node; None: not the same throughout, or not known
    size_bytes: tuple[Positive, ...] = ()  # smallest and largest measured size
    launches: int = 0
    # half width of the 90 % prediction interval of the logarithm of a time at measured ranks
    reach_log: Log | None = None
    # what is added to that for each doubling of the ranks, or of the size, beyond the measured ones
    reach_log_per_doubling: Log = 0.0
    # relative errors of the model, by in_sample, leave_one_p_out, leave_largest_p_out
    errors: dict[str, Errors] = field(default_factory=dict)
    plain_errors: dict[str, Errors] = field(default_factory=dict)  # the same of the uniform alpha-beta fit
    notes: tuple[str, ...] = ()  # what to know of the fit, in sentences
    grade: str = "unknown"  # the worst of the times that were fitted; see `points.with_grades`
    placement: str = "unknown"  # where vectors lay in memory: page, numpy, differences in bytes, or unknown
    # times at the smallest size, by number of ranks; empty: not known
    smallest: tuple[SizeEnd, ...] = field(default=(), metadata=LATER)
    # times at the largest size, by number of ranks; empty: not known
    largest: tuple[SizeEnd, ...] = field(default=(), metadata=LATER)
    # times at the largest measured number of ranks, by size; empty: not known
    at_most_ranks: tuple[SizeTime, ...] = field(default=(), metadata=LATER)
    # ranks up to which the winner at the largest measured number of them is kept; 0: it is not kept
    winner_kept_to: Natural = field(default=0, metadata=LATER)
    # lines of a trend, by size: times without prices; empty: the parts give the times
    trend: tuple[SizeLine, ...] = field(default=(), metadata=LATER)
    # share of the trend in the logarithm of a time; below 1, the parts have the rest
    trend_share: NotNegative = field(default=1.0, metadata=LATER)
    # uniform alpha-beta fit, for growth beyond the measured sizes; None: the schedule is not known
    uniform: ModelPart | None = field(default=None, metadata=LATER)

    @property
    def algorithm(self) -> str:
        """Return the name of the competitor without its way."""
        return Competitor(self.competitor).algorithm

    @property
    def alike(self) -> tuple[str, ...]:
        """Return what it shares with the models that it competes with."""
        return self.run, self.dtype, self.op

    def predict(self, ranks: int, size_bytes: int, terms_of: Sequence[Terms]) -> Prediction:
        """Predict the time at `ranks` and `size_bytes`, from the terms of each part there."""
        if not self.trend or self.size_end(size_bytes) != size_bytes:
            by_parts = self.by_parts(ranks, terms_of)
            return by_parts._replace(speculative=by_parts.speculative or self.is_in_gap(size_bytes))
        (time_s,) = trend_s(self.trend, np.log([ranks]), np.array([size_bytes])).tolist()
        apart_log = 0.0
        if self.trend_share < 1:
            form_s = self.by_parts(ranks, terms_of).time_s
            time_s = form_s ** (1 - self.trend_share) * time_s**self.trend_share
            apart_log = self._apart_log(time_s, form_s)
        prediction = Prediction(time_s, None, None, self.is_far(ranks) or self.is_in_gap(size_bytes), "", time_s)
        return self._with_interval(prediction, ranks, apart_log=apart_log)

    def by_parts(self, ranks: int, terms_of: Sequence[Terms]) -> Prediction:
        """Predict by the prices of the parts alone."""
        columns = [_columns(part, [terms], [ranks])[0] for part, terms in zip(self.parts, terms_of)]
        times_s = [float(row @ _values(part)) for part, row in zip(self.parts, columns)]
        time_s = min(times_s)
        least_s = min(_least_s(part, row) for part, row in zip(self.parts, columns))
        fastest = times_s.index(time_s)
        part, row = self.parts[fastest], columns[fastest]
        speculative = self.is_far(ranks)
        unidentified = _unidentified(part, row, UNKNOWN_SHARE * time_s, speculative)
        return self._with_interval(Prediction(time_s, None, None, speculative, unidentified, least_s), ranks)

    def _apart_log(self, time_s: float, form_s: float) -> float:
        """Return how far the trend and the parts are apart, as a logarithm, from a time of both and that of the parts.

        0 where one of them alone gives the time: it was shown to be closer.
        """
        return abs(log(time_s / form_s)) / self.trend_share if 0 < self.trend_share < 1 and form_s > 0 else 0.0

    def _with_interval(
        self, prediction: Prediction, ranks: int, size_doublings: float = 0.0, apart_log: float = 0.0
    ) -> Prediction:
        """Return `prediction` with its interval, which widens beyond the measured numbers of ranks and sizes.

        So it does by as much as the two models of a mean are apart: at most one of them is right.
        """
        if self.reach_log is None:
            return prediction
        beyond = max(0.0, log2(ranks / max(self.ranks))) if self.ranks else 0.0
        below = max(0.0, log2(min(self.ranks) / ranks)) if self.ranks else 0.0
        factor = exp(self.reach_log + self.reach_log_per_doubling * (beyond + below + size_doublings) + apart_log)
        return prediction._replace(low_s=prediction.time_s / factor, high_s=prediction.time_s * factor)

    def is_far(self, ranks: int) -> bool:
        """Return whether so many ranks are beyond FAR times the measured ones."""
        return bool(self.ranks) and not min(self.ranks) / FAR <= ranks <= FAR * max(self.ranks)

    def is_in_gap(self, size_bytes: int) -> bool:
        """Return whether a size lies between the measured ones, beyond MOST_SIZE times the nearest of them.

        As far as the sizes are known: those at the largest number of ranks.
        """
        ratios = [one.size_bytes / size_bytes for one in self.at_most_ranks]
        lower, upper = [ratio for ratio in ratios if ratio <= 1], [ratio for ratio in ratios if ratio >= 1]
        return bool(lower and upper) and max(lower) * MOST_SIZE < 1 and min(upper) > MOST_SIZE

    def size_end(self, size_bytes: int) -> int:
        """Return the measured size nearest to `size_bytes`; itself if it lies between them, or none is known.

        A trend knows the sizes of its lines.
        """
        known = [line.size_bytes for line in self.trend] or self.size_bytes
        return min(max(size_bytes, min(known)), max(known)) if known else size_bytes

    def beyond(self, ranks: int, size_bytes: int, terms_of: Sequence[Terms], end_terms: Sequence[Terms]) -> Prediction:
        """Predict a size beyond the measured ones, from the terms of each part there and at the end of these.

        The model is shifted to the times that were measured at the end, and its interval widens with the distance. Its
        growth is the geometric mean of that of the parts and another one: for a known schedule that of the uniform fit,
        as a knot far from the end may mislead; for a library, which may switch its algorithm, that of the times there.
        Below, on fewer or more ranks than have times at the end, it becomes the geometric mean of its parts and of the
        uniform fit instead, in full from a factor of 2 on: what other ranks are off there tells less.
        """
        end = self.size_end(size_bytes)
        doublings = abs(log2(size_bytes / end))
        ends = self.largest if size_bytes > end else self.smallest
        off_log, growth = _at_end(ends, ranks)
        alone, at_end = self.by_parts(ranks, terms_of), self.by_parts(ranks, end_terms)
        if not alone.time_s or not at_end.time_s:
            return self._with_interval(alone._replace(speculative=True, size_factor=2**doublings), ranks, doublings)
        rise = log(alone.time_s / at_end.time_s)
        other_rise = rise if growth is None else growth * log(size_bytes / end)
        if self.uniform is not None:
            uniform_s = [seconds(self.uniform, [terms], [ranks])[0] for terms in (terms_of[0], end_terms[0])]
            other_rise = log(uniform_s[0] / uniform_s[1]) if min(uniform_s) > 0 else rise
        full_doublings = FULL_DOUBLINGS if growth is None else 1.0
        wider = BELOW_WIDER if size_bytes < end else 1.0 if growth is None else LIBRARY_WIDER
        shift = off_log * min(1.0, doublings / full_doublings) + (other_rise - rise) / 2
        is_told = not ends or min(one.ranks for one in ends) <= ranks <= max(one.ranks for one in ends)
        if self.uniform is not None and size_bytes < end and not is_told and uniform_s[0] > 0:
            shift = min(1.0, doublings) / 2 * log(uniform_s[0] / alone.time_s)
        apart_log = 0.0
        if self.trend:
            by_both_s = self.predict(ranks, end, end_terms).time_s
            shift += log(by_both_s / at_end.time_s)
            apart_log = self._apart_log(by_both_s, at_end.time_s)
        shifted = alone.changed(lambda time_s: time_s * exp(shift))
        shifted = shifted._replace(speculative=True, size_factor=2**doublings)
        return self._with_interval(shifted, ranks, wider * doublings, apart_log)


def without_rates_above(model: Model, rate_bytes_per_s: float) -> Model:
    """Return `model` with each beta between nodes whose rate a node's link does not have as not identified, and why.

    Only where these links are told apart from those within nodes, or a node has one rank.
    """
    changed, rates = [], []
    for part in model.parts:
        parameters = []
        for one in part.parameters:
            between = one.link == "between" or (not one.link and model.ranks_per_node == 1)
            is_beta = one.name == "beta_s_per_byte" and one.identified and one.value > 0
            if between and is_beta and one.value * rate_bytes_per_s * ABOVE_LINK < 1:
                rates.append(1 / one.value)
                one = one._replace(identified=False, low=None, high=max(one.high or 0.0, 1 / rate_bytes_per_s))
            parameters.append(one)
        changed.append(part._replace(parameters=tuple(parameters)))
    if not rates:
        return model
    note = (
        f"a beta that would be {format_rate(max(rates))}, beyond the {format_rate(rate_bytes_per_s)} of a node's "
        "link, is not identified"
    )
    return replace(model, parts=tuple(changed), notes=(*model.notes, note))


def _at_end(ends: Sequence[SizeEnd], ranks: int) -> tuple[float, float | None]:
    """Return how far off the model is at an end of the sizes, and the growth there, interpolated over ranks."""
    if not ends:
        return 0.0, None
    at = [log2(end.ranks) for end in ends]
    growths = [end.growth for end in ends if end.growth is not None]
    off_log = float(np.interp(log2(ranks), at, [end.off_log for end in ends]))
    return off_log, float(np.interp(log2(ranks), at, growths)) if len(growths) == len(ends) else None


def seconds(part: ModelPart, terms: Sequence[Terms], ranks: Sequence[int]) -> np.ndarray:
    """Return float64 [point]: the times of a part."""
    return _columns(part, terms, ranks) @ _values(part)


def bytes_between_s(part: ModelPart, terms: Terms, ranks: int) -> float:
    """Return the seconds for the bytes of messages between nodes, without the cost per message."""
    across = terms._replace(messages=tuple(one for one in terms.messages if one.between), reduced_nbytes=0.0)
    row = _columns(part, [across], [ranks])[0]
    is_beta = np.array([parameter.name == "beta_s_per_byte" for parameter in part.parameters], dtype=bool)
    return float((row * is_beta) @ _values(part))


def _columns(part: ModelPart, terms: Sequence[Terms], ranks: Sequence[int]) -> np.ndarray:
    """Return float64 [point, parameter]: the coefficient of each parameter, contention included."""
    return crowded(part.form, matrix(part.form, terms), np.log(np.asarray(ranks, dtype=float)), part.contention)


def _values(part: ModelPart) -> np.ndarray:
    return np.array([parameter.value for parameter in part.parameters], dtype=float)


def _least_s(part: ModelPart, row: np.ndarray) -> float:
    """Return the time with unidentified parameters set to 0; `row` as of `_columns`."""
    known = np.array([parameter.identified for parameter in part.parameters], dtype=bool)
    return float((row * known) @ _values(part))


def _unidentified(part: ModelPart, row: np.ndarray, room_s: float, is_far: bool) -> str:
    """Return `alpha`, `beta`, `alpha and beta`, or empty: unidentified parameters worth more than `room_s`.

    For messages over one kind of link, alpha is identified if an alpha or a jump is, or if a call is, which replaces it
    near the measured numbers of ranks, not far from them (`is_far`); beta if that of most of the bytes is. A part
    without any identified beta predicts no size: its beta always counts.
    """
    priced = [(number, one) for number, one in zip(row.tolist(), part.parameters) if number > 0]
    betas = [one for one in part.parameters if one.name == "beta_s_per_byte"]
    names = {"beta": bool(betas) and not any(one.identified for one in betas), "alpha": False}
    for link in LINKS:
        over = [(number, one) for number, one in priced if one.link in ("", link)]
        per_byte = [(number, one) for number, one in over if one.name == "beta_s_per_byte"]
        per_message = [(number, one) for number, one in over if one.name in ("alpha_s", "call_s")]
        most = [one for _, one in sorted(per_byte, key=itemgetter(0))[-1:]]
        names["beta"] |= any(not one.identified for one in most) and _unknown_s(per_byte) > room_s
        told = any(one.identified for _, one in per_message if one.name == "alpha_s" or not is_far)
        names["alpha"] |= bool(per_message) and not told and _unknown_s(per_message) > room_s
    return " and ".join(sorted(name for name, counts in names.items() if counts))


def _unknown_s(priced: Sequence[tuple[float, Parameter]]) -> float:
    """Return the largest change of a time by other values of its unidentified parameters.

    These may have any value from 0 to their upper bounds.
    """
    return sum(
        number * (inf if one.high is None else max(one.high - one.value, one.value))
        for number, one in priced
        if not one.identified
    )


def worst(grades: Iterable[str]) -> str:
    """Return the worst of `grades`, where an unknown one may be any but `good`; `unknown` if there is none."""
    found = set(grades)
    return next((level for level in (NOT_RELIABLE, PROVISIONAL, UNKNOWN, GOOD) if level in found), UNKNOWN)


# Lower bounds of any all-reduce on the links of these models: one-port, full duplex, no reduction in the network


class Bounds(NamedTuple):
    """Least times in seconds: of the longest chain of messages, and of all bytes through one port."""

    latency_s: float
    bandwidth_s: float


def bounds(
    models: Iterable[Model],
    ranks: int,
    nodes: int | None,
    size_bytes: int,
    nic_bytes_per_s: float | None = None,
    at_low_ends: bool = False,
) -> Bounds:
    """Return ceil(log2 p) alpha, and 2(p-1)/p n beta or, if larger, the time of a node's ports for 2(N-1)/N n.

    At the least alpha that some model found, and the least identified beta; 0 without any. One port per rank sends and
    receives at the same time, and nothing is reduced in the network (Chan et al., Concurrency and Computation 19(13),
    2007). `nic_bytes_per_s`: the rate of the single port of a node's ranks; None: a port per rank. `at_low_ends`: at
    the lower ends of the intervals of alpha and beta, instead of their estimates.
    """
    candidates, links = list(models), _links(ranks, nodes)
    nodes = nodes or ranks
    alpha = {link: _least(candidates, "alpha_s", link, at_low_ends)[0] for link in links}
    beta = {link: _least(candidates, "beta_s_per_byte", link, at_low_ends)[0] for link in links}
    messages, moved = bound_path(size_bytes, ranks)
    crossing = 2 * (nodes - 1) / ranks * size_bytes * beta.get("between", 0.0)  # 2(N-1)/N n over p/N ports of a node
    if nic_bytes_per_s:
        crossing = max(crossing, 2 * (nodes - 1) / nodes * size_bytes / nic_bytes_per_s)
    cheapest = min(alpha.values(), default=0.0), min(beta.values(), default=0.0)
    return Bounds(messages * cheapest[0], max(moved * cheapest[1], crossing))


def sources(models: Iterable[Model], ranks: int, nodes: int | None) -> dict[str, list[Model]]:
    """Return `alpha_s` and `beta_s_per_byte` -> the models that `bounds` takes them from; empty if none has any."""
    candidates, links = list(models), _links(ranks, nodes)
    return {
        name: [model for link in links if (model := _least(candidates, name, link)[1])]
        for name in ("alpha_s", "beta_s_per_byte")
    }


def _links(ranks: int, nodes: int | None) -> list[str]:
    """Return the kinds of links that so many ranks and nodes use; one rank per node if nodes are unknown."""
    nodes = nodes or ranks
    return [link for link, crossed in (("within", ranks > nodes), ("between", nodes > 1)) if crossed]


def _least(models: list[Model], name: str, link: str, at_low_ends: bool = False) -> tuple[float, Model | None]:
    """Return the least price over links of one kind, and its model; 0 if there is none.

    `at_low_ends`: the least lower end of an interval of such prices; 0 for one that is not identified.

    Jumps at knots only add to the cost of messages; slopes may fall. A beta must be identified; an alpha need not:
    beside the seconds of a call it rarely is, and the alpha of another model might be no bound.
    """
    prices = [
        (_low_end(parameter) if at_low_ends else parameter.value, model)
        for model in models
        if not model.trend  # whose prices mean nothing
        for part in model.parts
        for parameter in part.parameters
        if parameter.name == name and parameter.link in ("", link) and (name != "alpha_s" or not parameter.above)
        if (parameter.identified or name == "alpha_s") and parameter.value > 0
    ]
    return min(prices, key=itemgetter(0), default=(0.0, None))


def _low_end(parameter: Parameter) -> float:
    """Return the lower end of its interval; without one the value if identified (a given price), else 0."""
    if parameter.low is None:
        return parameter.value if parameter.identified else 0.0
    return min(parameter.low, parameter.value)
