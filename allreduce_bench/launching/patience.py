"""Progress of a launch: detects hangs and deaths, names their cause, and says when to query the ranks. Pure: no
sockets.

Times are seconds of one monotonic clock, which the caller reads. Ranks are queried after half of the timeout, and again
at its end; a change between two answers is progress, as is every unsolicited message of a rank.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from ..units import counted
from ..watching.watch import START_FACTOR
from .blame import AHEAD, Report, blame

ANSWER_S = 3.0  # until an answer arrives; also until a launcher ends the ranks left behind by a death


class Trouble(NamedTuple):
    """A reason why a launch cannot continue."""

    where: str  # ring 4 KiB, 2 ranks
    reason: str
    hung: dict | None = None  # the message about the cell that made no progress; None: another cause

    @property
    def sentence(self) -> str:
        """Place and reason, as printed."""
        return f"{self.where}: {self.reason}"

    @property
    def row(self) -> dict | None:
        """Facts of the hung cell for `recorder.mark`; None: no cell hung."""
        return {**self.hung["facts"], "state": "hung", "reason": self.reason} if self.hung else None


class Question(NamedTuple):
    """A request to ask all ranks for their position."""

    number: int


@dataclass(eq=False)
class Rank:
    """The state of one rank."""

    rank: int
    host: str
    pid: int
    starting: bool = False  # in MPI_Init, which holds Python's lock: it cannot answer
    ended: bool = False  # it announced its end
    failure: str | None = None  # and why
    died: bool = False
    answered: int = 0  # number of the last question it answered
    answer: dict[str, Any] = field(default_factory=dict)


class Patience:
    """The messages of `size` ranks since `now`, and whether to go on waiting for them.

    A broken connection counts as a death only `grace_s` later. The start of ranks that share cores may stay silent
    `start_s` longer than that of others. With `only_answers` ranks need not progress, only come up and respond.
    `pulse()` returns another value after every progress that ranks cannot report; `is_stopped(rank)` says whether a
    signal is known to have stopped its process.
    """

    def __init__(
        self,
        size: int,
        timeout_s: float,
        now: float,
        *,
        grace_s: float = ANSWER_S,
        start_s: float = 0.0,
        only_answers: bool = False,
        pulse: Callable[[], object] = lambda: None,
        is_stopped: Callable[[Rank], bool] = lambda rank: False,
    ):
        self.size, self.timeout_s, self.grace_s = size, timeout_s, grace_s
        self.start_s, self.only_answers = start_s, only_answers
        self.pulse, self.is_stopped, self._last_pulse = pulse, is_stopped, pulse()
        self.ranks: list[Rank] = []  # those heard of
        self.cell: dict[str, Any] | None = None  # the last that rank 0 named
        self.refusal: str | None = None  # why the ranks declined this launch
        self.may_be_absent = False  # ranks run that cannot be heard
        self._last_news = now
        self._last_question = 0  # number of the last question
        self._open_questions: list[int] = []  # questions since the last news
        self._hurried = False
        self._asked_in_hurry: float | None = None  # when all were last asked because of `hurry`
        self._first_broken: Rank | None = None  # the rank whose connection broke first
        self._broken_at = 0.0  # and when
        self._aborting_at = inf  # when a failed rank ends the others: broken connections mean nothing after
        self._suspect_pid: int | None = None

    @property
    def all_over(self) -> bool:
        """Whether every rank has announced a normal end."""
        return len(self.ranks) >= self.size and all(rank.ended and not rank.failure for rank in self.ranks)

    @property
    def all_gone(self) -> bool:
        """Whether every rank heard of has ended or died."""
        return all(rank.ended or rank.died for rank in self.ranks)

    @property
    def failure(self) -> str | None:
        """The reason that a rank gave for its own end."""
        return next((f"rank {rank.rank}: {rank.failure}" for rank in self.ranks if rank.failure), None)

    @property
    def first_to_go(self) -> str | None:
        """The rank whose connection broke first, as `rank 2 on n1`."""
        return f"rank {self._first_broken.rank} on {self._first_broken.host}" if self._first_broken else None

    @property
    def culprits(self) -> list[Rank]:
        """The rank that died first, else those that do not answer; empty: none is known."""
        dead = self._confirmed_suspect() or self._first_broken
        return [dead] if dead else [rank for rank in self.ranks if self._report(rank).state == "silent"]

    @property
    def pause_s(self) -> float:
        """Longest interval between calls of `judge` while ranks are silent."""
        return 0.2 if self._first_broken or self._open_questions or self._hurried else min(5.0, self.timeout_s / 8)

    def suspect(self, pid: int) -> None:
        """Record the process that the launcher says died first; it kills the others, whose connections may break
        before.
        """
        self._suspect_pid = self._suspect_pid or pid

    def hurry(self) -> None:
        """Report trouble if a rank does not answer within ANSWER_S from now, unless it or others send news."""
        self._hurried = True

    def enter(self, rank: Rank, now: float) -> None:
        """Add a rank that connected."""
        self.ranks.append(rank)
        self._note_news(now)

    def hear(self, rank: Rank, message: dict[str, Any], now: float) -> None:
        """Process a message other than an answer. Raises KeyError, TypeError or ValueError for an invalid one."""
        kind = message["kind"]
        self._note_news(now)
        rank.starting = kind == "starting"
        if kind == "bye":
            rank.ended = True
        elif kind == "failed":
            self._aborting_at = min(self._aborting_at, now + 0.8 * float(message["pause_s"]))
            rank.ended, rank.failure = True, str(message["why"])
            self.refusal = rank.failure if message.get("refused") else self.refusal
        elif kind == "cell":
            self.cell = message

    def take_answer(self, rank: Rank, message: dict[str, Any], now: float) -> None:
        """Process an answer: news if the rank has moved since its last one. Raises KeyError for an invalid one."""
        moved = message["at"] != rank.answer.get("at") and rank.answered in self._open_questions
        rank.answered, rank.answer = message["question"], message
        if moved:
            self._note_news(now)

    def lose(self, rank: Rank, now: float) -> None:
        """Record that the connection of a rank broke."""
        if not rank.ended:
            rank.died = True
            if self._first_broken is None and now < self._aborting_at:
                self._first_broken, self._broken_at = rank, now

    def judge(self, now: float) -> Question | Trouble | None:
        """Return the action due now; None: go on waiting."""
        if self.all_over:
            return None
        if self._first_broken and now - self._broken_at > self.grace_s:
            return self.death()
        if self._hurried:
            return self._judge_hurried(now)
        if self.only_answers:
            return self._judge_answers(now)
        patience_s = self.timeout_s if self.cell else START_FACTOR * self.timeout_s + self.start_s
        silence_s = now - self._last_news
        if silence_s > patience_s / 2 and len(self._open_questions) < (2 if silence_s > patience_s else 1):
            return self._question()
        if len(self._open_questions) == 2 and (silence_s > patience_s + ANSWER_S or self._all_answered()):
            pulse, self._last_pulse = self._last_pulse, self.pulse()
            if pulse == self._last_pulse:
                return self._hung(patience_s, "--timeout" if self.cell else self._patience_of_start())
            self._note_news(now)
        return None

    def death(self) -> Trouble | None:
        """Return the trouble that a rank died; None if none is known to."""
        return self._trouble(blame(self._reports())) if self._first_broken or self._confirmed_suspect() else None

    def _judge_answers(self, now: float) -> Question | Trouble | None:
        """Return trouble if a rank does not respond; progress is up to their program."""
        silence_s = now - self._last_news
        if not self._open_questions:
            return self._question() if silence_s > self.timeout_s / 2 else None
        if self._all_answered() and (len(self.ranks) >= self.size or self.may_be_absent):
            self._note_news(now)
        elif silence_s > self.timeout_s:
            heard_of = {rank.rank: self._report(rank) for rank in self.ranks}
            reports = heard_of if self.may_be_absent else self._reports()
            return self._trouble(f"{blame(reports)} for {self.timeout_s:g} s (--timeout)")
        return None

    def _patience_of_start(self) -> str:
        more = f" and {self.start_s:.3g} s, as ranks share cores" if self.start_s else ""
        return f"{START_FACTOR} times --timeout{more}"

    def _judge_hurried(self, now: float) -> Question | Trouble | None:
        """Judge silence since the last news as a hang; ranks that still connect or send messages only lack time."""
        if self._asked_in_hurry is None or self._last_news > self._asked_in_hurry:
            self._asked_in_hurry = now
            self._open_questions.clear()
            return self._question()
        is_silent = any(self._report(rank).state == "silent" for rank in self.ranks)
        if is_silent and now - self._asked_in_hurry > ANSWER_S:
            return self._hung(now - self._last_news, "--within")
        return None

    def _note_news(self, now: float) -> None:
        self._last_news = now
        self._open_questions.clear()

    def _question(self) -> Question:
        if not self._open_questions and len(self.ranks) >= self.size:
            self._last_pulse = self.pulse()  # what they had written by then, they have told
        self._last_question += 1
        self._open_questions.append(self._last_question)
        return Question(self._last_question)

    def _all_answered(self) -> bool:
        return all(rank.answered == self._last_question or rank.ended for rank in self.ranks)

    def _hung(self, silence_s: float, option: str) -> Trouble:
        reason = f"no progress for {silence_s:.3g} s ({option}); {blame(self._reports())}"
        return self._trouble(reason)._replace(hung=self.cell)

    def _trouble(self, reason: str) -> Trouble:
        ranks = counted(self.size, "rank")
        return Trouble(f"{self.cell['words']}, {ranks}" if self.cell else f"start of {ranks}", reason)

    def _confirmed_suspect(self) -> Rank | None:
        """Return the rank that the launcher named, if its connection did break; else None."""
        return next((rank for rank in self.ranks if rank.died and rank.pid == self._suspect_pid), None)

    def _reports(self) -> dict[int, Report]:
        reports = {rank: Report(None, "absent") for rank in range(self.size)}
        return reports | {rank.rank: self._report(rank) for rank in self.ranks}

    def _report(self, rank: Rank) -> Report:
        if rank is (self._confirmed_suspect() or self._first_broken):
            return Report(rank.host, "died")
        if rank.ended:
            return Report(rank.host, "there", AHEAD, "at its end")
        if self._open_questions and rank.answered not in self._open_questions:
            if rank.starting and not self.is_stopped(rank):
                return Report(rank.host, "there", [], "in MPI_Init")
            return Report(rank.host, "silent")
        answer = rank.answer if rank.answered in self._open_questions else {}
        return Report(rank.host, "there", answer.get("place", []), answer.get("doing", ""), answer.get("call"))
