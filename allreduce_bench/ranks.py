"""What every rank of one launch does, from MPI's start to its end. A rank that fails ends all of them."""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from mpi4py import MPI

from .environment import mpi_facts
from .plan import Launch, Plan
from .planned import algorithms_of
from .recorder import Recorder
from .runfolder import RunError, RunFolder
from .sweep import enter, facts_of, sweep
from .units import format_duration

Opened = tuple[RunFolder, Plan, Launch | None]  # None: nothing is left to measure


class Place(NamedTuple):
    """Where this launch stands in its run."""

    number: int
    planned: int
    started: float  # of the run, seconds since the epoch


def take_part(
    open_run: Callable[[], Opened],
    close_run: Callable[[RunFolder, Plan], object],
    command: str,
    place: Place,
    deadline: float | None,
) -> int:
    """Measure one launch with all ranks of COMM_WORLD; only rank 0 calls `open_run` and `close_run` and touches files.

    Returns the exit status: 0, 1 after a failed check, 2 where rank 0 could not open the run.
    """
    comm = MPI.COMM_WORLD
    try:
        opened = _opened(comm, open_run)
        if opened is None:
            return 2
        folder, plan, launch = opened
        failed = 0 if launch is None else _measure(comm, folder, plan, launch, command, place, deadline)
        if comm.rank == 0:
            close_run(folder, plan)
        _wait_for_rank_0(comm)
        return 1 if failed else 0
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        print(f"error: rank {comm.rank} of {comm.size}: {why}; finished cells are kept", file=sys.stderr, flush=True)
        comm.Abort(1)
        raise


def _wait_for_rank_0(comm: MPI.Comm) -> None:
    """Wait without taking the processor away from rank 0, which works alone; MPI's own waiting would spin."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.001)


def _opened(comm: MPI.Comm, open_run: Callable[[], Opened]) -> Opened | None:
    result = None
    if comm.rank == 0:
        try:
            opened = open_run()
            _refuse_to_mix(comm, *opened)
            result = opened
        except (ValueError, OSError) as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
    _wait_for_rank_0(comm)
    return comm.bcast(result)


def _refuse_to_mix(comm: MPI.Comm, folder: RunFolder, plan: Plan, launch: Launch | None) -> None:
    """Raises RunError where this launch would mix with what other launches of its run were, or is not what it seems."""
    algorithms_of(plan)
    if launch is not None and launch.ranks != comm.size:
        raise RunError(
            f"launch {launch.name}: expected {launch.ranks} ranks, but MPI sees {comm.size}; "
            "the mpirun that started them belongs to another MPI than mpi4py's"
        )
    here = mpi_facts()
    for fact in folder.attempts():
        for key in ("library", *(["thread_level"] if fact["ranks"] == comm.size else [])):
            if fact["mpi"].get(key) != here[key]:
                there = f"{fact['mpi'].get(key)} in launch {fact['launch']}"
                raise RunError(f"{folder.path}: was measured with {there}, but this is {here[key]}; begin a new run")


def _measure(comm, folder: RunFolder, plan: Plan, launch: Launch, command, place: Place, deadline) -> int:
    launched = enter(comm, plan, launch, deadline)
    facts = facts_of(comm, launched, command, first=place.number == 1)
    recorder, finished = None, set()
    if facts is not None:
        finished = folder.finished(launch.name)
        recorder = Recorder(folder, launch.name, facts)
        warnings = [finding for finding in facts["findings"] if finding["level"] != "info" and launch.number == 1]
        for finding in warnings:
            print(f"warning: {finding['text']}; {finding['effect']}", file=sys.stderr, flush=True)
    return sweep(launched, recorder, finished, _Progress(place, launch, deadline))


class _Progress:
    """Says on stderr, at most once a second, how far the run is; a failed check is said at once."""

    def __init__(self, place: Place, launch: Launch, deadline: float | None):
        self.place, self.launch, self.deadline = place, launch, deadline
        self.began, self.said = time.time(), 0.0

    def __call__(self, done: int, cells: int, words: str, failed: bool) -> None:
        now = time.time()
        if now - self.said < 1 and done < cells and not failed:
            return
        self.said = now
        this = (now - self.began) / done * (cells - done)
        others = (now - self.began) / done * cells * (self.place.planned - self.place.number)
        if self.deadline is not None:
            this = min(this, max(0.0, self.deadline - now))
        ranks = "1 rank" if self.launch.ranks == 1 else f"{self.launch.ranks} ranks"
        print(
            f"launch {self.place.number}/{self.place.planned} ({ranks})  cell {done}/{cells}  "
            f"{format_duration(now - self.place.started)} gone, {format_duration(this + others)} left  {words}",
            file=sys.stderr,
            flush=True,
        )
