"""Groups of --groups on every rank: split once per launch; one group of each layout is also measured alone, in turn.

Other modules see a party of ranks: a group, or all ranks without groups. Ranks in another order than the launcher's
(--order) are one party of all ranks: it all-reduces in its own numbers, and its times keep those of the launcher.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from mpi4py import MPI

from ..machine.node import host
from ..runs.groups import MOST_GROUPS, Groups, format_group_times, groups_of, stand_ins
from ..runs.plan import Cell
from ..runs.rank_order import ranks_in_order
from ..schedule.algorithm import Topology
from ..watching.whereabouts import doing, set_group_ranks
from .calls import CellTimes
from .cell import CellOutcome, outcome_of
from .context import Context, Grouping
from .sync import Barrier, Clock, wait_quietly

ASLEEP_S = 0.01  # polling interval of a rank whose group is idle, so as not to disturb the active group
Counters = Callable[[MPI.Comm, Topology], Callable[[], dict[str, int] | None]]


def split(context: Context, counters: Counters) -> Context:
    """Return `context` with its groups, or with all ranks in the plan's order. Collective.

    `counters` makes those of a communicator and its nodes. Raises OrderError on all ranks for an order of other hosts.
    """
    comm, order = context.comm, context.plan.order
    is_grouped = not order
    groups = (ranks_in_order(order, comm.allgather(host())),) if order else groups_of(context.plan.groups, comm.size)
    number = next(number for number, ranks in enumerate(groups) if comm.rank in ranks)
    ranks = groups[number]
    own_comm = comm.Split(number, ranks.index(comm.rank))
    real = context.real.of(ranks)
    set_group_ranks(ranks)
    group = context._replace(
        comm=own_comm,
        real=real,
        topology=context.topology.of(ranks),
        counters=counters(own_comm, real),
        first_calls={},
        given_up=set(),
        begun=set(),
        clock=Clock(own_comm, shared=real.node_of[own_comm.rank] == real.node_of[0]),
        sync=Barrier(own_comm),  # until the start of all ranks is chosen
        grouping=Grouping(number=number, ranks=ranks if is_grouped else ()),
    )
    layouts = tuple(context.topology.of(ranks) for ranks in groups)
    has_times = is_grouped and len(groups) <= MOST_GROUPS
    columns = partial(_times_of_groups, groups) if has_times else context.further_columns
    alone = tuple(stand_ins(list(zip(layouts, (context.real.of(ranks) for ranks in groups)))))
    grouping = Grouping(groups=groups, number=number, alone=alone, layouts=layouts)
    return context._replace(grouping=grouping, group=group, further_columns=columns)


def _times_of_groups(groups: Groups, entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Return, for every call, the maximum of exit - entry over the ranks of each group, as a column of calls."""
    spent = exit - entry
    times_s = np.column_stack([spent[:, list(ranks)].max(axis=1) for ranks in groups])
    return {"group_times_s": np.array(list(map(format_group_times, times_s)))}


@doing(counts="turn")
def outcome_alone(context: Context, cell: Cell, cells_left: int) -> CellOutcome:
    """Measure `cell` in one group of each layout, one after the other, while all other ranks sleep."""
    soloists = sorted({number for number in context.grouping.alone if number is not None})
    outcomes = []
    for turn in soloists:
        outcome = None
        if context.group is not None and turn == context.grouping.number:
            outcome = outcome_of(context.group, cell, cells_left * len(soloists))
        wait_quietly(context.comm, ASLEEP_S)
        if outcome is not None and outcome.times is not None and context.comm.rank == context.grouping.groups[turn][0]:
            outcome = outcome._replace(times=_times_among_all_ranks(outcome.times, context, turn))
        outcomes.append(context.comm.bcast(outcome, context.grouping.groups[turn][0]))
    return _joined_outcome(outcomes)


def _times_among_all_ranks(times: CellTimes, context: Context, turn: int) -> CellTimes:
    """Renumber the calls of a group, on its rank 0, to ranks and groups among all ranks."""
    ranks, calls = context.grouping.groups[turn], dict(times.calls)
    for name in ("slowest_rank", "last_rank"):
        if name in calls:
            calls[name] = [ranks[rank] for rank in calls[name]]
    silent: list[float | None] = [None] * len(context.grouping.groups)
    if "time_s" in calls:
        calls["group_times_s"] = [
            format_group_times([*silent[:turn], time_s, *silent[turn + 1 :]]) for time_s in calls["time_s"]
        ]
    stamps = None
    if times.stamps is not None and context.plan.record == "all":
        stamps = np.full((2, times.number, context.comm.size), np.nan)
        stamps[:, :, list(ranks)] = times.stamps
    within = context.group.within if context.group else ""
    findings = [{**finding, "text": f"{within}{finding['text']}"} for finding in times.findings]
    return times._replace(calls=calls, stamps=stamps, findings=findings)


def _joined_outcome(outcomes: Sequence[CellOutcome]) -> CellOutcome:
    """Join the outcomes of groups measured alone: warm-ups first, then group by group; or return the first failure."""
    failed = next((outcome for outcome in outcomes if outcome.facts["state"] != "done" or outcome.times is None), None)
    if failed is not None or len(outcomes) == 1:
        return failed or outcomes[0]
    times_of_groups = [outcome.times for outcome in outcomes if outcome.times is not None]
    warmups = [times.warmups for times in times_of_groups]
    columns = {name for name in times_of_groups[0].calls if all(name in times.calls for times in times_of_groups)}
    calls = {name: _warmups_first([times.calls[name] for times in times_of_groups], warmups) for name in columns}
    findings = [finding for times in times_of_groups for finding in times.findings]
    stamps = _joined_stamps([times.stamps for times in times_of_groups], warmups)
    return CellOutcome(_joined_facts(outcomes), CellTimes(calls, sum(warmups), {}, stamps, findings, None))


def _joined_facts(outcomes: Sequence[CellOutcome]) -> dict:
    """Return the facts of the first group, with the counts of all groups."""
    facts = dict(outcomes[0].facts)
    for name, join in (("wrong", sum), ("checks", sum), ("looks", sum), ("repetitions", sum), ("clock_error_s", max)):
        if values := [outcome.facts[name] for outcome in outcomes if outcome.facts.get(name) is not None]:
            facts[name] = join(values)
    return facts


def _joined_stamps(stamps_of_groups: Sequence[np.ndarray | None], warmups: Sequence[int]) -> np.ndarray | None:
    """Return the stamps [2, call, rank] of all groups, in the order of their calls; None if a group has none."""
    by_call = [list(np.moveaxis(stamps, 1, 0)) for stamps in stamps_of_groups if stamps is not None]
    return np.stack(_warmups_first(by_call, warmups), axis=1) if len(by_call) == len(stamps_of_groups) else None


def _warmups_first(values_of_groups: Sequence[Sequence], warmups: Sequence[int]) -> list:
    """Join the calls of several groups: their warm-ups, group by group, then the timed calls."""
    first = [value for values, number in zip(values_of_groups, warmups) for value in values[:number]]
    return first + [value for values, number in zip(values_of_groups, warmups) for value in values[number:]]
