"""What StepMonitor says, one plain sentence each. Ranks, nodes and times come in as values."""

from collections.abc import Callable, Sequence

from ..lateness.step_alarm import RECOVERED, Alert
from .stalls import Stall
from .watchdog import Unasked

MOST_NAMED = 8  # ranks in one sentence

NO_READY = (
    "no rank calls ready(), so that nobody knows who is late; the times of steps are kept. "
    "Call ready() before the all-reduce of each step"
)
UNFINISHED = "the last steps are not known: not all ranks have come to the end of the `with`"


def namer(node_of: Sequence[int], nodes: Sequence[str]) -> Callable[[int], str]:
    """`rank 5 on node n3` of a rank; without the node where there is one only."""

    def name(rank: int) -> str:
        return f"rank {rank} on node {nodes[node_of[rank]]}" if len(nodes) > 1 else f"rank {rank}"

    return name


def alert_sentence(alert: Alert, name: Callable[[int], str]) -> str:
    """A rank became slow, or is not slow any more."""
    who = f"step {alert.step}: {name(alert.rank)} is"
    if alert.kind == RECOVERED:
        return f"{who} as fast as the others again since step {alert.since_step}"
    share = f"{alert.slower_by * 100:.0f} %"
    others = "; so are most ranks of its node" if alert.node >= 0 else ""
    return f"{who} {share} slower than the others since step {alert.since_step} (z {alert.z:.1f}){others}"


def stall_sentence(stall: Stall, name: Callable[[int], str]) -> str:
    """No step ends, and who is behind; or a step has ended again."""
    if stall.is_over:
        return f"step {stall.step} has ended after {stall.stall_s:.0f} s: the stall is over"
    causes = []
    if stall.behind:
        causes.append(f"{_listed(stall.behind, name)} {_is(stall.behind)} not ready")
    if stall.silent:
        causes.append(
            f"{_listed(stall.silent, name)} {'do' if len(stall.silent) > 1 else 'does'} not answer "
            "(stopped, ended, or busy in a call that holds Python's lock)"
        )
    if not causes:
        causes.append(_nobody(stall))
    if stall.unreached:
        causes.append(f"{_listed(stall.unreached, name)} cannot be asked: no connection to rank 0 since the start")
    return f"no step has ended for {stall.stall_s:.0f} s, step {stall.step} is in progress: {'; '.join(causes)}"


def unasked_sentence(unasked: Unasked, name: Callable[[int], str]) -> str:
    """The same from a rank that rank 0 did not ask."""
    if unasked.is_over:
        return f"{name(unasked.rank)}: step {unasked.step} has ended after {unasked.stall_s:.0f} s: the stall is over"
    return (
        f"{name(unasked.rank)}: no step has ended for {unasked.stall_s:.0f} s, step {unasked.step} is in progress, "
        "and rank 0 does not ask: it is stopped, has ended, or cannot be reached"
    )


def twice_sentence(step: int, rank: int) -> str:
    """One rank calls ready() several times in a step; said once."""
    return f"step {step}: rank {rank} called ready() twice; the last call counts. Call it once in each step"


def unwritten_sentence(path: object, error: OSError) -> str:
    """A file cannot be written; said once."""
    return f"cannot write '{path}': {error.strerror or error}; the program goes on without this file"


def _nobody(stall: Stall) -> str:
    if not stall.says_ready:
        return "which rank is late is not known, the program does not call ready()"
    if stall.all_ready and stall.unreached:
        return "the ranks that answer are ready"
    if stall.all_ready:
        return "all ranks are ready, the all-reduce itself does not end"
    return "no rank is ready"


def _is(ranks: Sequence[int]) -> str:
    return "are" if len(ranks) > 1 else "is"


def _listed(ranks: Sequence[int], name: Callable[[int], str]) -> str:
    named = [name(rank) for rank in ranks[:MOST_NAMED]]
    if len(ranks) > MOST_NAMED:
        named.append(f"{len(ranks) - MOST_NAMED} more ranks")
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
