"""Energy of a cell: a loop of its calls between two readings of each node's counters, less what the nodes take idle."""

import os
from collections.abc import Callable, Iterable
from time import perf_counter, sleep

from mpi4py import MPI

from ..executing import Prepared
from ..machine.energy import Counted, Meter, NoCount, find_counters, not_counted
from ..machine.node import host
from ..runs.plan import COUNTED_S, IDLE_S
from ..runs.schema import join_values
from ..units import few
from ..watching.lifeline import SHARED_VARIABLE
from ..watching.whereabouts import doing
from .calls import back_to_back
from .clock import Clock
from .sync import wait_quietly

SAMPLE_S = 0.1  # at most, between readings of power meters
MEMORY = "/dram"  # end of the name of a counter that may be left out
MOST_NAMED = 4  # nodes or counters in one sentence
ADVICE = "measure again; if it happens again, these counters are of no use"


class Energy:
    """The count of energy in a launch. All methods are collective, and all ranks know the same."""

    def __init__(self, comm: MPI.Comm, reads: bool):
        """Find the counters of this node, if this rank `reads` them."""
        self.comm = comm
        self._meter: Meter | None = None
        self._idle: list[Counted] = []  # of each node; empty: not yet counted
        shared = os.environ.get(SHARED_VARIABLE) if comm.rank == 0 else None  # as whoever started it told
        refused = ("these nodes", shared, "measure in a job with --exclusive") if shared else None
        if reads:
            try:
                self._meter = Meter(find_counters())
            except NoCount as error:
                refused = host(), str(error), error.advice
        self.findings = _refusals(filter(None, comm.allgather(refused)))  # why nothing is counted
        self.is_counted = not self.findings

    @property
    def facts(self) -> dict:
        """What the launch keeps of a count: the power of each idle node."""
        return {"energy": {"idle_w": [node.power_w for node in self._idle]}} if self._idle else {}

    def count_idle(self) -> list[dict]:
        """Count while nobody works, once; return findings about counters that do not count."""
        if self._idle:
            return []
        wait_quietly(self.comm)
        counted = self._count(self._rest)
        self._idle = [node for _, node in counted]
        if self._meter is not None:
            self._meter.leave_out_faulty()
        faulty = [(where, node.faults) for where, node in counted if node.faults]
        self.is_counted = all(name.endswith(MEMORY) for _, faults in faulty for name in faults)
        what = "energy is counted without some memory" if self.is_counted else "no energy is counted"
        return [_finding_of_faults(what, faulty)] if faulty else []

    def count(self, call: Prepared, clock: Clock) -> tuple[dict, list[dict], float | None]:
        """Return the columns of a cell, findings about them, and on rank 0 the seconds of a call in the loop."""
        calls, loop_s = 0, 0.0

        def repeat() -> None:
            nonlocal calls, loop_s
            batch, begun = 1, perf_counter()
            while batch := self.comm.bcast(batch):
                last = perf_counter()
                loop_s += (back_to_back(call, self.comm, clock, batch) or 0.0) * batch
                calls += batch
                self._sample()
                now = perf_counter()
                if now - begun >= COUNTED_S:
                    batch = 0
                elif now - last < SAMPLE_S / 2:
                    batch *= 2

        self.comm.Barrier()
        counted = self._count(repeat)
        if faulty := [(where, node.faults) for where, node in counted if node.faults]:
            return {}, [_finding_of_faults("no energy is counted in some cells", faulty)], loop_s / calls
        nodes = [node for _, node in counted]
        energy_j = sum(node.energy_j for node in nodes)
        idle_j = sum(idle.power_w * node.elapsed_s for idle, node in zip(self._idle, nodes))
        facts = {
            "energy_j": (energy_j - idle_j) / calls,
            "energy_idle_share": idle_j / energy_j,
            "energy_counters": join_values(dict.fromkeys(", ".join(node.counters) for node in nodes)),
        }
        return facts, [], loop_s / calls

    def _count(self, work: Callable[[], None]) -> list[tuple[str, Counted]]:
        """Return what the counters of each node count while `work` is done, with the node's name."""
        if self._meter is not None:
            self._meter.start()
        work()
        counted = None if self._meter is None else (host(), self._meter.stop())
        return [each for each in self.comm.allgather(counted) if each]

    @doing("resting, while the energy of idle nodes is counted", counts="pause")
    def _rest(self) -> None:
        for pause in range(round(IDLE_S / SAMPLE_S)):  # noqa: B007 - the monitor reads it
            sleep(SAMPLE_S)
            self._sample()

    def _sample(self) -> None:
        if self._meter is not None:
            self._meter.sample()


def _refusals(refused: Iterable[tuple[str, str, str]]) -> list[dict]:
    """Return a finding on the nodes that refuse, for the first reason; empty: none does."""
    every = list(refused)
    for _, reason, advice in every[:1]:
        hosts = few((where for where, why, _ in every if why == reason), MOST_NAMED)
        return [not_counted(f"no energy is counted on {hosts}: {reason}", advice)]
    return []


def _finding_of_faults(what: str, faulty: Iterable[tuple[str, dict[str, str]]]) -> dict:
    said = (f"{name} of {where} {fault}" for where, faults in faulty for name, fault in faults.items())
    return not_counted(f"{what}: {few(said, MOST_NAMED)}", ADVICE)
