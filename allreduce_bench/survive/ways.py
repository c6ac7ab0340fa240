"""Launches from outside, and the two ways through a loss: by ULFM within the launch, or by starting again without it.

The ranks tell the starter what happens (see `watching`), each by the clock of its node. A phase ends when the last
survivor has ended it, so that phases add up to the time from the loss to a right result on all survivors. Nothing is
waited for without a deadline; what ULFM does not notice in time, or does not end, takes the second way.
"""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..identifying.launch import LEVEL
from ..launching.find import mpirun_command
from ..launching.launcher import Launcher, on_one_node
from ..launching.layout import ranks_on_same_cores
from ..launching.leftovers import mark_process, remove_ended
from ..launching.patience import Rank
from ..launching.supervisor import Supervisor
from ..launching.tied_process import end_process, how_it_ended, interrupts_put_off
from ..launching.watched_launch import WatchedLaunch
from ..machine import OPEN_MPI
from ..measuring.startup import thread_level
from ..runs.hosts import slots_of
from ..runs.start import Start
from ..watching.lifeline import LAB_VARIABLE
from . import BY_RESTART, BY_ULFM, HOST, LINK, ON_HOSTS, Failure, Request
from .checkpoint import CheckpointError, newest

PROGRAM = "allreduce_bench.survive.rank"  # a module
ULFM, RESTART = "ulfm", "restart"
FOLDER = "survive-"  # begin of the name of a folder for checkpoints
BEATS = 10  # heartbeats within the time after which the detector suspects a rank
TOGETHER_S = 1.0  # between the losses of one call
ENDED_S = 1.0  # for a launcher whose ranks have finished
HEARD_S = 0.2  # from the end of a launcher to that of what its ranks said before
RECOVERED, RESTARTED, UNAVAILABLE, FAILED, WRONG = "recovered", "restarted", "unavailable", "failed", "wrong"


class Settings(NamedTuple):
    """What all cells of a command share."""

    launcher: Launcher
    ranks: int
    start: Start
    failures: tuple[Failure, ...]
    calls: int
    every: int
    notice_s: float  # what is not noticed within it takes the second way
    timeout_s: float  # of a start, of a recovery, and of each measurement

    @property
    def detector(self) -> dict[str, str]:
        """Return the settings of ULFM's detector: a rank is suspected after half of the time to notice."""
        after_s = self.notice_s / 2
        return {
            "mpi_ft_detector": "true",
            "mpi_ft_detector_period": f"{after_s / BEATS:g}",
            "mpi_ft_detector_timeout": f"{after_s:g}",
            "mpi_ft_propagator_with_rbcast": "true",  # else ranks of other nodes do not learn what one suspects
        }


@dataclass
class Outcome:
    """What one failure cost in one way, for one algorithm and size."""

    algorithm: str
    size_bytes: int
    way: str  # ULFM or RESTART
    state: str = FAILED
    reason: str = ""
    phases: dict[str, float] = field(default_factory=dict)  # seconds
    left: int | None = None  # ranks
    steps_lost: int | None = None
    call_s: dict[int, list[float]] = field(default_factory=dict)  # ranks -> median, low, high
    guarded_s: dict[int, list[float]] = field(default_factory=dict)  # the same, with the agreement after each call

    @property
    def total_s(self) -> float | None:
        """Return the time from the loss to a right result on all survivors."""
        return sum(self.phases.values()) if self.phases and self.state in (RECOVERED, RESTARTED) else None

    @property
    def ratio(self) -> float | None:
        """Return the time of a call after the loss over that before; None: one is missing."""
        times_s = {ranks: median_s for ranks, (median_s, *_) in self.call_s.items()}
        before, after = times_s.get(max(times_s, default=0)), times_s.get(self.left or 0)
        return after / before if before and after and len(times_s) > 1 else None


class Event(NamedTuple):
    """What happened in a launch: a message of a rank, or `died`, `trouble`, `ended`."""

    kind: str
    at: float  # by the clock of the starter
    facts: Mapping[str, Any]


class Launch:
    """One launch of ranks, in which a death is an event."""

    def __init__(self, settings: Settings, request: Request, ranks: int, hosts: Sequence[str]):
        """Start the ranks. Raises LaunchError, InterfaceError, OSError."""
        self.ranks, self.events = ranks, list[Event]()
        self._queue: queue.Queue[Event] = queue.Queue()
        start = replace(settings.start, hosts=tuple(hosts))
        self.local = on_one_node(settings.launcher, ranks, start, os.environ)
        if request.by_ulfm:
            words = ["--with-ft ulfm", *(f"--mca {name} {value}" for name, value in settings.detector.items())]
            start = replace(start, launcher_args=" ".join([start.launcher_args, *words]).strip())
        self.supervisor = Supervisor(
            ranks,
            settings.notice_s,
            local=self.local,
            on_message=self._take_message,
            on_trouble=lambda trouble: self._put("trouble", {"reason": trouble.reason}),
            on_death=lambda rank: self._put("died", {"rank": rank.rank, "host": rank.host}),
            start_s=settings.timeout_s,
            only_answers=True,
        )
        try:
            command = mpirun_command(
                settings.launcher, ranks, start, [sys.executable, "-m", PROGRAM, request.to_json()]
            )
            level = thread_level(os.environ.get(LEVEL, "auto"), ranks_on_same_cores(ranks, start))
            with interrupts_put_off():
                self.watched = WatchedLaunch(self.supervisor, command, {LEVEL: level}, on_end=self._note_end)
        except BaseException:
            self.supervisor.close()
            raise

    def wait(self, is_there: Callable[[], bool], within_s: float) -> bool:
        """Wait until `is_there`, looking at every event; return False after so long, or where no event can come."""
        deadline = time.monotonic() + within_s
        while not is_there():
            if (left_s := deadline - time.monotonic()) <= 0 or (self.find_events("ended") and self._queue.empty()):
                return False
            with contextlib.suppress(queue.Empty):
                self.events.append(self._queue.get(timeout=left_s))
        return True

    def find_events(self, *kinds: str) -> list[Event]:
        """Return the events of these kinds so far."""
        return [event for event in self.events if event.kind in kinds]

    def has_finished(self) -> bool:
        """Return whether all ranks have done all of their calls."""
        return len(self.find_events("finished")) >= self.ranks

    def broken(self) -> list[Event]:
        """Return what the starter saw since the loss from which it knows that the launch does not go on."""
        since = next((number for number, event in enumerate(self.events) if event.kind == "failing"), 0)
        return [event for event in self.events[since:] if event.kind in ("died", "trouble", "ended")]

    @property
    def known(self) -> list[Rank]:
        """Return the ranks that have connected."""
        return self.supervisor.patience.ranks

    @property
    def lost(self) -> set[int]:
        """Return the ranks that were lost so far."""
        return {event.facts["rank"] for event in self.find_events("failing")}

    def end(self) -> float:
        """End the launch, with all ranks of this machine, stopped ones included; return when that was done."""
        self._kill(self.lost)
        end_process(self.watched.process)
        self._kill({rank.rank for rank in self.known})
        ended = time.time()
        self.supervisor.close()
        return ended

    def finish(self) -> None:
        """Let ranks that have finished end by themselves, and end what has not."""
        self._kill(self.lost)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.watched.process.wait(ENDED_S)
        self.end()

    def why(self) -> str:
        """Return in words why a launch does not go on."""
        status = self.watched.process.poll()
        reasons = [event.facts["reason"] for event in self.find_events("refused", "crashed")]
        killed = [f"rank {rank} on {host} was killed, and not by survive" for rank, host in self.killed_by_others()]
        trouble = [event.facts["reason"] for event in self.find_events("trouble")]
        said = [self.watched.first_words] if self.watched.first_words else []
        ended = f"the launcher {how_it_ended(status)}" if status is not None else "no progress in time"
        return " ".join([*reasons, *killed, *trouble, *said, ended][0].split())

    def killed_by_others(self) -> list[tuple[int, str]]:
        """Return ranks and hosts of those that died and were not to be lost, first the one that died first.

        None where all have died after a loss: then the launcher ended them.
        """
        of_hosts = {event.facts["rank"] for event in self.find_events("failing") if event.facts["what"] == HOST}
        hosts = {rank.host for rank in self.known if rank.rank in of_hosts}
        died = [(event.facts["rank"], event.facts["host"]) for event in self.find_events("died")]
        others = [(rank, host) for rank, host in died if rank not in self.lost and host not in hosts]
        return [] if self.lost and len(others) >= self.ranks - len(self.lost) else others

    def _kill(self, ranks: set[int]) -> None:
        """Kill ranks of this machine, which the launcher may not reach."""
        here = socket.gethostname()
        for rank in self.known:
            is_here = rank.host == here or LAB_VARIABLE in os.environ  # hosts of a lab share the numbers of processes
            if rank.rank in ranks and is_here and _is_ours(rank.pid):
                with contextlib.suppress(OSError):
                    os.kill(rank.pid, signal.SIGKILL)

    def _take_message(self, message: Mapping[str, Any]) -> None:
        if message["kind"] == "measured":  # rank 0 waits a moment; later, a look at the ranks would disturb them
            self.supervisor.note_segments()
        self._put(message["kind"], message)

    def _put(self, kind: str, facts: Mapping[str, Any]) -> None:
        self._queue.put(Event(kind, time.time(), facts))

    def _note_end(self) -> None:
        ended = time.time()
        time.sleep(HEARD_S)
        self._queue.put(Event("ended", ended, {}))


def _is_ours(pid: int) -> bool:
    """Return whether a process of this number runs our ranks: the number of one that ended may be another's by now."""
    with contextlib.suppress(OSError):
        return PROGRAM.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def measure(settings: Settings, algorithm: str, size_bytes: int, way: str) -> Outcome:
    """Lose ranks in one way, and measure what it costs. Raises LaunchError, InterfaceError, OSError."""
    outcome = Outcome(algorithm, size_bytes, way)
    library = settings.launcher.library
    if way == ULFM and not library.startswith(OPEN_MPI):
        outcome.state, outcome.reason = UNAVAILABLE, f"{library} has no ULFM; --way restart goes without"
        return outcome
    is_local = on_one_node(settings.launcher, settings.ranks, settings.start, os.environ)
    folder = None if is_local else Path.cwd()  # that all ranks see, as they see the program
    remove_ended(folder or Path(tempfile.gettempdir()), FOLDER)
    prefix = f"{FOLDER}{mark_process(os.getpid())}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True) as name:
        kept = Path(name).absolute()
        request = Request(
            algorithm=algorithm,
            elements=size_bytes // 4,
            ranks=settings.ranks,
            first=0,
            calls=settings.calls,
            checkpoint=str(kept),
            every=settings.every,
            by_ulfm=way == ULFM,
            failures=settings.failures,
        )
        try:
            _Way(settings, request, outcome, kept).go()
        finally:
            _bring_links_up(settings.failures)
    return outcome


class _Way:
    """The way from a first launch to a right result without those that are lost."""

    def __init__(self, settings: Settings, request: Request, outcome: Outcome, kept: Path):
        self.settings, self.request, self.outcome, self.kept = settings, request, outcome, kept
        self.launch: Launch | None = None
        self.failed_at, self.ends = 0.0, dict[str, float]()

    def go(self) -> None:
        """Go it to its end; the outcome then says how that went."""
        try:
            self._lose()
        finally:
            if self.launch is not None:
                self.launch.end()

    def _lose(self) -> None:
        """Start all ranks, wait until some are lost, and take the way of those left."""
        settings = self.settings
        self.launch = launch = Launch(settings, self.request, settings.ranks, settings.start.hosts)
        launch.wait(lambda: bool(launch.find_events("failing", "refused", "crashed", "died")), settings.timeout_s)
        planned = {one.whom for one in settings.failures if one.call and one.kind not in ON_HOSTS}
        launch.wait(lambda: len(launch.lost) >= max(1, len(planned)), TOGETHER_S)
        if not launch.lost:
            self._fail(launch)
            return
        self.failed_at = min(event.facts["at"] for event in launch.find_events("failing"))
        self._take_figures(launch)
        if not (self.request.by_ulfm and self._by_ulfm(launch)):
            self._start_again(launch)

    def _by_ulfm(self, launch: Launch) -> bool:
        """Wait until the survivors have a right result and have finished; return False for the second way."""
        settings, outcome = self.settings, self.outcome
        left_s = max(0.0, self.failed_at + settings.notice_s - time.time())
        if not launch.wait(lambda: bool(launch.find_events("noticed")), left_s):
            ended = bool(launch.find_events("ended"))
            why = launch.why() if ended else f"not noticed within {settings.notice_s:g} s"
            outcome.reason = f"{why}; started again"
            return False
        done = launch.wait(lambda: self._survivors_have(launch, "result"), settings.timeout_s)
        if not done or not launch.wait(lambda: self._survivors_have(launch, "finished"), settings.timeout_s):
            if launch.find_events("refused"):
                self._fail(launch)
                return True
            outcome.reason = f"{launch.why()}; started again"
            return False
        outcome.steps_lost = 0
        self._take(launch, BY_ULFM, RECOVERED)
        return True

    def _survivors_have(self, launch: Launch, kind: str) -> bool:
        """Return whether every rank that was not lost has said this about the ranks that are left."""
        least = min((event.facts["size"] for event in launch.find_events("result")), default=0)
        if kind == "finished":
            return len(launch.find_events("finished")) >= least
        told = [event for event in launch.find_events("result") if event.facts["size"] == least]
        return 0 < least <= self.settings.ranks - len(launch.lost) and len(told) >= least

    def _start_again(self, launch: Launch) -> None:
        """End the launch, leave out what was lost, and go on from the last checkpoint, as often as it takes."""
        settings, outcome = self.settings, self.outcome
        self._notice(launch)
        of_hosts = [one for one in settings.failures if one.kind in ON_HOSTS]
        lost = launch.lost | {rank.rank for rank in launch.known if any(one.is_of(-1, rank.host) for one in of_hosts)}
        self.ends["end"] = launch.end()
        hosts = [host for host in settings.start.hosts if not any(one.is_of(-1, slots_of(host)[0]) for one in of_hosts)]
        members = [rank for rank in range(settings.ranks) if rank not in lost]
        called = min(one.call for one in settings.failures if one.call)
        done = max((event.facts["step"] for event in launch.find_events("done")), default=called - 1)
        while members:
            try:
                first = newest(self.kept, {"algorithm": self.request.algorithm, "count": self.request.elements})
            except (CheckpointError, OSError) as error:
                outcome.state, outcome.reason = FAILED, str(error)
                return
            if outcome.steps_lost is None:
                outcome.steps_lost = max(0, done - first)
            first = min(first, settings.calls - 1)  # so that there is a call that shows that results are right
            later = [_shift_loss(one, members) for one in settings.failures if one.phase and int(one.whom) in members]
            again = self.request._replace(first=first, by_ulfm=False, failures=tuple(later))
            self.launch = launch = Launch(settings, again, len(members), hosts)
            if launch.wait(launch.has_finished, settings.timeout_s):
                self._take(launch, BY_RESTART, RESTARTED)
                return
            if not launch.lost:
                self._fail(launch)
                return
            members = [member for rank, member in enumerate(members) if rank not in launch.lost]
            launch.end()

    def _notice(self, launch: Launch) -> None:
        """Wait until the starter sees the loss, not longer than it has time."""
        launch.wait(lambda: bool(launch.broken()), self.settings.notice_s + self.settings.timeout_s)
        seen = launch.broken()
        is_late = self.request.by_ulfm or not seen  # ULFM had its time before
        self.ends = {"notice": time.time() if is_late else max(self.failed_at, seen[0].at)}

    def _take(self, launch: Launch, phases: Sequence[str], state: str) -> None:
        """Take when phases ended on the last survivor, who is left, and what calls took."""
        outcome, results = self.outcome, launch.find_events("result")
        outcome.left = min(event.facts["size"] for event in results)
        of_left = [event.facts for event in results if event.facts["size"] == outcome.left]
        if len(told := {(one["step"], *one["members"]) for one in of_left}) > 1:
            outcome.state, outcome.reason = (
                WRONG,
                f"survivors differ in the call that was done again, or in who is left: {sorted(told)}",
            )
        marks = [one["marks"] for one in of_left]
        begun = self.failed_at
        for phase in phases:
            end = self.ends.get(phase, max((one[phase] for one in marks if phase in one), default=begun))
            outcome.phases[phase] = max(0.0, end - begun)
            begun = max(begun, end)
        self._take_figures(launch)
        if outcome.state != WRONG:
            outcome.state = state
        launch.finish()

    def _take_figures(self, launch: Launch) -> None:
        """Take the times of calls so far, and what is wrong."""
        outcome = self.outcome
        for event in launch.find_events("measured"):
            size = int(event.facts["size"])
            outcome.call_s[size] = event.facts["call_s"]
            if event.facts["guarded_s"]:
                outcome.guarded_s[size] = event.facts["guarded_s"]
        for event in launch.find_events("wrong"):
            outcome.state = WRONG
            facts = event.facts
            outcome.reason = f"{facts['elements']} of {facts['of']} elements are wrong in call {facts['step']}"

    def _fail(self, launch: Launch) -> None:
        self._take_figures(launch)
        if self.outcome.state != WRONG:
            refused = [event.facts["reason"] for event in launch.find_events("refused")]
            self.outcome.state = UNAVAILABLE if refused else FAILED
            self.outcome.reason = refused[0] if refused else launch.why()


def _shift_loss(failure: Failure, members: Sequence[int]) -> Failure:
    """Return a loss during the recovery as one of a launch that starts again, which has not all of its phases."""
    return failure._replace(whom=str(members.index(int(failure.whom))), phase="binding")


def _bring_links_up(failures: Sequence[Failure]) -> None:
    """Bring the links of virtual hosts up again that ranks took down."""
    words = dict(word.split("=") for word in os.environ.get(LAB_VARIABLE, "").split())
    for failure in failures:
        if failure.kind == LINK and failure.whom in words:
            pid = words[failure.whom].partition(":")[0]
            command = ["nsenter", "-t", pid, "-n", "ip", "link", "set", "e0", "up"]
            subprocess.run(command, check=False, capture_output=True)
