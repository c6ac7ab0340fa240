"""`run` under mpirun or srun: the started ranks measure one launch."""

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from ..launching.launcher import interface_variables
from ..launching.unattended import fuse, guard
from ..machine.mpi import library_name
from ..machine.variables import drop_values
from ..measuring.started import Opened, StartedRanks
from ..measuring.startup import hold_back_mpi, rank_of, ranks_on_this_node, refuse_lone_ranks, start_mpi, thread_level
from ..measuring.transport import asked_transport
from ..runs.command_of_plan import to_continue
from ..runs.control import Control
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..runs.library_algorithms import NAMES, settings_of
from ..runs.plan import Launch, Plan, PlanError
from ..runs.start import split_variables
from ..units import counted, in_ranks
from ..watching.lifeline import WarningFlag
from ..watching.progress import LaunchPosition
from ..watching.watch import Watch
from .request import Request, open_run, refuse_under_launcher
from .types import INTERRUPTED, talk

if TYPE_CHECKING:
    from mpi4py import MPI

ENDING = (signal.SIGINT, signal.SIGTERM)
SPEAKING_S = 1.0  # time for rank 0 to print its line
WAKING_S = 0.1  # time for a stopped rank 0 to learn that another rank was named, and to stay silent


def run_as_rank(request: Request) -> None:
    """Measure as one of the ranks that were started, then exit. Raises OneLineError, PlanError."""
    refuse_under_launcher(request.asked)
    options = request.options
    os.environ.update(interface_variables(options["interface"], os.environ))  # before MPI reads them
    os.environ.update(split_variables(options["variables"]))
    warning, last_words = WarningFlag(), LastWords()
    warning.listen()  # before MPI starts, and before the fuse runs in a process of its own
    if rank_of(os.environ) == 0 and "SLURM_JOB_ID" in os.environ:
        from .in_job import tell_switches  # late: the first rank alone asks Slurm

        tell_switches()  # also before MPI starts, which does not tolerate new processes
    if rank_of(os.environ) == 0 and (options["energy"] or request.control.resume):
        from .in_job import tell_sharing  # late, as above

        tell_sharing()
    put_out = fuse(request.control.timeout_s, rank_of(os.environ))
    hold_back_mpi()
    from ..measuring.rank import take_part  # late, as the next: it imports MPI

    last_words.listen()  # the fuse is lit
    with asked_transport() as transport:
        start_mpi(thread_level(options["thread_level"], ranks_on_this_node(os.environ)))
    from mpi4py import MPI

    refuse_lone_ranks(MPI.COMM_WORLD.size, os.environ)
    control, started, ranks = request.control, time.time(), MPI.COMM_WORLD.size
    deadline = None if control.within_s is None else started + control.within_s
    start = RanksByHand(
        request=request,
        control=control,
        last_words=last_words,
        put_out=put_out,
        command=shlex.join(drop_values(sys.orig_argv)),
        position=LaunchPosition(1, 1, started, ranks, deadline),
        skip_hung=control.skip_hung,
        transport=transport.words,
        warning=warning,
    )
    sys.exit(take_part(start))


class LastWords:
    """The message of an interrupted launch: rank 0 prints one line; then this process ends with INTERRUPTED.

    A thread prints it, since the main thread may be inside an MPI call, where Python handles no signals. Finished
    cells are on the disk by then, as after any other end.
    """

    def __init__(self) -> None:
        self.folder: RunFolder | None = None  # of the run, as soon as rank 0 has opened it

    def listen(self) -> None:
        """End this process on SIGINT and SIGTERM, which an interrupted mpirun or srun sends."""
        self._woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in ENDING:
            signal.signal(number, lambda number, frame: None)  # the thread does it
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while (byte := os.read(self._woken, 1)) and byte[0] not in ENDING:
            pass
        if rank_of(os.environ) == 0:
            time.sleep(WAKING_S)
            kept = f"; finished cells are kept; {to_continue(self.folder)}" if self.folder else ""
            os.write(2, f"error: interrupted{kept}\n".encode())
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # silences messages that other ranks are gone
        time.sleep(SPEAKING_S)  # the first process that ends makes mpirun end the others
        os._exit(INTERRUPTED)


@dataclass(kw_only=True)
class RanksByHand(StartedRanks):
    """Ranks that mpirun or srun started: they watch themselves, and rank 0 prints the table."""

    request: Request
    control: Control
    last_words: LastWords
    put_out: Callable[[], object]  # of the fuse: until then it ends ranks that do not come together

    def open_run(self) -> Opened:
        """Return the run that these ranks start or resume, and its next launch of as many; None: no launch is left."""
        from mpi4py import MPI

        ranks, version, control = MPI.COMM_WORLD.size, MPI.Get_library_version(), self.control
        one_launch = {} if "launches" in self.request.asked else {"launches": 1}  # the one of these ranks
        request = self.request.deciding(ranks=(ranks,), **one_launch)
        folder, plan = open_run(replace(request, library=partial(library_name, version)))
        self.last_words.folder = folder
        if ranks not in plan.ranks:
            raise PlanError(f"{folder.path}: planned for {plan.ranks} ranks, but started with {ranks}")
        launches = [launch for launch in chosen_launches(plan, control.only) if launch.ranks == ranks]
        if not launches:
            raise PlanError(f"--only {control.only}: no launch with {ranks} ranks")
        launch = next(iter(folder.pending(plan, control.skip_hung, launches)), None)
        if launch is not None:
            _refuse_forced(plan, launch, library_name(version))
        return folder, plan, launch

    def watch_ranks(self, comm: "MPI.Comm", folder: RunFolder, launch: Launch, on_one_node: bool) -> Watch:
        """Watch from rank 0 and rank 1. Collective."""
        watch = guard(self.control.timeout_s, comm, folder, launch, on_one_node)
        self.put_out()
        return watch

    def look_at_library(self, comm: "MPI.Comm", folder: RunFolder, plan: Plan) -> None:
        """Identify what the library runs, as far as there is time; a failure is said. Collective."""
        if self.control.identify == "never":
            return
        from ..identifying.by_ranks import identify_here  # late: after the last timed cell

        deadline = self.position.deadline
        left_s = 0.0 if self.warning.is_set else inf if deadline is None else deadline - time.time()
        try:
            identify_here(comm, folder, plan, self.control.timeout_s, left_s)
        except (RuntimeError, ValueError, OSError) as error:
            talk(f"which algorithm the library ran on {in_ranks([comm.size])} is not identified: {error}")

    def finish_run(self, folder: RunFolder, plan: Plan) -> str:
        """Finish the run as far as it is measured, and print the launches left; return the failures, empty: none."""
        from .end_of_run import end_of_run  # late: the first rank alone ends the run

        failures = end_of_run(self.control, self.warning, folder, plan)
        if failures:
            talk(f"error: {failures}")
        if left := folder.pending(plan, self.control.skip_hung, chosen_launches(plan, self.control.only)):
            names = ", ".join(launch.name for launch in left)
            is_near_limit = self.warning.is_set
            reason = "the job is near its time limit" if is_near_limit else "each mpirun measures one launch"
            talk(f"{reason}; left: {names}; {to_continue(folder, self.control.only)}")
            if is_near_limit:
                return failures or f"left: {counted(len(left), 'launch')}"
        return failures


def _refuse_forced(plan: Plan, launch: Launch, library: str) -> None:
    """Raise ValueError if the library of these ranks cannot be told now to use an algorithm of the launch."""
    forced = [name for name in plan.competitors_in(launch) if name in NAMES]
    for name in forced:
        settings_of(name, library, 1)
    if forced and not plan.forced_launches:
        talk(
            "the library's own algorithms take turns with all others in these ranks, which are one start; run without "
            "mpirun gives them launches of their own"
        )
