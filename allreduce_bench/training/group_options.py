"""`workload --groups`: which ranks divide a model, which average its gradients, and on which nodes both are."""

from typing import TYPE_CHECKING, Any

from ..cli.types import OneLineError
from ..runs.groups import Groups, groups_of

if TYPE_CHECKING:
    from .tensor_parallel import Divided
    from .tensors import Model


def divided_by(options: dict[str, Any], model: "Model") -> "Divided":
    """The part of `model` that a rank has. Raises OneLineError, ModelError, ValueError: the groups do not fit."""
    from .tensor_parallel import divide

    ranks = _group_ranks(options)
    return divide(model, options["groups"], ranks, options["batch"], options["ready_by"], options["scale"])


def _group_ranks(options: dict[str, Any]) -> int:
    """How many ranks a group has: as many with each number of ranks."""
    if not options["ranks"]:
        raise OneLineError("--groups: the number of ranks is missing; add such as -n 8")
    groups = options["groups"]
    sizes = {len(groups_of(groups, number)[0]) for number in options["ranks"]}
    if len(sizes) > 1:
        raise OneLineError(
            f"--groups {groups}: groups have {min(sizes)} to {max(sizes)} ranks with these -n; expected one number "
            f"of ranks, or div:{min(sizes)}"
        )
    return sizes.pop()


def options_of_tensor(options: dict[str, Any]) -> dict[str, Any]:
    """The options by which all-reduces within a tensor-parallel group cost: the node has some ranks of the group."""
    return _on_nodes(options, groups_of(options["groups"], options["ranks"][0]))


def options_of_data(options: dict[str, Any]) -> dict[str, Any]:
    """The same for the ranks that have one place in all groups; without groups for all ranks."""
    if not options["groups"] or not options["ranks"]:
        return options
    return _on_nodes(options, tuple(zip(*groups_of(options["groups"], options["ranks"][-1]))))


def _on_nodes(options: dict[str, Any], groups: Groups) -> dict[str, Any]:
    """A log that does not state its number of ranks is refused, since there are two numbers.

    `groups_of_node`: how many groups all-reduce at the same time through the port of a node.
    """
    per_node, first = options["ranks_per_node"], groups[0]
    if per_node is None:
        return {**options, "ranks": None}
    nodes = [rank // per_node for rank in first]
    own = max(map(nodes.count, nodes))
    return {**options, "ranks": None, "ranks_per_node": own, "groups_of_node": per_node / own}
