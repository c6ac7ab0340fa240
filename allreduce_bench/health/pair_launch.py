"""Launches of a check: a rank per node, restarted without a pair that hangs or fails."""

import sys
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from subprocess import TimeoutExpired

from ..cli.types import talk
from ..identifying.launch import LEVEL
from ..launching.find import mpirun_command
from ..launching.launcher import Launcher
from ..launching.layout import ranks_on_same_cores
from ..launching.patience import Rank
from ..launching.supervisor import Supervisor
from ..launching.tied_process import how_it_ended, interrupts_put_off
from ..launching.watched_launch import LaunchFailed, LaunchRefused, WatchedLaunch
from ..measuring.startup import thread_level
from ..runs.start import Start
from ..watching.lifeline import WarningFlag
from .pair_folder import CheckSettings, PairFolder, PairRow, failed_pairs, whole_pairs
from .rounds import MOST_FOR_ALL, Order, Pair, Round, plan_rounds, rounds_left

PROGRAM = "allreduce_bench.health.rank"
MOST_RESTARTS = 5  # each may have waited for a timeout


@dataclass(frozen=True, kw_only=True)
class PairCheck:
    """The common facts of the launches of a check."""

    folder: PairFolder
    asked: CheckSettings
    nodes: Sequence[str]  # that respond, in the order given to the launcher
    start: Start
    launcher: Launcher
    timeout_s: float  # for a message
    warning: WarningFlag  # once set, no launch is started, and the one in progress ends after its round
    lost: dict[str, str] = field(default_factory=dict)  # nodes whose rank ended outside of any pair, and why

    @property
    def has_two_rounds(self) -> bool:
        """True if there are too many nodes for all pairs."""
        return len(self.nodes) > MOST_FOR_ALL

    def left(self, alone: Sequence[Pair] = ()) -> list[Round]:
        """Return the rounds that are left of the check, or of the pairs to be measured alone."""
        rows = [row for row in self.folder.rows() if row.alone == bool(alone)]
        failed = failed_pairs(rows)
        done = {*whole_pairs(rows, self.asked), *failed}
        rounds = [[pair] for pair in alone] or plan_rounds(self.nodes, rows, done)
        rounds = [[pair for pair in pairs if not self.lost.keys() & set(pair)] for pairs in rounds]
        return rounds_left(rounds, done, {name for pair in failed for name in pair})


def measure_pairs(check: PairCheck, alone: Sequence[Pair] = ()) -> None:
    """Measure the pairs that are left, or those of `alone` one after the other.

    A pair that fails is recorded, and the others continue in a new launch, at most MOST_RESTARTS times. Raises
    LaunchFailed if no node is to blame, LaunchRefused.
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
        talk(f"warning: {1 + MOST_RESTARTS} launches ended early; the pairs that are left are not measured")


class _PairLaunch:
    """One launch: its mpirun, and the supervisor that its ranks report to."""

    def __init__(self, check: PairCheck, order: Order):
        self.check, self.order = check, order
        self.woken = threading.Event()  # mpirun has ended, or something is wrong
        self.pairs: Collection[Sequence[str]] = ()  # of the round in progress
        self.round = order.first_round
        self.supervisor = Supervisor(
            len(order.nodes),
            2 * check.timeout_s,  # the ranks themselves notice a silent partner earlier
            local=False,
            on_message=self._take_message,
            on_trouble=lambda trouble: self.woken.set(),
            pulse=self._written_nbytes,
        )

    def measure(self) -> None:
        """Start the launch, wait for its end, and record failures. Raises LaunchFailed, LaunchRefused."""
        check, watched = self.check, None
        failed_before = failed_pairs(check.folder.rows())
        self.order.write(check.folder.rounds_json)
        try:
            with interrupts_put_off():
                watched = self._start()
            check.warning.forward_to(self.supervisor.warn)
            self.woken.wait()
            if self.supervisor.patience.all_over:
                try:
                    watched.process.wait(check.timeout_s)
                except TimeoutExpired:
                    talk(f"warning: all ranks finished, their launcher still runs after {check.timeout_s:g} s")
            status = watched.status(check.launcher.kind)
            watched.end()
            if failed_pairs(check.folder.rows()) == failed_before:  # rank 0 has not recorded any
                self._conclude(status, watched.first_words)
        finally:
            if watched is not None:
                watched.end()
            check.warning.forward_to(None)
            self.supervisor.close()

    def _start(self) -> WatchedLaunch:
        check, ranks = self.check, len(self.order.nodes)
        start = replace(check.start, hosts=tuple(self.order.nodes))
        program = [sys.executable, "-m", PROGRAM, str(check.folder.path.resolve())]
        level = thread_level("auto", ranks_on_same_cores(ranks, start))
        command = mpirun_command(check.launcher, ranks, start, program)
        return WatchedLaunch(self.supervisor, command, {LEVEL: level}, on_end=self.woken.set)

    def _take_message(self, message: dict) -> None:
        if message["kind"] == "cell":
            self.pairs, self.round = message["facts"]["pairs"], message["facts"]["round"]
            talk(message["words"])
        elif message["kind"] == "warned":
            self.check.warning.is_set = True  # a scheduler told the ranks, and not this process
        elif message["kind"] == "bye" and self.supervisor.patience.all_over:
            self.woken.set()

    def _written_nbytes(self) -> int:
        path = self.check.folder.pairs_csv
        return path.stat().st_size if path.exists() else 0

    def _conclude(self, status: int | None, first_words: str) -> None:
        """Record the pair of a rank that died or hangs as failed. Raises LaunchFailed, LaunchRefused."""
        patience, trouble = self.supervisor.patience, self.supervisor.trouble
        if patience.refusal:
            raise LaunchRefused(patience.refusal)
        if trouble and (culprits := patience.culprits):
            for rank in culprits:
                self._blame(rank, trouble.reason)
        elif trouble or (status and not patience.all_over):
            why = trouble.sentence if trouble else patience.failure or how_it_ended(status or 0)
            said = f"; it said: {first_words}" if first_words and not trouble else ""
            raise LaunchFailed(f"the launch of {len(self.order.nodes)} ranks failed: {why}{said}")

    def _blame(self, rank: Rank, reason: str) -> None:
        """Record the pair of this rank in this round as failed; without a pair, its node is excluded from then on."""
        node = next((name for name in self.order.nodes if name.split(".")[0] == rank.host.split(".")[0]), "")
        node = node or self.order.nodes[rank.rank]
        for source, dest in self.pairs:
            if node in (source, dest):
                row = PairRow(self.round, source, dest, alone=self.order.alone, failure=reason)
                self.check.folder.append([row])
                return
        self.check.lost[node] = reason
