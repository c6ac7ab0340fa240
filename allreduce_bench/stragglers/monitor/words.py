"""What StepMonitor says on stderr, in plain sentences. Ranks, nodes and times come in as values."""

from collections.abc import Callable, Sequence

from ...units import counted
from ..step_alarm import FEWEST_BLOCKS, GROUPS, RECOVERED, STEPS_OF_BLOCK, Alert, TooLittle
from .watchdog import Stall

MOST_NAMED = 8  # ranks in one sentence
MOST_ALONE = 4  # alerts of a block with sentences of their own

NO_READY = (
    "no rank calls ready(), so that nobody knows who is late; the times of steps are kept. "
    "Call ready() before the all-reduce of each step"
)
LOST = "RankLost"  # what ended the watch of these ranks
UNFINISHED = "the last steps are not known: not all ranks have come to the end of the `with`"


def namer(node_of: Sequence[int], nodes: Sequence[str]) -> Callable[[int], str]:
    """Return a formatter of ranks as `rank 5 on node n3`; of the only node `rank 5`."""
    return lambda rank: f"rank {rank} on node {nodes[node_of[rank]]}" if len(nodes) > 1 else f"rank {rank}"


def alert_sentences(alerts: Sequence[Alert], name: Callable[[int], str]) -> list[str]:
    """Return one sentence per alert, or one for all ranks that became slow, or recovered, at once if these are many."""
    told: list[str] = []
    for kind in dict.fromkeys(alert.kind for alert in alerts):
        alike = [alert for alert in alerts if alert.kind == kind]
        parts = [alike] if len(alike) > MOST_ALONE else [[alert] for alert in alike]
        told += [alert_sentence(part, name) for part in parts]
    return told


def alert_sentence(alerts: Sequence[Alert], name: Callable[[int], str]) -> str:
    """Say that ranks became or are no longer slow, by alerts of one kind; or that the ranks are two groups."""
    first, since = alerts[0], f"since step {min(alert.since_step for alert in alerts)}"
    ranks = first.ranks if first.kind == GROUPS else [alert.rank for alert in alerts]
    who = f"{_name_ranks(ranks, name)} {_verb(ranks)}"
    shares = [alert.slower_by * 100 for alert in alerts]
    low, high = f"{min(shares):.0f}", f"{max(shares):.0f}"
    slower = f"{who} {high if low == high else f'{low} to {high}'} % slower than the others {since}"
    z = f"(z {min(alert.z for alert in alerts):.1f}{' or more' * (len(alerts) > 1)})"
    if first.kind == GROUPS:
        unknown = "which of them is as it should be is not known"
        return f"step {first.step}: the ranks are two groups: {slower} {z}; {unknown}"
    if first.kind == RECOVERED:
        return f"step {first.step}: {who} as fast as the others again {since}"
    others = "; so are most ranks of its node" if len(alerts) == 1 and first.node >= 0 else ""
    return f"step {first.step}: {slower} {z}{others}"


def too_little_sentence(little: TooLittle) -> str:
    """Say why a slow rank might have been missed."""
    if little.ranks == 1:
        return "1 rank: there is no other one that it could be later than; the times of its steps are kept"
    begin = f"{little.steps} steps of {little.ranks} ranks"
    if little.least_told is None:
        return f"{begin} are too little to say who is slow; {FEWEST_BLOCKS * STEPS_OF_BLOCK} steps are the fewest"
    least = f"{little.least_told * 100:.0f} % of a step"
    return f"{begin} are too little: noise and clocks hide a rank that is slow by less than {least}"


def stall_sentence(stall: Stall, name: Callable[[int], str]) -> str:
    """Say that no step ends, and who is behind; or that a step has ended again."""
    who = f"{name(stall.told_by)}: " if stall.told_by else ""
    if stall.is_over:
        return f"{who}step {stall.step} has ended after {stall.stall_s:.0f} s: the stall is over"
    begin = f"{who}no step has ended for {stall.stall_s:.0f} s, step {stall.step} is in progress"
    if stall.told_by:
        return f"{begin}, and rank 0 does not ask: it goes on, is stopped, has ended, or cannot be reached"
    causes = []
    if stall.behind:
        are_late = f"{_verb(stall.behind)} not ready"
        if stall.all_ready or not stall.says_ready:
            are_late = f"{'have' if len(stall.behind) > 1 else 'has'} not ended it, as the others have"
        causes.append(f"{_name_ranks(stall.behind, name)} {are_late}")
    if stall.ahead:
        have, they = ("have", "they") if len(stall.ahead) > 1 else ("has", "it")
        causes.append(
            f"{_name_ranks(stall.ahead, name)} {have} ended it, and the others are still in it: {they} left out an "
            "all-reduce, in this step or before, or the others hang after it or left out a call of step()"
        )
    if stall.silent:
        either = "do" if len(stall.silent) > 1 else "does"
        causes.append(
            f"{_name_ranks(stall.silent, name)} {either} not answer (stopped, ended, or busy in a call that holds "
            "Python's lock)"
        )
    if not causes:
        causes.append(_nobody_words(stall))
    if stall.unreached:
        causes.append(f"{_name_ranks(stall.unreached, name)} cannot be asked: no connection to rank 0 since the start")
    return f"{begin}: {'; '.join(causes)}"


def _nobody_words(stall: Stall) -> str:
    if not stall.says_ready:
        return "which rank is late is not known, the program does not call ready()"
    if stall.all_ready and stall.unreached:
        return "the ranks that answer are ready"
    if stall.all_ready:
        return "all ranks are ready, the all-reduce itself does not end"
    return "no rank is ready"


def _verb(ranks: Sequence[int]) -> str:
    return "are" if len(ranks) > 1 else "is"


def _name_ranks(ranks: Sequence[int], name: Callable[[int], str]) -> str:
    named = [name(rank) for rank in ranks[:MOST_NAMED]]
    if len(ranks) > MOST_NAMED:
        named.append(counted(len(ranks) - MOST_NAMED, "more rank"))
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
