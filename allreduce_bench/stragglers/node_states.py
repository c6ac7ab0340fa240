"""What the kernels of a run's nodes counted while ranks ran: throttling, clocks, other processes; see `core_load`."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..machine.core_load import DISTURBED, LOW_CLOCK, core_use


class NodeState(NamedTuple):
    """The worst of all launches of one node."""

    throttled: int = 0  # how often clocks were lowered for heat or power, the most of a core
    clock: float = 1.0  # of a busy core, over its highest
    others: float = 0.0  # share of the hardware threads that other processes used
    stolen: float = 0.0  # share that the hypervisor took

    @property
    def is_noteworthy(self) -> bool:
        """Whether some of it explains slow ranks."""
        return bool(self.throttled) or self.clock < LOW_CLOCK or max(self.others, self.stolen) >= DISTURBED


def node_states(attempts: Iterable[Mapping], node_of: tuple[int, ...]) -> tuple[NodeState, ...]:
    """The state of each node, numbered as in `node_of`, from the facts of launches of as many ranks."""
    states = [NodeState()] * (1 + max(node_of, default=-1))
    for facts in attempts:
        hosts = facts.get("hosts") or []
        counted = {node.get("host"): node for node in facts.get("counted") or ()}
        for rank, host in enumerate(hosts if len(hosts) == len(node_of) else ()):
            if host in counted:
                states[node_of[rank]] = _worse(states[node_of[rank]], counted[host])
    return tuple(states)


def _worse(state: NodeState, counted: Mapping) -> NodeState:
    use = core_use(dict(counted))
    return NodeState(
        max(state.throttled, counted.get("throttled") or 0),
        min(state.clock, counted.get("clock") or 1.0),
        max(state.others, use.others if use else 0.0),
        max(state.stolen, use.stolen if use else 0.0),
    )
