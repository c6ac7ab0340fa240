"""Parties of ranks that all-reduce: all ranks, those of each group, or all in another order; split once per launch.

Groups all-reduce at the same time, each in its own numbers. Ranks in another order than the launcher's (--order) are
one party, which all-reduces in its own numbers; its times keep those of the launcher.
"""

from dataclasses import replace

from ..machine.node import host
from ..runs.groups import groups_of
from ..runs.rank_order import OrderError, ranks_in_order
from ..watching.whereabouts import set_group_ranks
from .context import Context, Party
from .started import RefusedLaunch


def split(context: Context) -> Context:
    """Return `context` with its groups, or with all ranks in the plan's order. Collective.

    Raises RefusedLaunch for an order of other hosts.
    """
    comm, plan = context.comm, context.plan
    try:
        hosts = comm.allgather(host())
        groups = (ranks_in_order(plan.order, hosts),) if plan.order else groups_of(plan.groups, comm.size)
    except OrderError as error:
        raise RefusedLaunch(str(error)) from error
    number = next(number for number, ranks in enumerate(groups) if comm.rank in ranks)
    ranks = groups[number]
    set_group_ranks(ranks)
    own_comm = comm.Split(number, ranks.index(comm.rank))
    real, topology = context.real.of(ranks), context.topology.of(ranks)
    party = Party(own_comm, real, topology, number, () if plan.order else ranks)
    return replace(context, party=party, parties=tuple((ranks, context.topology.of(ranks)) for ranks in groups))
