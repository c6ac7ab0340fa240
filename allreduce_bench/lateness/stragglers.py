"""Which ranks or nodes are slow, what waiting for them costs, and silence where nobody is."""

from typing import NamedTuple

import numpy as np

from .arrivals import Arrivals

RANK, NODE = "rank", "node"  # kinds of suspects

ONE_RANK = "one rank"  # nobody to compare with
TOO_FEW_STEPS = "too few steps"
BELOW_CLOCK = "below clock"  # the clocks of the ranks cannot be compared well enough
SMALL_WAIT = "small wait"  # ranks wait too little to look for a cause
BELOW_NOISE = "below noise"  # ranks wait by chance, now for one and now for another
NO_SINGLE_CAUSE = "no single cause"  # ranks differ lastingly, and none of them stands out


class Suspect(NamedTuple):
    """A rank or a node that is slow."""

    kind: str  # RANK or NODE
    ranks: tuple[int, ...]  # one, or those of the node that are late
    node: int  # number of the node
    slower_by: float  # its lateness behind the median of the others, of the step that the median rank would have
    z: float  # the same, in standard deviations (robust)
    last_share: float  # of the steps in which it (one of them) arrived last
    p_value: float  # that it arrives last so often by chance
    explains_share: float  # of the lasting wait
    cost_share: float  # of the time of all steps: what is saved where its arrivals are replaced by the others' median
    saved_s: float  # the same in seconds, over all steps
    from_step: int  # the first step in which it was slow
    to_step: int  # the step after the last one
    is_cause: bool  # it belongs to the fewest suspects that explain 80 % of the lasting wait, which is worth a word


class StragglerReport(NamedTuple):
    """What the arrivals of one job say. Shares are of the time of all steps, where nothing else is said."""

    steps: int  # that were used: those in which two ranks or more are known
    ranks: int
    last_count: np.ndarray  # int64 [rank]: steps in which it arrived last, alone
    p_value: np.ndarray  # float64 [rank]: that it is last so often by chance (binomial)
    caused_s: np.ndarray  # float64 [rank]: sum over the steps in which it was last of the distance to the second last
    suffered_s: np.ndarray  # float64 [rank]: sum over steps of its wait for the last
    skew_s: np.ndarray  # float64 [step]: last minus first
    slower_by: np.ndarray  # float64 [rank]: as of suspects, of everyone; NaN: not known
    z: np.ndarray  # float64 [rank]
    step_s: float  # median step
    undisturbed_s: float  # median step as it would be were nobody later than the median rank: `slower_by` is its share
    wait_share: float  # mean over ranks and steps of the wait
    waiting_share: float  # the same over those who wait: all ranks but the last of each step
    lasting_share: float  # part of `wait_share` due to lasting differences between ranks; the rest is chance
    idle_rank_s: float  # sum of all waits
    suspects: tuple[Suspect, ...]  # the one that explains most first
    unexplained_share: float  # of the lasting wait: what the suspects together do not explain
    cost_share: float  # what is saved where the arrivals of all suspects are replaced
    saved_s: float  # the same in seconds
    silence: str  # a code of above; empty where there are suspects
    clock_share: float  # three clock errors, of `undisturbed_s`: no smaller lateness is claimed
    noise_share: float  # the least lateness that noise lets tell, of `undisturbed_s`

    @property
    def causes(self) -> tuple[Suspect, ...]:
        """The suspects that are causes."""
        return tuple(suspect for suspect in self.suspects if suspect.is_cause)


def straggler_report(arrivals: Arrivals) -> StragglerReport:
    """Who is slow, and what it costs. Raises ValueError where shapes do not fit."""
    raise NotImplementedError
