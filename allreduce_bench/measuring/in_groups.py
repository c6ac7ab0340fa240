"""Groups of --groups on every rank, split once per launch; all of them all-reduce at the same time.

Other modules see a party of ranks: a group, or all ranks without groups. Ranks in another order than the launcher's
(--order) are one party of all ranks: it all-reduces in its own numbers, and its times keep those of the launcher.
"""

from ..machine.node import host
from ..runs.groups import groups_of
from ..runs.rank_order import ranks_in_order
from ..watching.whereabouts import set_group_ranks
from .context import Context, Grouping, Party


def split(context: Context) -> Context:
    """Return `context` with its groups, or with all ranks in the plan's order. Collective.

    Raises OrderError on all ranks for an order of other hosts.
    """
    comm, order = context.comm, context.plan.order
    groups = (ranks_in_order(order, comm.allgather(host())),) if order else groups_of(context.plan.groups, comm.size)
    number = next(number for number, ranks in enumerate(groups) if comm.rank in ranks)
    ranks = groups[number]
    set_group_ranks(ranks)
    own_comm = comm.Split(number, ranks.index(comm.rank))
    party = Party(own_comm, context.real.of(ranks), context.topology.of(ranks), () if order else ranks)
    grouping = Grouping(groups, number, tuple(context.topology.of(ranks) for ranks in groups))
    return context._replace(grouping=grouping, group=party)
