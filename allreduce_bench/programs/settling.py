"""What one shape settles on: candidates are tried, one is chosen, and tried anew when its times leave their band."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np
from mpi4py import MPI

from .band import MOST_PATIENCE, PATIENCE, Band
from .bound import Bound
from .buffers import Vectors
from .candidates import Candidate
from .trial import Trial

VAIN = 1.1  # times the new choice: a trial that finds the former one as near as this was in vain


class Settling:
    """The calls of one shape on the ranks of `comm`; `bound` are its candidates, the same on all ranks."""

    def __init__(self, comm: MPI.Comm, bound: Sequence[Bound]):
        self._comm, self._bound = comm, bound
        self._trial: Trial | None = Trial(len(bound)) if len(bound) > 1 else None
        self._chosen, self._run = 0, bound[0].run
        self._untimed = 0  # calls, until the next one that is timed
        self._band: Band | None = None  # None: there is nothing else to take
        self._patience = PATIENCE
        self.trial_calls = 0

    @property
    def settled(self) -> Candidate | None:
        """What is called from now on; None: it is being tried."""
        return None if self._trial else self._bound[self._chosen].candidate

    def call(self, vectors: Vectors) -> None:
        """Once, on all ranks."""
        if self._untimed > 0:
            self._untimed -= 1
            self._run(vectors)
        elif self._trial is not None:
            self._call_on_trial(self._trial, vectors)
        elif self._band is None:
            self._run(vectors)
        else:
            begun = perf_counter()
            self._run(vectors)
            if (times := self._band.take(perf_counter() - begun)) is not None:
                self._look(self._band, times)

    def close(self) -> None:
        """Free what MPI holds for the candidates."""
        for bound in self._bound:
            bound.close()

    def _call_on_trial(self, trial: Trial, vectors: Vectors) -> None:
        """A barrier frees the time from the lateness of others; what counts is that of the slowest rank."""
        self._comm.Barrier()
        begun = perf_counter()
        self._bound[trial.turn].run(vectors)
        times = trial.take(perf_counter() - begun)
        self.trial_calls += 1
        if times is None:
            return
        self._comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
        trial.decide(times)
        for number, bound in enumerate(self._bound):
            if number not in trial.left:
                bound.close()
        if trial.winner is not None:
            self._settle(trial, trial.winner)

    def _settle(self, trial: Trial, winner: int) -> None:
        typical_s = trial.typical_s(winner)
        is_vain = self._band is not None and trial.typical_s(self._chosen) <= VAIN * typical_s
        self._patience = min(2 * self._patience, MOST_PATIENCE) if is_vain else PATIENCE
        self._chosen, self._trial = winner, None
        self._run = self._bound[winner].run
        self._band = Band(typical_s, self._patience)
        self._untimed = self._band.untimed

    def _look(self, band: Band, times: np.ndarray) -> None:
        """At the end of a window: the least time over all ranks of each call is that of who came last."""
        self._comm.Allreduce(MPI.IN_PLACE, times, MPI.MIN)
        if band.is_left(times):
            self._trial = Trial(len(self._bound))
        else:
            self._untimed = band.untimed
