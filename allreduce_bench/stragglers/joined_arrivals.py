"""The arrivals of a run, its cells and launches joined where the ranks and what is injected are the same."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..runs.folder import RunFolder
from ..runs.injected import Slowdown, slowdown_of
from ..units import in_ranks
from .arrivals import Arrivals
from .node_states import NodeState, node_states
from .run_arrivals import RunArrivals, arrivals_of_run


class Injected(NamedTuple):
    """What a run made late on purpose."""

    slowdowns: tuple[Slowdown, ...] = ()  # ranks whose phase of work was longer
    compute_s: float = 0.0  # the phase of work of the others
    pattern: str = ""  # by which ranks entered late


class JoinedArrivals(NamedTuple):
    """Cells and launches with the same ranks and the same pattern."""

    what: str  # of what they are: `8 ranks`, `8 ranks, --arrival ramp`
    arrivals: Arrivals
    machines: tuple[NodeState, ...]  # of each node
    injected: Injected = Injected()


def of_run(folder: RunFolder) -> list[JoinedArrivals]:
    """The arrivals of a run; of an imported run those of its communicator. Raises RunError.

    Empty: the run was measured without --compute and --arrival.
    """
    plan = folder.plan()
    slowdowns = tuple(map(slowdown_of, plan.inject_slowdown))
    groups: dict[tuple, list[RunArrivals]] = defaultdict(list)
    for one in arrivals_of_run(folder):
        pattern = str(one.cell.get("arrival") or "")
        groups[pattern, one.arrivals.node_of, one.arrivals.nodes].append(one)
    return [
        JoinedArrivals(
            ", ".join(filter(None, [in_ranks([len(node_of)]), pattern and f"--arrival {pattern}"])),
            joined(of_group),
            node_states((facts for facts in folder.attempts() if facts["ranks"] == len(node_of)), node_of),
            Injected(slowdowns, plan.compute_s, pattern),
        )
        for (pattern, node_of, _), of_group in groups.items()
    ]


def joined(parts: Sequence[RunArrivals]) -> Arrivals:
    """The steps of cells, launch after launch, in the order of their beginnings; each launch has a clock of its own.

    A step whose length is not known is left out.
    """
    first = parts[0].arrivals
    of_launch: dict[str, list[Arrivals]] = defaultdict(list)
    for part in parts:
        of_launch[part.launch].append(part.arrivals)
    launches = [_of_launch(cells) for cells in of_launch.values()]
    begins, end_s = [], 0.0
    for _, step_s, begin_s in launches:
        if len(begin_s):
            begins.append(begin_s - begin_s[0] + end_s)
            end_s = float(begins[-1][-1] + step_s[-1])
    return Arrivals(
        ready_s=np.concatenate([ready_s for ready_s, _, _ in launches]),
        step_s=np.concatenate([step_s for _, step_s, _ in launches]),
        clock_error_s=max(part.arrivals.clock_error_s for part in parts),
        node_of=first.node_of,
        nodes=first.nodes,
        begin_s=np.concatenate(begins) if begins else np.empty(0),
    )


def _of_launch(cells: Sequence[Arrivals]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ready times, lengths and beginnings of the steps of a launch, in order."""
    ready_s, step_s = np.concatenate([one.ready_s for one in cells]), np.concatenate([one.step_s for one in cells])
    begin_s = np.concatenate([*_begins(cells)])
    known = np.isfinite(step_s) & np.isfinite(begin_s)
    order = np.flatnonzero(known)[np.argsort(begin_s[known], kind="stable")]
    return ready_s[order], step_s[order], begin_s[order]


def _begins(cells: Sequence[Arrivals]) -> Iterator[np.ndarray]:
    for one in cells:
        yield one.begin_s if one.begin_s is not None else np.nanmin(one.ready_s, axis=1)
