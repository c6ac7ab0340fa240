"""What is looked at on the ranks of a launch before anything is measured or written. Pure: facts in, a refusal out."""

from collections import Counter
from collections.abc import Sequence

from ..machine.findings import singletons
from ..runs.plan import Launch, Plan
from ..runs.rows import RunError
from ..schedule.topology import Topology

MOST_NAMED = 8  # hosts in one sentence


def refuse_other_ranks(launch: Launch, seen: int) -> None:
    """Raises RunError where MPI sees another number of ranks than the launch has: each rank would work for itself."""
    for found in singletons(launch.ranks, seen):
        raise RunError(f"launch {launch.name}: {found['text']}: {found['effect']}; {found['advice']}")


def refuse_few_nodes(plan: Plan, launch: Launch, real: Topology, hosts: Sequence[str]) -> None:
    """Raises RunError where the ranks, `hosts[rank]`, share fewer nodes than --ranks-per-node asks for."""
    asked = plan.start.ranks_per_node
    if asked is None or len(real.nodes) >= -(-launch.ranks // asked):
        return
    expected, on = -(-launch.ranks // asked), Counter(hosts)
    named = ", ".join(f"{host} ({number})" for host, number in list(on.items())[:MOST_NAMED])
    named += f" and {len(on) - MOST_NAMED} more" if len(on) > MOST_NAMED else ""
    nodes = "1 node" if len(real.nodes) == 1 else f"{len(real.nodes)} nodes"
    each = "1 rank" if asked == 1 else f"{asked} ranks"
    raise RunError(
        f"launch {launch.name}: expected {expected} nodes of {each} (--ranks-per-node), found {nodes}: {named}; "
        "start it where there are so many nodes, or look how its launcher places ranks"
    )
