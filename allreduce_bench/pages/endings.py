"""What `explain` writes, by the ending of the name of its output."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..algorithms import find
from ..cli.types import OneLineError
from ..schedule.algorithm import Algorithm
from ..schedule.topology import Topology
from ..schedule.verify import Proof

if TYPE_CHECKING:
    from .drawing import Drawing


@dataclass(frozen=True)
class Asked:
    """What `explain` is asked to show."""

    algorithms: tuple[str, ...]  # names or paths; one, unless they are compared
    ranks: int
    count: int | None  # elements; None: as the kind of output chooses
    segment: int | None  # elements
    ranks_per_node: int | None
    names: str  # how ranks are called: one of pages.names.STYLES
    no_limit: bool


def _text(asked: Asked) -> str:
    """Every round as text. Raises OneLineError, Refusal."""
    from ..cli.work_limit import refuse_long_text
    from ..schedule.draw import rounds
    from ..schedule.verify import verify as prove

    size = asked.ranks
    topology = Topology.filled(size, asked.ranks_per_node) if asked.ranks_per_node else Topology.one_node(size)
    count = size if asked.count is None else asked.count
    segment = asked.segment or max(count, 1)
    pages = []
    for chosen in find(list(asked.algorithms)).values():
        _refuse_unmet(chosen, size, topology)
        refuse_long_text(chosen, topology, count, segment, asked.no_limit)
        schedules = chosen.schedules(size, topology, count, segment)
        proof = prove(schedules, count)
        cost = f"{chosen.formula} ({'exact' if chosen.exact else 'bound'})"
        pages.append(f"{rounds(chosen.name, schedules, count, cost)}\n{_promises(proof)}\n")
    return "\n".join(pages)


def _page(asked: Asked) -> str:
    """One page of HTML. Raises AlgorithmError, Refusal."""
    from .page import page

    return page(asked.algorithms, asked.ranks, asked.count, asked.segment, asked.ranks_per_node, asked.names)


def _png(asked: Asked) -> bytes:
    """A picture of all rounds. Raises AlgorithmError, Refusal."""
    from .rounds_picture import png

    return png(*_drawing(asked))


def _gif(asked: Asked) -> bytes:
    """A moving picture. Raises AlgorithmError, Refusal."""
    from .moving_picture import gif

    return gif(*_drawing(asked))


def _drawing(asked: Asked) -> tuple["Drawing", tuple[str, ...]]:
    """What pictures show, and how they call the ranks. Raises AlgorithmError, Refusal."""
    from .drawing import drawing
    from .names import rank_names

    (algorithm,) = asked.algorithms
    drawn = drawing(algorithm, asked.ranks, asked.count, asked.segment, asked.ranks_per_node)
    return drawn, rank_names(asked.ranks, asked.names)


ENDINGS: dict[str, Callable[[Asked], str | bytes]] = {  # of -o -> what is written
    ".txt": _text,
    ".html": _page,
    ".png": _png,
    ".gif": _gif,
}


def _promises(proof: Proof) -> str:
    """What holds of every result, as a line below the rounds."""
    same, order = ("yes" if kept else "no" for kept in (proof.same_bits, proof.rank_ordered))
    return f"same bits on all ranks: {same}, rank order: {order}, roundings of an input: at most {proof.depth}"


def _refuse_unmet(algorithm: Algorithm, size: int, topology: Topology) -> None:
    if reason := algorithm.unmet(size, topology):
        raise OneLineError(reason)
