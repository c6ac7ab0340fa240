"""What the library ran in a run, kept in its folder: looked at in launches that are not timed.

Its own all-reduce is looked at, and each algorithm that the plan tells it to use, at the plan's sizes, in launches like
those that are timed. No failure of it fails the run: a sentence says why something is not known.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf

import numpy as np

from ..launching import layout
from ..launching.this_start import Run, ThisStart
from ..runs.competitor import NATIVE
from ..runs.identified import Identified, Ran, file_of, keep_identified
from ..runs.library_algorithms import NAMES, NotForced, own_name, variables_at_start
from ..runs.plan import Plan
from ..units import in_ranks
from .evidence import Answer, is_asked
from .launch import Findings, Launches
from .look import Asked
from .order import dtype_for

SHARE = 0.5  # of the time until a launch is ended: sizes that would take longer are left out
OF_RUN = 0.1  # of the time that a run has taken, for the starts of further launches, and for bisections in them
BISECTING_S = 2.0  # for the bisections of a launch that is wanted in any case
NEAR = 1 / 64  # of a size: to which a switch between two sizes is bisected


def forced_of(plan: Plan) -> tuple[str, ...]:
    """Return the algorithms of a plan that the library is told to use."""
    return tuple(name for name in plan.competitors if name in NAMES)


def asked_of(plan: Plan, ranks: int, within_s: float) -> Asked | None:
    """Return what is looked at over so many ranks; None: nothing.

    Of runs in groups nothing, since the library chooses by the ranks that take part in a call; nor of ranks in another
    order than the launcher's, which the look has.
    """
    itemsize = np.dtype(dtype_for(ranks)).itemsize
    sizes = [size_bytes for size_bytes in plan.sizes if size_bytes and size_bytes % itemsize == 0]
    if ranks == 1 or not sizes or plan.groups or plan.order or NATIVE not in plan.algorithms:
        return None
    asked = Asked(sorted(sizes), forced=forced_of(plan), within_s=within_s)
    return asked._replace(bisects=True, share=NEAR, bisecting_s=BISECTING_S)


def identify(start: ThisStart, run: Run, tell: Callable[[str], object] = lambda words: None) -> list[str]:
    """Look at each number of ranks of the launches that no file tells of; return why some are not identified.

    Those over which launches failed are not tried again. `tell` is called before each look.
    """
    ranks_of: dict[str, list[int]] = {}
    counts = sorted({launch.ranks for launch in start.launches} - {launch.ranks for launch in run.failed})
    for ranks in counts:
        asked = asked_of(run.plan, ranks, SHARE * start.control.timeout_s)
        if asked is None or file_of(run.folder, ranks).exists() or start.warning.is_set:
            continue
        start_s = _expected_start_s(run, ranks)
        if start.control.identify == "auto" and not asked.forced:
            left_s = OF_RUN * (time.time() - start.started) / len(counts) / 2 - start_s  # of each of two launches
            if left_s < 0:
                continue  # whoever starts a short run waits for its times
            asked = asked._replace(bisecting_s=left_s)
        try:
            why = _identify(start, run, ranks, asked, start_s, tell)
        except (RuntimeError, ValueError, OSError) as error:
            why = str(error)
        if why:
            ranks_of.setdefault(why, []).append(ranks)
    return [
        f"which algorithm the library ran on {in_ranks(ranks)} is not identified: {why}"
        for why, ranks in ranks_of.items()
    ]


def _identify(
    start: ThisStart, run: Run, ranks: int, asked: Asked, start_s: float, tell: Callable[[str], object]
) -> str:
    """Look at one number of ranks and keep what is found; return why that is not done, empty: it is."""

    def left_s() -> float:
        """Return the seconds left once a launch has started."""
        within_s = start.control.within_s
        return inf if within_s is None else start.started + within_s - time.time() - start_s

    if left_s() <= 0:
        return "no time was left"
    tell(f"looking at which algorithm the library runs on {in_ranks([ranks])}, in launches that are not timed")
    timeout_s = start.control.timeout_s + 2 * start_s
    launches = Launches(run.launcher, ranks, run.plan.start, timeout_s, run.plan.thread_level)
    asked = asked._replace(within_s=min(asked.within_s or inf, left_s()))
    keep_identified(run.folder, identified(_find(launches, asked, lambda: left_s() > 0), run.launcher.library))
    return ""


def _find(launches: Launches, asked: Asked, has_time: Callable[[], bool]) -> Findings:
    """Look at the library's own choice and its algorithms, those that it takes at its start in launches of theirs."""
    environ, library = dict(os.environ), launches.launcher.library
    at_start = {}
    for name in asked.forced:
        with suppress(NotForced):  # the library does not have it
            at_start[name] = variables_at_start(name, library)
    of_launch = [name for name, variables in at_start.items() if variables]

    def find(forced: Sequence[str], variables: Mapping[str, str]) -> Findings:
        wanted = asked._replace(forced=forced, bisects=not variables)  # switches are those of its own choice
        return launches.find(wanted, {**environ, **variables}, launches.command, has_time)

    found = find([name for name in asked.forced if name not in of_launch], {})
    own = {name: find((), at_start[name]).answers for name in of_launch if has_time()}
    return found._replace(forced={**found.forced, **own})


def _expected_start_s(run: Run, ranks: int) -> float:
    """Return the seconds that a launch over so many ranks takes to start: as the longest did, else as estimated."""
    with_ranks = (attempt for attempt in run.folder.attempts() if attempt["ranks"] == ranks)
    took = [sum(s for s in attempt.get("startup", {}).values() if isinstance(s, float)) for attempt in with_ranks]
    return max(took, default=0.0) or layout.start_s(ranks, run.plan.start)


def identified(found: Findings, library: str) -> Identified:
    """Return what launches showed as it is kept."""
    of_each: Mapping[str, Mapping[int, Answer]] = {NATIVE: found.answers, **found.forced}
    ran = []
    for name, answers in of_each.items():
        for size_bytes, one in answers.items():
            asked = None if name == NATIVE else is_asked(one, own_name(name, library))
            ran.append(Ran(name, size_bytes, one.names, one.order, one.by_order, one.by_messages, asked))
    return Identified(found.ranks, found.nodes, library, found.dtype, "sum", found.not_counted, tuple(ran))
