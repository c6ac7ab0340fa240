"""One launch of a run: its launcher is started, watched through the supervisor, and ended; its bad end gets a cause."""

import os
import shlex
import subprocess
import threading
import time
from dataclasses import asdict

from ..machine.interfaces import likely_way, reachable
from ..machine.shared_memory import small_shared_memory
from ..machine.variables import drop_values
from ..measuring.command import RankArguments
from ..measuring.startup import thread_level
from ..runs.cell import ALL_FORCED
from ..runs.competitor import FORCED_PREFIX
from ..runs.library_algorithms import variables_at_start
from ..runs.plan import TIME_USED_UP, Launch
from ..runs.recorder import mark_unfinished_cell
from ..units import counted
from ..watching.progress import LaunchPosition, ProgressLines
from ..watching.watch import START_FACTOR
from .find import mpirun_command, own_command
from .launcher import on_one_node
from .layout import START_S, ranks_a_node, ranks_on_same_cores, start_s
from .patience import ANSWER_S
from .supervisor import Supervisor
from .this_start import Run, ThisStart
from .tied_process import ENDING_S, how_it_ended, interrupts_put_off
from .watched_launch import OF_STARTING, LaunchFailed, LaunchRefused, WatchedLaunch

GRACE_S = 1.5  # seconds beyond a launch's time, for the cell in progress


def measure_launch(start: ThisStart, run: Run, launch: Launch, position: LaunchPosition, lines: ProgressLines) -> bool:
    """Run the launch; return whether any of its cells was measured. Raises LaunchFailed, LaunchRefused."""
    return _MeasuredLaunch(start, run, launch, position, lines).measure()


class _MeasuredLaunch:
    """A launch in progress."""

    def __init__(self, start: ThisStart, run: Run, launch: Launch, position: LaunchPosition, lines: ProgressLines):
        self.start, self.run, self.launch, self.position, self.lines = start, run, launch, position, lines
        self.woken = threading.Event()  # the launcher has ended, or something is wrong
        self.is_muted = False
        self.held_back: list[str] = []  # lines about its daemons, said only if the launch fails
        self.local = on_one_node(run.launcher, launch.ranks, run.plan.start, os.environ)
        self.supervisor = Supervisor(
            launch.ranks,
            start.control.timeout_s,
            local=self.local,
            on_message=self._take_message,
            on_trouble=lambda trouble: self.woken.set(),
            pulse=self._written_nbytes,
            start_s=START_FACTOR * (start_s(launch.ranks, run.plan.start) - START_S),
        )
        self.patience = self.supervisor.patience

    def measure(self) -> bool:
        """Run it; see `measure_launch`."""
        watched, warning = None, self.start.warning
        try:
            command = self._command()
            if self.start.control.verbose:
                self.lines.say(shlex.join(drop_values(command)))
            with interrupts_put_off():
                watched = WatchedLaunch(self.supervisor, command, self._variables(), self._read_line, self.woken.set)
            warning.forward_to(self.supervisor.warn)
            self._wait(watched.process)
            status = watched.status(self.run.launcher.kind)
            if status and self.patience.all_over:
                self.lines.say(f"warning: all ranks finished, but their launcher {how_it_ended(status)}")
                status = 0
            self._end(watched)
            if status and not self.patience.refusal:
                self._say_held_back()
            self._conclude(status, watched.first_words)
            return bool(self.run.folder.finished(self.launch))
        finally:
            if watched is not None:
                self._end(watched)
            warning.forward_to(None)
            self.supervisor.close()
            self.lines.close()

    def _command(self) -> list[str]:
        plan, position = self.run.plan, self.position
        arguments = RankArguments(
            folder=self.run.folder.path,
            launch=self.launch.name,
            number=position.number,
            planned=position.planned,
            started=position.started,
            thread_level=thread_level(plan.thread_level, ranks_on_same_cores(self.launch.ranks, plan.start)),
            deadline=position.deadline,
            skip_hung=self.start.control.skip_hung,
        )
        rank_command = [*own_command(), "measure", *arguments.words()]
        return mpirun_command(self.run.launcher, self.launch.ranks, plan.start, rank_command)

    def _variables(self) -> dict[str, str]:
        if self.launch.forced in ("", ALL_FORCED):
            return {}
        return dict(variables_at_start(FORCED_PREFIX + self.launch.forced, self.run.launcher.library))

    def _read_line(self, line: str) -> None:
        """Forward a line of the launcher and the ranks until the launch is ended or refused: mpirun then complains."""
        if self.is_muted or self.patience.refusal:
            return
        if OF_STARTING.search(line) and not self.start.control.verbose:
            self.held_back.append(line.rstrip("\n"))
        else:
            self.lines.say(line.rstrip("\n"))

    def _say_held_back(self) -> None:
        for line in self.held_back:
            self.lines.say(line)

    def _take_message(self, message: dict) -> None:
        if message["kind"] == "cell":
            self.lines.begin(message["words"])
        elif message["kind"] == "result":
            self.lines.cell(message["done"], message["cells"], message["words"], message["failed"])
        elif message["kind"] == "warned":
            self.start.warning.is_set = True  # a scheduler warned the ranks, but not this process
        elif message["kind"] == "bye" and self.patience.all_over:
            self.woken.set()

    def _written_nbytes(self) -> int:
        """Return the bytes that rank 0 has written so far: progress even if no rank reaches the supervisor."""
        return sum(path.stat().st_size for path in self.run.folder.launches.glob(f"{self.launch.name}.*.csv"))

    def _wait(self, process: subprocess.Popen) -> None:
        """Wait until mpirun ends, trouble arises, or the launch's time is over, plus GRACE_S for a cell in progress."""
        deadline = self.position.deadline
        is_over = not self.woken.wait(None if deadline is None else max(0.0, deadline - time.time()))
        if is_over and self.patience.cell and not self.woken.wait(GRACE_S):
            self.supervisor.ask_now()  # is the cell only long, or does a rank hang?
            self.woken.wait(ANSWER_S + 0.5)
        if self.patience.all_over:
            patience_s = ENDING_S if self.start.warning.is_set else self.start.control.timeout_s
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.lines.say(f"warning: all ranks finished, their launcher was still running after {patience_s:g} s")

    def _end(self, watched: WatchedLaunch) -> None:
        self.is_muted = True
        watched.end()

    def _conclude(self, status: int | None, first_words: str) -> None:
        """Record unfinished cells, and raise the cause of a bad end.

        Raises LaunchFailed unless the launch ended well or by its time limit, LaunchRefused if its ranks refused it.
        """
        trouble = self.supervisor.trouble
        if status is not None and status < 0:
            raise LaunchFailed(f"launch {self.launch.name}: its launcher {how_it_ended(status)}")
        if self.patience.refusal:
            raise LaunchRefused(self.patience.refusal)
        if trouble:
            if trouble.row:
                mark_unfinished_cell(self.run.folder, self.launch, trouble.row)
            raise LaunchFailed(f"{trouble.sentence}{self._suspected_memory() or self._suspected_interfaces()}")
        if status is None and not self.patience.all_over:
            self._mark_left_out()
        elif status:
            failure = self.patience.failure
            first = f"; the first rank lost was {self.patience.first_to_go}" if self.patience.first_to_go else ""
            ending = f"ended: {failure}" if failure else f"{how_it_ended(status)}{first}"
            has_begun = bool(self.patience.ranks)
            said = "" if has_begun or not first_words else f"; its launcher said: {first_words}"
            raise LaunchFailed(f"launch {self.launch.name} {ending}{said}", chance=has_begun)
        elif missing := self._missing():
            reason = f"its launcher reported success, but without {counted(missing, 'cell')}: a node may have failed"
            raise LaunchFailed(f"launch {self.launch.name}: {reason}")

    def _missing(self) -> int:
        """Return the number of cells missing after a reported success: some launchers hide the loss of a node."""
        is_limited = self.position.deadline is not None and not self.patience.first_to_go
        if self.patience.all_over or self.start.warning.is_set or is_limited:
            return 0
        return self.run.folder.cells_left(self.run.plan, self.launch, self.start.control.skip_hung)

    def _suspected_memory(self) -> str:
        """Return finding and advice if this node has too little shared memory: then ranks die of SIGBUS."""
        small = small_shared_memory(ranks_a_node(self.launch.ranks, self.run.plan.start))
        return f"; {small['text']}: {small['effect']}; {small['advice']}" if small else ""

    def _suspected_interfaces(self) -> str:
        """Return advice if several nodes finished no cell: often the MPI waits on an unreachable interface."""
        if self.local or self.run.plan.start.interface or self.run.folder.finished(self.launch):
            return ""
        return f"; {_suggested_interface()}"

    def _mark_left_out(self) -> None:
        """Mark the remaining cells as left out: the ranks had no time left to do so themselves."""
        facts_of_launch = (self.patience.cell or {}).get("facts")
        if facts_of_launch is None:
            return
        done = self.run.folder.finished(self.launch, self.start.control.skip_hung)
        for cell in self.run.plan.cells(self.launch):
            if cell.key not in done:
                facts_of_cell = asdict(cell)
                facts = {**facts_of_launch, **facts_of_cell}
                mark_unfinished_cell(
                    self.run.folder, self.launch, {**facts, "state": "left out", "reason": TIME_USED_UP}
                )


def _suggested_interface() -> str:
    """Return `interfaces here: eth0 10.0.0.1: try --interface eth0` for this node."""
    ways = reachable()
    named = ", ".join(f"{way.name} {way.address}" for way in ways) or "none"
    return f"interfaces here: {named}: try --interface {likely_way(ways)}"
