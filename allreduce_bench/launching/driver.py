"""Without a launcher around it: starts mpirun itself for every planned launch that has cells left, and watches it."""

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from ..machine.interfaces import interfaces
from ..measuring.launcher_variables import thread_level
from ..runs.folder import RunFolder
from ..runs.plan import LEFT_OUT, Launch, Plan
from ..runs.recorder import mark
from ..runs.schema import FLOOR
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, Warned, end_with_parent
from ..watching.progress import Lines, Place
from ..watching.supervisor import ANSWER_S, Monitor, Trouble, names_of_this_node
from .find import mpirun_command, program
from .launcher import Launcher
from .layout import ranks_a_node
from .scheduler import SCHEDULERS

ON_ONE_NODE = ("openmpi", "mpich")  # unless hosts or a job say more; of others nothing is known
START_S, CELL_S = 2.0, 0.1  # a launch that has less time than its start and so much a cell is not worth it
GRACE_S = 1.5  # beyond its time, for the cell in progress
DEAD_PROCESS = re.compile(r"process rank \d+ with PID (\d+)")  # Open MPI's words; MPICH names a rank that it killed
ENDED_BY_TERM = {"openmpi": 1, "mpich": 15}  # the status of an mpirun that was asked to end, and ended its ranks
ENDING_S = 5.0  # for mpirun to end when told to


class Stopped(RuntimeError):
    """A launch that did not end well, in words."""


class Refused(RuntimeError):
    """A launch that its ranks would not measure, in words: nothing of it was written."""


class Run(NamedTuple):
    """What the launches of a run have in common."""

    folder: RunFolder
    plan: Plan
    launches: list[Launch]  # of the plan, that this process shall see to
    launcher: Launcher
    timeout_s: float  # without progress
    within_s: float | None  # for all launches together, from `started`
    started: float  # seconds since the epoch
    skip_hung: bool
    show: Callable[[Place], Lines]
    warned: Warned  # from then on no launch is started, and the one in progress ends after its cell
    program: Sequence[str] = ()  # that starts a rank; empty: the one of `environment`


def drive(run: Run) -> list[Launch]:
    """Start the pending launches one after the other; return those for which `within_s` or a warning left no time.

    Raises Stopped when a launch fails: what was measured is kept; Refused when its ranks refuse to begin.
    """
    launches, left_out = _that_fit(run, run.folder.pending(run.plan, run.skip_hung, run.launches))
    for number, launch in enumerate(launches):
        if run.warned.came:
            return launches[number:] + left_out
        deadline = None
        if run.within_s is not None:
            left = run.started + run.within_s - time.time()
            if left <= 0:
                return launches[number:] + left_out
            deadline = time.time() + left / (len(launches) - number)
        _Supervised(run, launch, Place(number + 1, len(launches), run.started, launch.ranks, deadline)).measure()
    return left_out


def _that_fit(run: Run, launches: list[Launch]) -> tuple[list[Launch], list[Launch]]:
    """The launches worth starting, one for every rank count at least, and the others."""
    if run.within_s is None or not launches:
        return launches, []
    rank_counts = len({launch.ranks for launch in launches})
    allreduces = sum(cell.executor != FLOOR for cell in run.plan.cells(launches[0]))
    shortest_s = START_S + CELL_S * allreduces
    rounds = max(1, int((run.started + run.within_s - time.time()) / (shortest_s * rank_counts)))
    return launches[: rounds * rank_counts], launches[rounds * rank_counts :]


class _Supervised:
    """One launch: mpirun, the monitor that its ranks report to, and what the user sees of it."""

    def __init__(self, run: Run, launch: Launch, place: Place):
        self.run, self.launch, self.place = run, launch, place
        self.lines = run.show(place)
        self.woken = threading.Event()  # mpirun has ended, or something is wrong
        self.muted = self.named = False  # named: mpirun told which rank died
        self.local = _on_one_node(run, launch)
        self.monitor = Monitor(
            launch.ranks,
            run.timeout_s,
            local=self.local,
            heard=self._hear,
            alarm=lambda trouble: self.woken.set(),
            pulse=self._written,
        )

    def measure(self) -> None:
        """Start it and wait for its end. Raises Stopped."""
        command = self._command()
        if self.place.number <= len({launch.ranks for launch in self.run.launches}):
            self.lines.say(shlex.join(command))
        process = self._start(command)
        self.run.warned.pass_on_to(self.monitor.warn)
        try:
            self._wait(process)
            status = process.poll()
            if status is not None:
                self.forwarding.join(1)  # the last that was said
            if status and self.monitor.all_over:
                self.lines.say(f"warning: all ranks ended well, then their launcher {how_it_ended(status)}")
                status = 0
            by_itself = status and status > 0  # below, it was mpirun that a signal ended, and with it its ranks
            if by_itself and (self.named or status != ENDED_BY_TERM.get(self.run.launcher.kind)):
                self.monitor.settle()
            self._end(process)
            self._conclude(status)
        finally:
            self._end(process)
            self.run.warned.pass_on_to(None)
            self.monitor.close()
            self.lines.close()

    def _command(self) -> list[str]:
        plan, place = self.run.plan, self.place
        inner = [*(self.run.program or program()), "measure", "--launch", self.launch.name]
        inner += ["--place", f"{place.number}/{place.planned}", "--started", f"{place.started:.0f}"]
        inner += ["--thread-level", thread_level(plan.thread_level, ranks_a_node(self.launch.ranks, plan.start))]
        if place.deadline is not None:
            inner += ["--deadline", f"{place.deadline:.1f}"]
        inner += ["--skip-hung", "yes"] if self.run.skip_hung else []
        inner += ["--", str(self.run.folder.path)]  # a name may begin with a dash
        return mpirun_command(self.run.launcher, self.launch.ranks, plan.start, inner)

    def _start(self, command: list[str]) -> subprocess.Popen:
        told = {COMMAND_VARIABLE: shlex.join(command), MONITOR_VARIABLE: self.monitor.address(names_of_this_node())}
        process = subprocess.Popen(  # without stdin: mpirun would swallow what is meant for others
            command,
            env={**os.environ, **told},
            preexec_fn=end_with_parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.forwarding = threading.Thread(target=self._forward, args=(process,), daemon=True)
        self.forwarding.start()
        threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
        return process

    def _forward(self, process: subprocess.Popen) -> None:
        """Pass on what mpirun and the ranks say, until the end is near: then mpirun only complains."""
        for line in process.stdout or ():
            if named := DEAD_PROCESS.search(line):
                self.monitor.suspect(int(named[1]))
                self.named = True
            if not self.muted:
                self.lines.say(line.rstrip("\n"))

    def _await_end(self, process: subprocess.Popen) -> None:
        process.wait()
        self.woken.set()

    def _hear(self, message: dict) -> None:
        if message["kind"] == "cell":
            self.lines.begin(message["words"])
        elif message["kind"] == "result":
            self.lines.cell(message["done"], message["cells"], message["words"], message["failed"])
        elif message["kind"] == "warned":
            self.run.warned.came = True  # they have heard of it, as when a scheduler tells all processes but this one
        elif message["kind"] == "bye" and self.monitor.all_over:
            self.woken.set()

    def _written(self) -> int:
        """Bytes that rank 0 has written so far: progress even where no rank reaches the monitor."""
        return sum(path.stat().st_size for path in self.run.folder.launches.glob(f"{self.launch.name}.*.csv"))

    def _wait(self, process: subprocess.Popen) -> None:
        """Until mpirun ends, trouble comes up, or the time of the launch is long over."""
        deadline = self.place.deadline
        if not self.woken.wait(None if deadline is None else max(0.0, deadline + GRACE_S - time.time())):
            self.monitor.ask_now()  # is the cell only long, or does a rank keep it from ending?
            self.woken.wait(ANSWER_S + 0.5)
        if self.monitor.all_over:
            patience_s = ENDING_S if self.run.warned.came else self.run.timeout_s
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.lines.say(f"warning: all ranks had ended, their launcher had not after {patience_s:g} s")

    def _end(self, process: subprocess.Popen) -> None:
        """End mpirun and, through it and through the monitor, all ranks."""
        self.muted = True
        if process.poll() is not None:
            return
        self.monitor.end_ranks()
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _conclude(self, status: int | None) -> None:
        """Keep what is known of cells that did not end.

        Raises Stopped unless the launch ended well or for its time, Refused where its ranks would not measure it.
        """
        trouble = self.monitor.trouble
        if status is not None and status < 0:
            raise Stopped(f"launch {self.launch.name}: its launcher {how_it_ended(status)}")
        if self.monitor.refusal:
            raise Refused(self.monitor.refusal)
        if trouble:
            self._mark_hung(trouble)
            raise Stopped(f"{trouble.sentence}{self._suspected_interfaces()}")
        if status is None and not self.monitor.all_over:
            self._mark_left_out()
        elif status:
            failure = self.monitor.failure
            first = f"; the first to go was {self.monitor.first_to_go}" if self.monitor.first_to_go else ""
            words = f"ended: {failure}" if failure else f"{how_it_ended(status)}{first}"
            raise Stopped(f"launch {self.launch.name} {words}")
        elif missing := self._missing():
            words = f"its launcher ended as if all were well, but {missing} cells are missing"
            raise Stopped(f"launch {self.launch.name}: {words}: a node may be gone")

    def _missing(self) -> int:
        """How many cells a launch left that should have left none: some launchers call the loss of a node a success."""
        in_haste = self.place.deadline is not None and not self.monitor.first_to_go
        if self.monitor.all_over or self.run.warned.came or in_haste:
            return 0
        return self.run.folder.missing(self.run.plan, self.launch, self.run.skip_hung)

    def _suspected_interfaces(self) -> str:
        """Where several nodes did not finish a single cell, an MPI often waits on an interface that leads nowhere."""
        if self.local or self.run.plan.start.interface or self.run.folder.finished(self.launch):
            return ""
        from ..machine.networks import reachable, way_between

        here = {"interfaces": [one._asdict() for one in interfaces()]}
        names = ", ".join(f"{one['name']} {one['address']}/{one['prefix']}" for one in reachable(here))
        return f"; interfaces here: {names or 'none'}: try --interface {way_between([here]) or 'NAME'}"

    def _mark_hung(self, trouble: Trouble) -> None:
        if trouble.hung:
            facts = {**trouble.hung["facts"], "state": "hung", "reason": trouble.sentence.split(": ", 1)[-1]}
            mark(self.run.folder, self.launch, facts)

    def _mark_left_out(self) -> None:
        """The ranks had no time left to say so themselves."""
        common = (self.monitor.cell or {}).get("facts")
        if common is None:
            return
        done = self.run.folder.finished(self.launch, self.run.skip_hung)
        for cell in self.run.plan.cells(self.launch):
            if cell.key not in done:
                own = {**asdict(cell), "nbytes": cell.count * self.run.plan.itemsize}
                mark(self.run.folder, self.launch, {**common, **own, "state": "left out", "reason": LEFT_OUT})


def _on_one_node(run: Run, launch: Launch) -> bool:
    """Whether all ranks are surely on this node, so that nobody else need reach the monitor."""
    told = run.plan.start.launcher_args or any(name in os.environ for name in SCHEDULERS.values())
    told = told or any("hostfile" in name.lower() for name in os.environ)
    one = ranks_a_node(launch.ranks, run.plan.start) == launch.ranks
    return run.launcher.kind in ON_ONE_NODE and one and not told


def how_it_ended(status: int) -> str:
    """`was ended by SIGKILL`, or `ended with status 3`."""
    number = -status if status < 0 else status - 128
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended with status {status}"
