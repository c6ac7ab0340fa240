"""What the loss of a rank costs: the way to an all-reduce of those that are left, and its time.

In: failures to make, an algorithm, a size. Out: seconds of each phase of the way, by ULFM or by starting again. Read in
this order: this file (failures, and what a launch is asked for), `rank` (what ranks do, the failure included),
`checkpoint` (the step to go on from), `ways` (launches, and the two ways from outside), `output` (for people and
programs), `command`.
"""

import json
import re
from typing import NamedTuple

from ..runs.hosts import drop_domain
from ..runs.typed_json import read_as
from ..units import parse_duration

KILL, STOP, HOST, LINK = "kill", "stop", "host", "link"
ON_HOSTS = (HOST, LINK)
MOMENT = re.compile(r"([^@]+)@(\d{1,9}|[a-z]+)(?:\+(.+))?")

# Phases of both ways, in their order; each ends when the last survivor has ended it
BY_ULFM = ("notice", "revoke", "agree", "shrink", "schedule", "binding", "result")
BY_RESTART = ("notice", "end", "start", "schedule", "binding", "result")
DURING = BY_ULFM[1:-1]  # phases at whose begin a further rank may be lost


class Failure(NamedTuple):
    """What is lost, and when: at the begin of a call or, of a further rank, of a phase of the recovery."""

    kind: str  # KILL, STOP, HOST or LINK
    whom: str  # a rank of the launch, or a host
    call: int | None = None  # from 1; None: at a phase
    phase: str = ""
    delay_s: float = 0.0  # from the begin of the call

    @property
    def rank(self) -> int | None:
        """Return the rank that is lost; None: those of a host."""
        return None if self.kind in ON_HOSTS else int(self.whom)

    def is_of(self, rank: int, host: str) -> bool:
        """Return whether this rank, on this host, is lost; hosts may be named without their domain."""
        if self.rank is not None:
            return self.rank == rank
        return drop_domain(self.whom) == drop_domain(host)

    @property
    def words(self) -> str:
        """Format as `kill 3@20`."""
        delay = f"+{self.delay_s * 1e3:g}ms" if self.delay_s else ""
        return f"{self.kind} {self.whom}@{self.phase or self.call}{delay}"


def parse_failure(kind: str, text: str) -> Failure:
    """Parse `3@20`, `3@20+0.5ms`, `3@shrink`, or `h3@20` of a host. Raises ValueError."""
    match = MOMENT.fullmatch(text.strip())
    if not match or not (kind in ON_HOSTS or re.fullmatch(r"\d{1,9}", match[1])):
        what, example = ("HOST", "h3@20") if kind in ON_HOSTS else ("RANK", "3@20")
        raise ValueError(f"{text!r}: expected {what}@CALL, such as {example}")
    whom, moment, delay = match.groups()
    delay_s = parse_duration(delay) if delay else 0.0
    if moment.isdigit():
        if int(moment) < 1:
            raise ValueError(f"{text!r}: calls count from 1")
        return Failure(kind, whom if kind in ON_HOSTS else str(int(whom)), int(moment), delay_s=delay_s)
    if moment not in DURING or delay or kind in ON_HOSTS:
        raise ValueError(f"{text!r}: expected the number of a call, or of a rank a phase: {', '.join(DURING)}")
    return Failure(kind, str(int(whom)), phase=moment)


class Request(NamedTuple):
    """What the ranks of one launch are asked for."""

    algorithm: str  # a name, or the path of a file
    elements: int  # float32
    ranks: int  # at the begin, before any was lost
    first: int  # calls done before this launch
    calls: int  # in total
    checkpoint: str  # path of the file
    every: int  # calls between checkpoints
    by_ulfm: bool
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> "Request":
        """Read what `to_json` wrote."""
        return read_as(cls, json.loads(text))
