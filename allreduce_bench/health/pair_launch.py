"""The check of nodes in pairs: one launch with a rank per node, begun again without a pair that hangs or fails."""

import os
import shlex
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from subprocess import Popen, TimeoutExpired

from ..launching.find import mpirun_command
from ..launching.launcher import Launcher
from ..launching.layout import ranks_on_same_cores
from ..launching.supervision import DEAD_PROCESS, ENDED_BY_TERM, LaunchFailed, LaunchRefused, how_it_ended
from ..launching.tied_process import end_process, interrupts_put_off, start_tied
from ..machine.node import hide_secrets
from ..measuring.startup import thread_level
from ..runs.start import Start
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, WarningFlag
from ..watching.patience import Rank
from ..watching.supervisor import Supervisor, names_of_this_node
from .pair_file import Asked, PairFolder, PairRow, failed_pairs, whole_pairs
from .pair_rounds import MOST_FOR_ALL, Order, Pair, Round, planned_rounds, rounds_left

PROGRAM = "allreduce_bench.health.rank"
MOST_RESTARTS = 5  # each may have waited for a timeout
LAST_LINES = 20  # of what a launcher said


@dataclass(frozen=True, kw_only=True)
class PairCheck:
    """What the launches of a check have in common."""

    folder: PairFolder
    asked: Asked
    nodes: Sequence[str]  # that are there, in the order in which the launcher is told
    start: Start
    launcher: Launcher
    timeout_s: float  # for a message
    warning: WarningFlag  # from then on no launch is started, and the one in progress ends after its round
    say: Callable[[str], object]
    lost: dict[str, str] = field(default_factory=dict)  # nodes whose rank ended outside of any pair, and why

    @property
    def has_two_rounds(self) -> bool:
        """Whether there are too many nodes for all pairs."""
        return len(self.nodes) > MOST_FOR_ALL

    def left(self, alone: Sequence[Pair] = ()) -> list[Round]:
        """The rounds that are left of the check, or of the pairs that are to be measured alone."""
        rows = [row for row in self.folder.rows() if row.alone == bool(alone)]
        failed = failed_pairs(rows)
        done = {*whole_pairs(rows, self.asked), *failed}
        rounds = [[pair] for pair in alone] or planned_rounds(self.nodes, rows, done)
        rounds = [[pair for pair in pairs if not self.lost.keys() & set(pair)] for pairs in rounds]
        return rounds_left(rounds, done, {name for pair in failed for name in pair})


def measure_pairs(check: PairCheck, alone: Sequence[Pair] = ()) -> None:
    """Measure the pairs that are left, or those of `alone` one after the other.

    A pair that fails is kept as such, and the others go on in a new launch, at most MOST_RESTARTS times. Raises
    LaunchFailed where no node is to blame, LaunchRefused.
    """
    for _ in range(1 + MOST_RESTARTS):
        rounds = check.left(alone)
        if not rounds or check.warning.is_set:
            return
        rows = check.folder.rows()
        first = max((row.round for row in rows), default=0) + 1
        has_second = not rows and not alone and check.has_two_rounds
        order = Order([*check.nodes], first, rounds, check.asked, check.timeout_s, has_second, bool(alone))
        _PairLaunch(check, order).measure()
    if check.left(alone):
        check.say(f"warning: {1 + MOST_RESTARTS} launches ended early; the pairs that are left are not measured")


class _PairLaunch:
    """One launch: its mpirun, and the supervisor that its ranks report to."""

    def __init__(self, check: PairCheck, order: Order):
        self.check, self.order = check, order
        self.woken = threading.Event()  # mpirun has ended, or something is wrong
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.pairs: Collection[Sequence[str]] = ()  # of the round in progress
        self.round = order.first_round
        self.names_dead_rank = False
        self.supervisor = Supervisor(
            len(order.nodes),
            2 * check.timeout_s,  # the ranks themselves notice a silent partner before
            local=False,
            on_message=self._take_message,
            on_trouble=lambda trouble: self.woken.set(),
            pulse=self._written_nbytes,
        )

    def measure(self) -> None:
        """Start it, wait for its end, and keep what failed. Raises LaunchFailed, LaunchRefused."""
        check, process = self.check, None
        failed_before = failed_pairs(check.folder.rows())
        self.order.write(check.folder.rounds_json)
        try:
            with interrupts_put_off():
                process = self._start()
            check.warning.forward_to(self.supervisor.warn)
            self.woken.wait()
            if self.supervisor.patience.all_over:
                self._await(process, check.timeout_s)
            status = process.poll()
            if status is not None:
                self.forwarding.join(1)  # the last that was said
            ended_by_term = ENDED_BY_TERM.get(check.launcher.kind)
            if status and status > 0 and (self.names_dead_rank or status != ended_by_term):
                self.supervisor.settle()
            self._end(process)
            if failed_pairs(check.folder.rows()) == failed_before:  # rank 0 has not kept any
                self._conclude(status)
        finally:
            if process is not None:
                self._end(process)
            check.warning.forward_to(None)
            self.supervisor.close()

    def _start(self) -> Popen:
        check, ranks = self.check, len(self.order.nodes)
        start = replace(check.start, hosts=tuple(self.order.nodes))
        program = [sys.executable, "-m", PROGRAM, str(check.folder.path.resolve())]
        level = thread_level("auto", ranks_on_same_cores(ranks, start))
        address = self.supervisor.address(names_of_this_node())
        command = mpirun_command(check.launcher, ranks, start, program)
        variables = {COMMAND_VARIABLE: shlex.join(hide_secrets(command)), MONITOR_VARIABLE: address}
        process = start_tied(command, {**os.environ, **variables, "MPI4PY_RC_THREAD_LEVEL": level})
        self.forwarding = threading.Thread(target=self._note, args=(process,), daemon=True)
        self.forwarding.start()
        threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
        return process

    def _note(self, process: Popen) -> None:
        """Keep what mpirun says: it matters only where nobody else knows what failed."""
        for line in process.stdout or ():
            if match := DEAD_PROCESS.search(line):
                self.supervisor.patience.suspect(int(match[1]))
                self.names_dead_rank = True
            if line.strip(" \n\t-=*"):
                self.last_lines.append(line.strip())

    def _await_end(self, process: Popen) -> None:
        process.wait()
        self.woken.set()

    def _await(self, process: Popen, timeout_s: float) -> None:
        try:
            process.wait(timeout_s)
        except TimeoutExpired:
            self.check.say(f"warning: all ranks finished, their launcher was still running after {timeout_s:g} s")

    def _take_message(self, message: dict) -> None:
        if message["kind"] == "cell":
            self.pairs, self.round = message["facts"]["pairs"], message["facts"]["round"]
            self.check.say(message["words"])
        elif message["kind"] == "warned":
            self.check.warning.is_set = True  # a scheduler told the ranks, and not this process
        elif message["kind"] == "bye" and self.supervisor.patience.all_over:
            self.woken.set()

    def _written_nbytes(self) -> int:
        path = self.check.folder.pairs_csv
        return path.stat().st_size if path.exists() else 0

    def _end(self, process: Popen) -> None:
        """End mpirun and, through it and through the supervisor, all ranks."""
        if process.poll() is not None:
            return
        self.supervisor.end_ranks()
        end_process(process)

    def _conclude(self, status: int | None) -> None:
        """Keep the pair of a rank that died or hangs. Raises LaunchFailed, LaunchRefused."""
        patience, trouble = self.supervisor.patience, self.supervisor.trouble
        if patience.refusal:
            raise LaunchRefused(patience.refusal)
        if trouble and (culprits := patience.culprits):
            for rank in culprits:
                self._blame(rank, trouble.reason)
        elif trouble or (status and not patience.all_over):
            why = trouble.sentence if trouble else patience.failure or how_it_ended(status or 0)
            said = f"; it said: {self.last_lines[0]}" if self.last_lines and not trouble else ""
            raise LaunchFailed(f"the launch of {len(self.order.nodes)} ranks failed: {why}{said}")

    def _blame(self, rank: Rank, reason: str) -> None:
        """Keep the pair of this rank in this round as failed; where it has none, its node takes part no more."""
        node = next((name for name in self.order.nodes if name.split(".")[0] == rank.host.split(".")[0]), "")
        node = node or self.order.nodes[rank.rank]
        for source, dest in self.pairs:
            if node in (source, dest):
                row = PairRow(self.round, source, dest, alone=self.order.alone, failure=reason)
                self.check.folder.append([row])
                return
        self.check.lost[node] = reason
