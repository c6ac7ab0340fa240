"""Gamma, the seconds to reduce a byte: it needs more than one algorithm.

In any single algorithm the reduced bytes are proportional to the moved ones, so that beta includes both. Two algorithms
that reduce different shares of what they move (ring: half, recursive doubling: all) separate them, if one alpha, one
beta and one gamma hold for both; or a local reduction measured beside them does.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..runs.competitor import FLOOR_PREFIX, Competitor
from .fitting import estimates, fit_form, separable, solve
from .forms import Form, Meaning, Observations, TermColumns
from .model import Parameter
from .points import TooFewPoints
from .series import FittedSeries
from .terms import Terms

JOINT = "joint"
MOST_CONDITION = 100.0
APART = 0.25  # median error above which one alpha, beta and gamma do not describe all


class Joint(NamedTuple):
    """Common alpha, beta and gamma of several algorithms of one run and way."""

    run: str  # empty: one without a name
    competitors: tuple[str, ...]  # names of those that share the parameters, all run one way
    parameters: tuple[Parameter, ...]  # gamma last
    condition: float  # condition number of the fit
    median_error: float  # median of |model / measured - 1|, in sample

    @property
    def gamma(self) -> Parameter:
        """Return gamma, in s/byte."""
        return self.parameters[-1]


def joints(fitted: Sequence[FittedSeries]) -> tuple[list[Joint], list[str]]:
    """Return the joint fits of the runs and ways in `fitted`, and sentences about those without one."""
    members_of: dict[tuple, list[FittedSeries]] = {}
    for member in fitted:
        if not member.observed.switches:
            model = member.model
            alike = (model.run, Competitor(model.competitor).way, model.dtype, model.op)
            members_of.setdefault(alike, []).append(member)
    joint_fits, refusals = [], []
    for members in members_of.values():
        try:
            joint_fits.append(joint(members))
        except TooFewPoints as error:
            refusals.append(f"{members[0].model.run}: {error}".removeprefix(": "))
    return joint_fits, refusals


def joint(members: Sequence[FittedSeries]) -> Joint:
    """Fit common alpha, beta and gamma to series of one run, way, dtype and operation.

    Raises TooFewPoints for a single algorithm, or algorithms that reduce the same share of what they move.
    """
    names = [member.model.competitor for member in members]
    priced = {member.model.parts[0].priced_as for member in members}
    if len(priced) < 2:
        raise TooFewPoints(
            f"gamma cannot be separated from beta with one algorithm ({', '.join(sorted(priced))}): beta holds both; "
            "measure an algorithm with another ratio of reduced to sent bytes, such as ring and recursive_doubling"
        )
    observed = _together(members)
    everything = np.ones(len(observed.ranks), dtype=bool)
    fit = fit_form(observed, JOINT, Form(reduced=True), everything)
    estimated = estimates(observed, fit)
    (part,), error = estimated.parts, np.abs(np.expm1(fit.log_time(observed) - observed.log_time))
    if estimated.condition > MOST_CONDITION or not part.parameters[-1].identified:
        raise TooFewPoints(
            f"gamma is not identified by {' and '.join(names)} (condition number {estimated.condition:.2g}): at most "
            f"{part.parameters[-1].high:.2g} s/byte"
        )
    if np.median(error) > APART:
        raise TooFewPoints(
            f"one alpha, beta and gamma do not describe {' and '.join(names)} together: half of the cells are off by "
            f"{np.median(error):.0%} or more"
        )
    first = members[0].model
    return Joint(first.run, tuple(names), part.parameters, estimated.condition, float(np.median(error)))


def local_gamma(size_bytes: np.ndarray, time_s: np.ndarray) -> Parameter:
    """Fit gamma to local reductions (float64 [point]: bytes, seconds), as the slope over size; without an interval.

    Raises TooFewPoints for fewer than three sizes.
    """
    usable = (size_bytes > 0) & (time_s > 0)
    if len(set(size_bytes[usable].tolist())) < 3:
        raise TooFewPoints("gamma of a local reduction needs three sizes or more")
    columns = np.column_stack([np.ones(usable.sum()), size_bytes[usable]])
    log_time = np.log(time_s[usable])
    solution = solve(columns, log_time)
    identified = bool(separable(columns / np.exp(log_time)[:, None])[1] and solution.theta[1] > 0)
    return Parameter(*Meaning("gamma_s_per_byte", "", 0.0), float(solution.theta[1]), None, None, identified)


class LocalGamma(NamedTuple):
    """Gamma of the reduce floor of one run: a local reduction, without messages."""

    run: str
    ranks: int  # ranks that reduced at the same time
    gamma: Parameter  # price of a byte of a local reduction


def local_gammas(points: pd.DataFrame) -> list[LocalGamma]:
    """Return gamma of each run in `points` (columns as in POINTS, with floors) that has at least three floor sizes.

    At the fewest measured ranks, which compete least for memory.
    """
    floors = points[(points["competitor"] == f"{FLOOR_PREFIX}reduce") & (points["cache"] == "warm")]
    gammas = []
    for run, of_run in floors.groupby("run", sort=False):
        fewest = of_run[of_run["ranks"] == of_run["ranks"].min()]
        medians = fewest.groupby("size_bytes")["time_s"].median()
        try:
            gamma = local_gamma(medians.index.to_numpy(float), medians.to_numpy(float))
        except TooFewPoints:
            continue
        gammas.append(LocalGamma(str(run), int(fewest["ranks"].iloc[0]), gamma))
    return gammas


def _together(members: Sequence[FittedSeries]) -> Observations:
    """Join the cells of all members, each priced as its own algorithm."""
    launches = max(len(member.observed.logs) for member in members)
    logs: list[np.ndarray] = []
    terms: list[Terms] = []
    for member in members:
        own_logs, priced_as = member.observed.logs, member.model.parts[0].priced_as
        logs.append(np.pad(own_logs, ((0, launches - len(own_logs)), (0, 0)), constant_values=np.nan))
        terms += member.observed.paths[priced_as].terms
    ranks = np.concatenate([member.observed.ranks for member in members])
    size_bytes = np.concatenate([member.observed.size_bytes for member in members])
    return Observations(ranks, size_bytes, np.hstack(logs), {JOINT: TermColumns(terms)})
