"""Restarts of a program whose rank was lost: the others are ended, and what is left starts again.

On one host what is left is the other ranks. On several, the host of a lost rank is left out with all its ranks, since
a rank seldom dies without a reason that lies there. Where Slurm has taken nodes from the job, these are left out
instead: when it ends what runs on one, others may be missed first.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..runs.hosts import drop_domain, expand, fill_slots, slots_for, slots_of
from ..runs.start import RESTART_VARIABLE, Start
from .own_program import Ending, Place

ALLOCATION, JOB = "SLURM_JOB_NODELIST", "SLURM_JOB_ID"
ANSWER_S = 30.0  # for Slurm to say which nodes a job has


class Left(NamedTuple):
    """Ranks, and the way to start them."""

    ranks: int
    start: Start


def run_with_restarts(
    run: Callable[[int, Start], Ending],
    ranks: int,
    start: Start,
    restarts: int,
    tell: Callable[[str], object],
) -> Ending:
    """Run a program to its end, at most `restarts` times again without what was lost; return how it ended last.

    Only the loss of a rank, or of a node of a job, starts it again: what a program ends by itself, it would end again.
    Raises what `run` does.
    """
    for number in range(1, restarts + 1):
        ending = run(ranks, start)
        if not ending.lost and not (ending.status and nodes_gone(_hosts(start))):
            return ending
        left = what_is_left(ranks, start, ending.lost)
        tell(f"warning: {ending.reason}")
        if not left.ranks:
            return ending._replace(reason="no rank is left to start again")
        tell(f"started again with {left.ranks} of {ranks} ranks (restart {number} of {restarts})")
        ranks, start = left
        os.environ[RESTART_VARIABLE] = str(number)
    return run(ranks, start)


def what_is_left(ranks: int, start: Start, lost: Sequence[Place]) -> Left:
    """Return the ranks and hosts without those that were lost; no ranks: nothing is left."""
    hosts = _hosts(start)
    slots = slots_for(hosts, ranks, start.ranks_per_node)
    bad = nodes_gone(hosts) or {drop_domain(place.host) for place in lost}
    good = [host for host in hosts if drop_domain(slots_of(host)[0]) not in bad]
    if len(hosts) < 2 or len(good) == len(hosts):
        return Left(max(0, ranks - len(lost)), start)
    on_hosts = fill_slots((number for _, number in slots), ranks)
    kept = sum(number for (name, _), number in zip(slots, on_hosts) if drop_domain(name) not in bad)
    return Left(kept, replace(start, hosts=tuple(good)))


def _hosts(start: Start) -> tuple[str, ...]:
    return start.hosts or tuple(expand(os.environ.get(ALLOCATION, "")))


def nodes_gone(hosts: Sequence[str]) -> set[str]:
    """Return those of `hosts` that the job of Slurm that this runs in had, and has no more; empty: nobody says so."""
    if not (had := set(map(drop_domain, expand(os.environ.get(ALLOCATION, ""))))):
        return set()
    words = ["squeue", "--noheader", f"--jobs={os.environ.get(JOB)}", "--format=%N"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=ANSWER_S, check=True)
        left = set(map(drop_domain, expand(answer.stdout)))
    except (OSError, ValueError, subprocess.SubprocessError):
        return set()
    if not left or not left <= had:
        return set()
    return had.intersection(drop_domain(slots_of(host)[0]) for host in hosts) - left
