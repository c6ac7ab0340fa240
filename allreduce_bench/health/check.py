"""The check of nodes in pairs: a launch with a rank per node, restarted without a pair that hangs or fails; judged."""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from ..cli.plan_of_options import place_on_hosts
from ..cli.types import INTERRUPTED, OneLineError, kept_command, talk
from ..identifying.launch import LEVEL
from ..launching.find import find_launcher, mpirun_command, silent_hosts
from ..launching.launcher import Launcher
from ..launching.layout import ranks_on_same_cores
from ..launching.patience import Rank
from ..launching.supervisor import Supervisor
from ..launching.tied_process import how_it_ended, interrupt_when_asked_to_end, interrupts_put_off
from ..launching.watched_launch import LaunchFailed, LaunchRefused, WatchedLaunch
from ..measuring.startup import thread_level, under_launcher
from ..runs.start import Start, expand, slots_of
from ..units import counted, format_rate, shell_word
from ..watching.lifeline import LAB_VARIABLE, WarningFlag
from .judgement import Health, PairTable, confirm_suspects, judge_tables, pairs_to_repeat, tables_of_rows
from .pairs import (
    MOST_FOR_ALL,
    SUPPOSED_BYTES_PER_S,
    CheckSettings,
    Order,
    Pair,
    PairFolder,
    PairRow,
    Round,
    estimate_s,
    failed_pairs,
    plan_rounds,
    rounds_left,
    whole_pairs,
)

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
    say: Callable[[str], object]
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
        check.say(f"warning: {1 + MOST_RESTARTS} launches ended early; the pairs that are left are not measured")


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
                self._await(watched.process, check.timeout_s)
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


# The check of `health`: the nodes of a job in pairs; of many nodes the suspects once more, alone; judged.
#
# A folder keeps the times, so that a check can be continued, and judged again.


# Virtual hosts share the cores of one machine
UNJUDGED_OF_VIRTUAL = ("latency",)
LATENCY_OF_VIRTUAL = "latency is not judged: virtual hosts share the cores of one machine"

NODELIST = "SLURM_JOB_NODELIST"


def measure_health(
    hosts: tuple[str, ...] | None, output: Path, threshold: float, repetitions: int, timeout_s: float, start: Start
) -> Health:
    """Measure what is left of the check in `output`, and judge it. Raises OneLineError, LaunchError."""
    interrupt_when_asked_to_end()
    check, silent = _prepare_check(hosts, output, repetitions, timeout_s, start)
    advice = f"to continue, repeat the command with -o {shell_word(output)}"
    try:
        _announce(check)
        measure_pairs(check)
        found = _judge_check(check, silent, threshold)
        if check.has_two_rounds and not check.warning.is_set:
            found = _repeat_suspects(check, found)
    except LaunchFailed as failed:
        raise OneLineError(f"{failed}; measured rounds are kept; {advice}", exit_code=1) from None
    except KeyboardInterrupt:
        raise OneLineError(f"interrupted; measured rounds are kept; {advice}", exit_code=INTERRUPTED) from None
    left = sum(map(len, check.left()))
    if check.warning.is_set and left:
        raise OneLineError(
            f"the job is near its time limit: {counted(left, 'pair')} not measured; {advice}", exit_code=1
        )
    return found._replace(left=left)


def judge_rows(asked: CheckSettings, rows: Sequence[PairRow], threshold: float, gone: Mapping[str, str]) -> Health:
    """Judge the rows of pairs measured beside others; `gone`: nodes none of whose pairs works, and why."""
    kept = [row for row in rows if not row.alone]
    whole, failed = whole_pairs(kept, asked), failed_pairs(kept)
    present = [name for name in asked.nodes if name not in gone]
    if len(present) <= MOST_FOR_ALL:
        pairs = combinations(asked.nodes, 2)
        failed |= {frozenset(pair): gone[name] for pair in pairs for name in pair if name in gone}
    else:
        failed |= {frozenset((name, present[0])): why for name, why in gone.items()}
    failed = {pair: why for pair, why in failed.items() if pair not in whole}
    unjudged = UNJUDGED_OF_VIRTUAL if asked.virtual_rates_bytes_per_s else ()
    tables = _tables(asked, whole.values())
    return judge_tables(tables, frozenset(whole) | failed.keys(), failed, threshold, unjudged)


def clear_crowded(found: Health, asked: CheckSettings, rows: Sequence[PairRow]) -> Health:
    """Clear suspects that are not slow when measured alone: many pairs may share an uplink."""
    alone = _tables(asked, whole_pairs([row for row in rows if row.alone], asked).values())
    results = tuple(confirm_suspects(result, table, found.threshold) for result, table in zip(found.results, alone))
    before, after = (sum(len(r.slow_nodes) + len(r.slow_links) for r in rs) for rs in (found.results, results))
    return found._replace(results=results, cleared=before - after)


def judge_folder(folder: PairFolder, threshold: float) -> Health:
    """Judge a kept check again. Raises RunError, OSError: there is none, or it is damaged."""
    asked, rows = folder.asked(), folder.rows()
    found = judge_rows(asked, rows, threshold, {})
    if any(row.alone for row in rows):
        found = clear_crowded(found, asked, rows)
    if len(asked.nodes) > MOST_FOR_ALL:
        return found
    tried = whole_pairs([row for row in rows if not row.alone], asked).keys() | found.failed.keys()
    return found._replace(left=len(asked.nodes) * (len(asked.nodes) - 1) // 2 - len(tried))


def _tables(asked: CheckSettings, whole: Iterable[Sequence[PairRow]]) -> list[PairTable]:
    kept = [row for rows_of_pair in whole for row in rows_of_pair]
    return tables_of_rows(asked.nodes, kept, (asked.small_nbytes, asked.large_nbytes))


def _prepare_check(
    hosts: tuple[str, ...] | None, output: Path, repetitions: int, timeout_s: float, start: Start
) -> "tuple[PairCheck, dict[str, str]]":
    """Return the check, and the nodes that do not respond, with reasons; nothing is started yet."""
    if under_launcher(os.environ):
        raise OneLineError("health starts its own ranks; run it without mpirun or srun")
    nodes = nodes_to_check(hosts, output)
    start = place_on_hosts(replace(start, hosts=tuple(nodes)))
    silent = silent_hosts(start)
    present = [name for name in nodes if name not in silent]
    if len(present) < 2:
        why = f": '{next(iter(silent))}' does not ({next(iter(silent.values()))})" if silent else ""
        raise OneLineError(f"{len(present)} of {len(nodes)} nodes respond{why}; a pair needs two", exit_code=1)
    launcher = find_launcher(replace(start, hosts=()))
    folder = PairFolder(output)
    asked = CheckSettings(
        nodes=tuple(nodes),
        large_repetitions=repetitions,
        command=tuple(kept_command()),
        virtual_rates_bytes_per_s=tuple(start.virtual_rates_bytes_per_s),
    )
    folder.begin(asked)
    warning = WarningFlag()
    warning.listen()
    return PairCheck(
        folder=folder,
        asked=asked,
        nodes=present,
        start=start,
        launcher=launcher,
        timeout_s=timeout_s,
        warning=warning,
        say=talk,
    ), silent


def nodes_to_check(hosts: tuple[str, ...] | None, output: Path) -> list[str]:
    """Return two nodes or more: of --hosts, else of the check in `output`, else of the lab or the job around this.

    In a lab or a job that lacks nodes of the check, those that are there. Raises OneLineError, RunError, ValueError.
    """
    folder = PairFolder(output)
    kept = [*folder.asked().nodes] if not hosts and folder.asked_json.exists() else []
    if hosts:
        nodes = [slots_of(host)[0] for host in hosts]
    elif LAB_VARIABLE in os.environ:
        nodes = [*place_on_hosts(Start()).hosts]
    elif os.environ.get(NODELIST):
        nodes = expand(os.environ[NODELIST])
    elif kept:
        nodes = kept
    else:
        raise OneLineError("no nodes given: add --hosts n[1-4], or run it inside a Slurm job")
    if kept and {*kept} <= {*nodes}:
        nodes = kept
    if len(nodes) < 2 or len(set(nodes)) < len(nodes):
        raise OneLineError(f"expected two nodes or more, each once; found {', '.join(nodes[:20]) or 'none'}")
    return nodes


def _announce(check: "PairCheck") -> None:
    """Print what is measured, and roughly how long it takes, before it begins."""
    rounds = check.left()
    if not rounds:
        return
    number = 2 if check.has_two_rounds else len(rounds)
    rates = check.start.virtual_rates_bytes_per_s
    rate = min(rates) if rates else SUPPOSED_BYTES_PER_S
    time_s = estimate_s(len(check.nodes), number, check.asked, rate)
    again = ", then suspects alone" if check.has_two_rounds else ""
    duration = f"{time_s:.0f} s" if time_s < 120 else f"{time_s / 60:.0f} min"
    talk(
        f"{len(check.nodes)} nodes: {counted(number, 'round')} of up to {counted(len(rounds[0]), 'pair')} at the same "
        f"time{again}; about {duration} if a link carries {format_rate(rate)}"
    )


def _judge_check(check: "PairCheck", silent: dict[str, str], threshold: float) -> Health:
    """Judge the times; all pairs of nodes that do not respond, or were lost, have failed."""
    gone = {name: f"host '{name}' does not respond ({why})" for name, why in silent.items()} | check.lost
    if check.asked.virtual_rates_bytes_per_s:
        talk(LATENCY_OF_VIRTUAL)
    return judge_rows(check.asked, check.folder.rows(), threshold, gone)


def _repeat_suspects(check: "PairCheck", found: Health) -> Health:
    """Measure the suspects again, each pair alone, and clear those that are not slow then."""

    repeated = pairs_to_repeat(found.results)
    if not repeated:
        return found
    talk(f"measured again, one after the other: {counted(len(repeated), 'pair')}")
    measure_pairs(check, repeated)
    return clear_crowded(found, check.asked, check.folder.rows())


def judge_kept_check(path: Path, threshold: float) -> Health:
    """Judge the check in a folder. Raises OneLineError, RunError."""
    folder = PairFolder(path)
    if not folder.asked_json.exists():
        raise OneLineError(f"{path}: holds no check; expected the folder of a check, or a CSV of pairs")
    if folder.asked().virtual_rates_bytes_per_s:
        talk(LATENCY_OF_VIRTUAL)
    return judge_folder(folder, threshold)
