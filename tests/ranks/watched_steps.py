"""A program whose steps sleep, under StepMonitor: over MPI, or with `--torch` over torch.distributed.

Ranks that wait sleep too, so that more ranks than cores do not slow each other. Each scenario named on the command line
is one `with`; what must hold inside the program is asserted here, what is told is read by the test.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np

from allreduce_bench import StepMonitor
from allreduce_bench.stragglers.monitor import step_monitor, watchdog
from allreduce_bench.stragglers.monitor.transport import StepMonitorError

POLL_S = 0.0002
NEVER_S = 600.0


class OverMpi:
    """An all-reduce that sleeps while it waits."""

    def __init__(self, comm=None) -> None:
        from mpi4py import MPI

        self.comm = comm or MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self._send, self._receive = np.ones(4), np.empty(4)

    sleep = staticmethod(time.sleep)

    def allreduce(self) -> None:
        request = self.comm.Iallreduce(self._send, self._receive)
        while not request.Test():
            time.sleep(POLL_S)
        assert self._receive[0] == self.size


class Played(OverMpi):
    """Ranks that sleep in seconds of their own, for which nobody waits."""

    def __init__(self, comm) -> None:
        super().__init__(comm)
        self.now_s, self._noise = 0.0, np.random.default_rng(self.rank)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds * np.exp(0.01 * self._noise.standard_normal())

    def allreduce(self) -> None:
        super().allreduce()
        self.now_s = max(self.comm.allgather(self.now_s))


class OverTorch:
    """The same over Gloo, which waits without a core."""

    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        import torch
        from torch import distributed

        try:
            StepMonitor().__enter__()
            raise AssertionError("it was entered")
        except StepMonitorError as error:
            assert str(error).endswith("torch.distributed.init_process_group() to be called before it"), error
        distributed.init_process_group("gloo")
        self.comm, self._distributed, self._torch = None, distributed, torch
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def allreduce(self) -> None:
        values = self._torch.ones(4)
        self._distributed.all_reduce(values)
        assert values[0] == self.size


def steps(job, step: StepMonitor, count: int, sleep_s: float, *, ready: bool = True) -> None:
    """So many steps."""
    for _ in range(count):
        job.sleep(sleep_s)
        if ready:
            step.ready()
        job.allreduce()
        step()


def slow(job, given) -> None:
    """A rank is slower until an alert, which comes on all ranks after the same step."""
    alerts: list = []
    count, own_s = 0, given.sleep * (1 + given.slower_by * (job.rank == given.who % job.size))
    with StepMonitor(job.comm, every=given.every, on_alert=alerts.append, log=given.lines) as step:
        while count < given.steps and not (alerts and given.until_alert):
            steps(job, step, 1, own_s)
            count += 1
    told = [(alert.kind, alert.rank) for alert in alerts]
    sys.stdout.write(f"rank {job.rank} after {count} steps: {json.dumps(told)}\n")  # at once: ranks share the pipe
    sys.stdout.flush()


def stall_from_now(job, step: StepMonitor) -> None:
    """Let rank 0 call a stall what takes two seconds; other steps may take as long as they do on busy cores."""
    if job.rank == 0:
        step._progress.stall_after_s = 2.0


def note(fact, monitor: StepMonitor, told: Path) -> None:
    """Make this file when a stall is told, after which there is no other."""
    if isinstance(fact, watchdog.Stall):
        monitor._progress.stall_after_s = NEVER_S
        told.touch()


def without(job, given) -> None:
    """A program that never calls ready()."""
    with StepMonitor(job.comm, every=5) as step:
        steps(job, step, 12, 0.001, ready=False)


def stall(job, given) -> None:
    """The last rank computes until that is told."""
    told = Path(f"{given.lines}.stall")
    options = {"log": given.lines, "on_alert": lambda fact: note(fact, monitor, told)}
    monitor = StepMonitor(job.comm, every=5, stall_after=NEVER_S, **options)
    with patch.object(watchdog, "ANSWER_S", NEVER_S), monitor as step:
        steps(job, step, 7, 0.001)
        stall_from_now(job, step)
        while job.rank == job.size - 1 and not told.exists():
            time.sleep(0.01)
        steps(job, step, 7, 0.001)


def absent(job, given) -> None:
    """The last rank leaves out an all-reduce, in which the others wait until that is told."""
    told = Path(f"{given.lines}.absent")
    monitor = StepMonitor(job.comm, every=50, stall_after=NEVER_S, on_alert=lambda fact: note(fact, monitor, told))
    with patch.object(watchdog, "ANSWER_S", NEVER_S), monitor as step:
        steps(job, step, 7, 0.001)
        step.ready()
        if job.rank == job.size - 1:
            step()
        job.comm.Barrier()
        stall_from_now(job, step)
        while job.rank == job.size - 1 and not told.exists():
            time.sleep(0.01)
        job.allreduce()
        if job.rank < job.size - 1:
            step()
        steps(job, step, 7, 0.001)


def stop(job, given) -> None:
    """The last rank is stopped by a signal, and continued by a process of its own when that is told."""
    told = Path(f"{given.lines}.stop")
    monitor = StepMonitor(job.comm, every=5, stall_after=NEVER_S, on_alert=lambda fact: note(fact, monitor, told))
    with patch.object(watchdog, "ANSWER_S", 4.0), monitor as step:
        steps(job, step, 7, 0.05)
        stall_from_now(job, step)
        if job.rank == job.size - 1:
            go_on = f'until [ -e "$0" ] || ! kill -0 {os.getppid()}; do sleep 0.1; done; kill -CONT {os.getpid()}'
            subprocess.Popen(["sh", "-c", go_on, told])
            os.kill(os.getpid(), signal.SIGSTOP)
        steps(job, step, 7, 0.001)


def leave(job, given) -> None:
    """The last rank leaves by an exception; the others come to the end."""
    monitor = StepMonitor(job.comm, every=5, log=given.lines)
    with patch.object(step_monitor, "CLOSE_S", 0.5), suppress(ArithmeticError), monitor as step:
        steps(job, step, 7, 0.001)
        if job.rank == job.size - 1:
            raise ArithmeticError


def different(job, given) -> None:
    """The ranks do not agree; each says so."""
    try:
        with StepMonitor(job.comm, every=5 + job.rank):
            raise AssertionError("it was entered")
    except StepMonitorError as error:
        assert "every must be the same on all ranks, and is 5 on rank 0, 6 on rank 1" in str(error), error


def freed(job, given) -> None:
    """A communicator that the program frees: first too early, then before the monitor begins."""
    comm = job.comm.Dup()
    step = StepMonitor(comm, every=5)
    try:
        with step:
            steps(job, step, 7, 0.001)
            comm.Free()
            step()
        raise AssertionError("nothing was noticed")
    except StepMonitorError as error:
        assert str(error) == "the communicator of this StepMonitor was freed; end its `with` before that", error
    try:
        StepMonitor(comm).__enter__()
        raise AssertionError("nothing was noticed")
    except StepMonitorError as error:
        assert "MPI.COMM_NULL: it was freed" in str(error), error


SCENARIOS = {f.__name__: f for f in (slow, without, stall, absent, stop, leave, different, freed)}


def scenario(comm, name: str, *words: str) -> tuple[str, str]:
    """Return what this rank prints in a scenario, and what it says, with options as on the command line."""
    with redirect_stdout(StringIO()) as printed, redirect_stderr(StringIO()) as said:
        job = Played(comm) if name == "slow" else OverMpi(comm)
        with patch.object(step_monitor, "perf_counter", lambda: job.now_s) if name == "slow" else nullcontext():
            SCENARIOS[name](job, parsed([name, *words]))
    return printed.getvalue(), said.getvalue()


def parsed(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="+", choices=SCENARIOS)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--lines")
    parser.add_argument("--every", type=int)
    parser.add_argument("--steps", type=int, default=1000, help="at most, of the scenario slow")
    parser.add_argument("--until-alert", action="store_true", help="end that scenario with the first alert")
    parser.add_argument("--sleep", type=float, default=0.01, help="seconds of its steps")
    parser.add_argument("--slower-by", type=float, default=1.0, help="share of its steps")
    parser.add_argument("--who", type=int, default=-1, help="the rank that is slower")
    return parser.parse_args(words)


def main() -> None:
    given = parsed(sys.argv[1:])
    job = OverTorch() if given.torch else OverMpi()
    for name in given.scenarios:
        if job.rank == 0:
            print(f"== {name}", file=sys.stderr, flush=True)
        SCENARIOS[name](job, given)
    if given.torch:
        import torch

        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
