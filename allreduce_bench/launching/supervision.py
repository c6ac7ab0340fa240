"""Launches of a run: waits for an idle machine, starts mpirun, supervises and ends it.

Idleness is checked on the node of this process only.
"""

import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import NamedTuple

from ..machine.core_load import Glance, glance
from ..machine.interfaces import interfaces, reachable, way_between
from ..machine.node import drop_values, small_shared_memory
from ..measuring.command import RankArguments
from ..measuring.startup import thread_level
from ..runs.cell import ALL_FORCED
from ..runs.competitor import FORCED_PREFIX
from ..runs.control import Control
from ..runs.folder import RunFolder
from ..runs.library_algorithms import variables_at_start
from ..runs.plan import TIME_USED_UP, Launch, Plan
from ..runs.recorder import mark_unfinished_cell
from ..units import counted, format_time, shell_word
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, WarningFlag
from ..watching.patience import ANSWER_S
from ..watching.progress import LaunchPosition, ProgressLines
from ..watching.supervisor import Supervisor, names_of_this_node
from ..watching.watch import START_FACTOR
from .find import mpirun_command, own_command
from .launcher import Launcher, on_one_node
from .layout import START_S, ranks_a_node, ranks_on_same_cores, start_s
from .tied_process import ENDING_S, end_process, how_it_ended, interrupts_put_off, start_tied

LOOK_S, SHORT_LOOK_S = 1.0, 0.5  # seconds; shorter before later launches, as the run itself keeps the node quiet
SAY_AGAIN_S = 10.0


class IdleWait:
    """Time budget for waiting, shared by all launches of a run."""

    def __init__(
        self,
        longest_s: float,
        say: Callable[[str], None] = print,
        look: Callable[[float], Glance | None] = glance,
    ):
        """Wait at most `longest_s` in total; 0: never."""
        self.left_s, self.waited_s = longest_s, 0.0
        self._say, self._look, self._look_s = say, look, LOOK_S

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Return when other processes are idle for about a second, the time is used up, or `is_over` is true.

        Meanwhile print which processes are busy.
        """
        if self.left_s <= 0:
            return
        begun, said_at, look_s = time.monotonic(), None, self._look_s
        while not is_over():
            seen, now = self._look(look_s), time.monotonic()
            if seen is None:
                self._say("warning: --wait-idle: core usage is not available on this system, so the run starts at once")
                self.left_s = 0.0
                break
            if seen.is_quiet:
                if said_at is not None:
                    self._say(f"idle after {format_time(now - begun)}: {seen.words}")
                break
            if now - begun >= self.left_s:
                self._say(f"warning: --wait-idle time is used up: {seen.words}; measuring anyway")
                break
            if said_at is None or now - said_at >= SAY_AGAIN_S:
                self._say(f"waiting for an idle machine: {seen.words}")
                said_at = now
            look_s = LOOK_S
        self._look_s, waited_s = SHORT_LOOK_S, time.monotonic() - begun
        self.left_s, self.waited_s = max(0.0, self.left_s - waited_s), self.waited_s + waited_s


# Launches of a run: each mpirun is started, watched through the supervisor, and ended
#
# `drive` does so for every planned launch with cells left, if this process was not started by a launcher itself.


GRACE_S = 1.5  # seconds beyond a launch's time, for the cell in progress
# Matches Open MPI; MPICH names a rank that it killed. A rank that calls abort may only have lost its peer
DEAD_PROCESS = re.compile(r"process rank \d+ with PID (\d+)(?!.* calling)")
# Open MPI talks of how it starts its daemons, also where all goes well
OF_STARTING = re.compile(r"\bplm[:_ ](ssh|rsh)\b|\bsetpgid\b")
ENDED_BY_TERM = {"openmpi": 1, "mpich": 15}  # exit status of an mpirun that ended its ranks on SIGTERM
CELL_S = 0.1  # seconds; a launch is skipped if less than its start-up and this time per cell is left
MOST_FAILURES = 2  # failed launches of a rank count until the rest are given up: then it is no chance


class LaunchFailed(RuntimeError):
    """Error: a launch failed; `chance`: a repetition may succeed, because some ranks had reported."""

    def __init__(self, sentence: str, chance: bool = True):
        super().__init__(sentence)
        self.chance = chance


class LaunchRefused(RuntimeError):
    """Error: the ranks refused to measure a launch; nothing of it was written."""


@dataclass(frozen=True, kw_only=True)
class SupervisedRun:
    """Settings common to the launches of a run."""

    folder: RunFolder
    plan: Plan
    launches: Sequence[Launch]  # of the plan, assigned to this process
    launcher: Launcher
    control: Control  # its time limit covers all launches, from `started`
    started: float  # seconds since the epoch
    show: Callable[[LaunchPosition], ProgressLines]
    warning: WarningFlag  # once set, no launch is started, and the current one ends after its cell
    after_first: Callable[[], object] | None = None  # called after the first measured launch if others follow


class Driven(NamedTuple):
    """Launches of a run that did not complete as planned."""

    left_out: list[Launch]  # not started: time used up, or a warning
    in_vain: list[Launch]  # time used up before a cell was measured
    failed: dict[Launch, str]  # -> the reason, with the launch's name
    given_up: list[Launch]  # after failures with the same number of ranks


class Turn(NamedTuple):
    """A launch of one of the runs whose launches alternate."""

    run: int  # its place among them
    launch: Launch


def alternate(planned: Sequence[Launch], pending: Sequence[Sequence[Launch]]) -> list[Turn]:
    """Return the pending launches of each run in turns: of each planned launch that of a, b, c, and in every second
    round that of c, b, a, so that what slows the machine down meets all of them.
    """
    runs = range(len(pending))
    return [
        Turn(index, launch)
        for launch in planned
        for index in (runs if launch.number % 2 else reversed(runs))
        if launch in pending[index]
    ]


def drive(runs: Sequence[SupervisedRun], idle_wait: IdleWait | None = None) -> list[Driven]:
    """Start the pending launches one after the other, even after a failure, while the time or a warning allows.

    Several runs have the same launches planned, and take turns; return what did not complete of each. `idle_wait`
    waits for a quiet machine before each launch; that does not count towards `within_s`. Raises LaunchRefused if the
    ranks of a launch refuse to begin.
    """
    first, idle_wait = runs[0], idle_wait or IdleWait(0.0)
    turns = alternate(
        first.launches, [run.folder.pending(run.plan, run.control.skip_hung, run.launches) for run in runs]
    )
    if turns:
        idle_wait.wait(lambda: first.warning.is_set)
    turns, left_out = _split_by_time(runs, turns, _left_s(first, idle_wait))
    driven = [Driven(left_out=[], in_vain=[], failed={}, given_up=[]) for _ in runs]
    number, hopeless = (
        0,
        set[tuple[int, int, str]](),
    )  # launches started; runs, rank counts and forced launches given up
    cells = {turn: _all_reduces(runs[turn.run].plan, turn.launch) for turn in turns}
    cells_before = 0
    after_first = first.after_first
    while turns:
        turn, *turns = turns
        index, launch = turn
        if hopeless & {(index, launch.ranks, ""), (index, launch.ranks, launch.forced)}:
            driven[index].given_up.append(launch)
            continue
        if number:
            idle_wait.wait(lambda: first.warning.is_set)
        left_s = _left_s(first, idle_wait)
        if first.warning.is_set or (left_s is not None and left_s <= 0):
            left_out = [turn, *turns, *left_out]
            break
        number += 1
        own, later = cells[turn], sum(cells[other] for other in turns)
        deadline = None if left_s is None else time.time() + left_s * own / (own + later)
        shares = cells_before / own, later / own
        position = LaunchPosition(number, number + len(turns), first.started, launch.ranks, deadline, shares)
        cells_before += own
        supervised = SupervisedLaunch(runs[index], launch, position)
        try:
            is_measured = supervised.measure()
            if is_measured and turns and after_first:
                after_first()
                after_first = None
            if not is_measured and deadline is not None:
                driven[index].in_vain.append(launch)
                turns, too_many = _one_of_each(turns)
                left_out = [*too_many, *left_out]
        except LaunchFailed as failure:
            of_launch, failed = f"launch {launch.name}", driven[index].failed
            failed[launch] = str(failure) if str(failure).startswith(of_launch) else f"{of_launch}: {failure}"
            alike = [other for other in failed if (other.ranks, other.forced) == (launch.ranks, launch.forced)]
            if not failure.chance or len(alike) == MOST_FAILURES:
                hopeless.add((index, launch.ranks, launch.forced))
            if turns:
                of_run = f"{runs[index].folder.path.name}: " if len(runs) > 1 else ""
                supervised.lines.say(f"failed: {of_run}{failed[launch]}")
    for index, launch in left_out:
        driven[index].left_out.append(launch)
    return driven


def _split_by_time(
    runs: Sequence[SupervisedRun], turns: list[Turn], left_s: float | None
) -> tuple[list[Turn], list[Turn]]:
    """Return the launches worth starting, at least one for every run and rank count, and the others.

    All runs and rank counts of one number and one forced launch, or none.
    """
    if left_s is None or not turns:
        return turns, []
    rounds = [list(alike) for _, alike in groupby(turns, lambda turn: (turn.launch.number, turn.launch.forced))]
    begun, spent_s = 0, 0.0
    for alike in rounds:
        for index, launch in alike:
            plan = runs[index].plan
            spent_s += start_s(launch.ranks, plan.start) + CELL_S * _all_reduces(plan, launch)
        if begun and spent_s > left_s:
            break
        begun += len(alike)
    return turns[:begun], turns[begun:]


def _all_reduces(plan: Plan, launch: Launch) -> int:
    """Return the cells of a launch, reference times not counted; at least 1."""
    return max(1, sum(not cell.competitor.is_reference for cell in plan.cells(launch)))


def _left_s(run: SupervisedRun, idle_wait: IdleWait) -> float | None:
    """Return the seconds left of `within_s`, or None without a limit."""
    within_s = run.control.within_s
    return None if within_s is None else run.started + idle_wait.waited_s + within_s - time.time()


def _one_of_each(turns: list[Turn]) -> tuple[list[Turn], list[Turn]]:
    """Return the first launch of every run and rank count, which share the time left, and the others; untouched ones
    first.
    """
    first: dict[tuple[int, int], Turn] = {}
    for turn in sorted(turns, key=lambda turn: turn.launch.forced != ""):
        first.setdefault((turn.run, turn.launch.ranks), turn)
    return list(first.values()), [turn for turn in turns if turn not in first.values()]


class SupervisedLaunch:
    """One launch: mpirun, the supervisor that its ranks report to, and its progress lines."""

    def __init__(self, run: SupervisedRun, launch: Launch, position: LaunchPosition):
        self.run, self.launch, self.position = run, launch, position
        self.lines = run.show(position)
        self.woken = threading.Event()  # mpirun has ended, or something is wrong
        self.is_muted = False
        self.names_dead_rank = False  # mpirun said which rank died
        self.held_back: list[str] = []  # lines about its daemons, said only if the launch fails
        self.local = on_one_node(run.launcher, launch.ranks, run.plan.start, os.environ)
        self.supervisor = Supervisor(
            launch.ranks,
            run.control.timeout_s,
            local=self.local,
            on_message=self._take_message,
            on_trouble=lambda trouble: self.woken.set(),
            pulse=self._written_nbytes,
            start_s=START_FACTOR * (start_s(launch.ranks, run.plan.start) - START_S),
        )
        self.patience = self.supervisor.patience

    def measure(self) -> bool:
        """Run the launch; return whether any of its cells was measured. Raises LaunchFailed, LaunchRefused."""
        command = self._command()
        if self.run.control.verbose:
            self.lines.say(shlex.join(drop_values(command)))
        process = None
        try:
            with interrupts_put_off():
                process = self._start(command)
            self.run.warning.forward_to(self.supervisor.warn)
            self._wait(process)
            status = process.poll()
            if status is not None:
                self.forwarding.join(1)  # for the last output
            if status and self.patience.all_over:
                self.lines.say(f"warning: all ranks finished, but their launcher {how_it_ended(status)}")
                status = 0
            # a status below 0 means that a signal ended mpirun and thereby its ranks: no rank died before
            if status and status > 0 and (self.names_dead_rank or status != ENDED_BY_TERM.get(self.run.launcher.kind)):
                self.supervisor.settle()
            self._end(process)
            if status:
                self._say_held_back()
            self._conclude(status)
            return bool(self.run.folder.finished(self.launch))
        finally:
            if process is not None:
                self._end(process)
            self.run.warning.forward_to(None)
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
            skip_hung=self.run.control.skip_hung,
        )
        rank_command = [*own_command(), "measure", *arguments.words()]
        return mpirun_command(self.run.launcher, self.launch.ranks, plan.start, rank_command)

    def _start(self, command: list[str]) -> subprocess.Popen:
        address = self.supervisor.address(names_of_this_node())
        variables = {COMMAND_VARIABLE: shlex.join(drop_values(command)), MONITOR_VARIABLE: address}
        if self.launch.forced not in ("", ALL_FORCED):
            variables |= variables_at_start(FORCED_PREFIX + self.launch.forced, self.run.launcher.library)
        process = start_tied(command, {**os.environ, **variables})
        self.forwarding = threading.Thread(target=self._forward, args=(process,), daemon=True)
        self.forwarding.start()
        threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
        return process

    def _forward(self, process: subprocess.Popen) -> None:
        """Forward output of mpirun and the ranks until the launch is being ended: then mpirun only complains."""
        for line in process.stdout or ():
            if match := DEAD_PROCESS.search(line):
                self.patience.suspect(int(match[1]))
                self.names_dead_rank = True
            if self.is_muted:
                continue
            if OF_STARTING.search(line) and not self.run.control.verbose:
                self.held_back.append(line.rstrip("\n"))
            else:
                self.lines.say(line.rstrip("\n"))

    def _say_held_back(self) -> None:
        for line in self.held_back:
            self.lines.say(line)

    def _await_end(self, process: subprocess.Popen) -> None:
        process.wait()
        self.woken.set()

    def _take_message(self, message: dict) -> None:
        if message["kind"] == "cell":
            self.lines.begin(message["words"])
        elif message["kind"] == "result":
            self.lines.cell(message["done"], message["cells"], message["words"], message["failed"])
        elif message["kind"] == "warned":
            self.run.warning.is_set = True  # a scheduler warned the ranks, but not this process
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
            patience_s = ENDING_S if self.run.warning.is_set else self.run.control.timeout_s
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.lines.say(f"warning: all ranks finished, their launcher was still running after {patience_s:g} s")

    def _end(self, process: subprocess.Popen) -> None:
        """End mpirun and, through it and through the supervisor, all ranks."""
        self.is_muted = True
        if process.poll() is not None:
            return
        self.supervisor.end_ranks()
        end_process(process)

    def _conclude(self, status: int | None) -> None:
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
            raise LaunchFailed(f"launch {self.launch.name} {ending}", chance=bool(self.patience.ranks))
        elif missing := self._missing():
            reason = f"its launcher reported success, but without {counted(missing, 'cell')}: a node may have failed"
            raise LaunchFailed(f"launch {self.launch.name}: {reason}")

    def _missing(self) -> int:
        """Return the number of cells missing after a reported success: some launchers hide the loss of a node."""
        is_limited = self.position.deadline is not None and not self.patience.first_to_go
        if self.patience.all_over or self.run.warning.is_set or is_limited:
            return 0
        return self.run.folder.cells_left(self.run.plan, self.launch, self.run.control.skip_hung)

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
        done = self.run.folder.finished(self.launch, self.run.control.skip_hung)
        for cell in self.run.plan.cells(self.launch):
            if cell.key not in done:
                facts_of_cell = asdict(cell)
                facts = {**facts_of_launch, **facts_of_cell}
                mark_unfinished_cell(
                    self.run.folder, self.launch, {**facts, "state": "left out", "reason": TIME_USED_UP}
                )


def _suggested_interface() -> str:
    """Return `interfaces here: eth0 10.0.0.1/24: try --interface eth0` for this node."""
    node = {"interfaces": [interface._asdict() for interface in interfaces()]}
    ways = [f"{interface['name']} {interface['address']}/{interface['prefix']}" for interface in reachable(node)]
    return f"interfaces here: {', '.join(ways) or 'none'}: try --interface {shell_word(way_between([node]) or 'NAME')}"
