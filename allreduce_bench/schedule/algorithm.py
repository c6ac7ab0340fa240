"""Algorithm as declared by its decorator; and the topology, which ranks share a node."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from inspect import cleandoc
from itertools import islice
from os.path import abspath
from typing import NamedTuple

from . import Step, drop_empty


class Topology(NamedTuple):
    """Node of every rank: `node_of[rank]`, numbered from 0 in the order of each node's lowest rank."""

    node_of: tuple[int, ...]

    @classmethod
    def from_labels(cls, labels) -> "Topology":
        """Number the nodes of any sequence of one hashable label per rank (host names, lowest ranks, …)."""
        node_of_label: dict = {}
        return cls(tuple(node_of_label.setdefault(label, len(node_of_label)) for label in labels))

    @classmethod
    def one_node(cls, size: int) -> "Topology":
        """Place all `size` ranks on one node."""
        return cls((0,) * size)

    @classmethod
    def filled(cls, size: int, ranks_per_node: int) -> "Topology":
        """Fill node after node with consecutive ranks; the last node may have fewer."""
        return cls(tuple(rank // ranks_per_node for rank in range(size)))

    def of(self, ranks) -> "Topology":
        """Return the topology of some of the ranks, renumbered from 0 in their order; equal layouts compare equal."""
        return Topology.from_labels(self.node_of[rank] for rank in ranks)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """Return the ranks of each node, ascending."""
        ranks: list[list[int]] = [[] for _ in range(len(set(self.node_of)))]
        for rank, node in enumerate(self.node_of):
            ranks[node].append(rank)
        return tuple(map(tuple, ranks))

    def describe(self) -> str:
        """Return the layout in one word: `2x4` for two nodes of four ranks, `4+3+1` for unequal nodes."""
        sizes = [len(node) for node in self.nodes]
        if len(set(sizes)) == 1:
            return f"{len(sizes)}x{sizes[0]}"
        return "+".join(map(str, sizes))


# Declaration of an algorithm


MAX_STEPS = 1_000_000  # of one rank: a longer schedule is a mistake, or too long to prove and to bind
PROVED_UP_TO = 256  # ranks; beyond, a proof takes longer than the calls

Generator = Callable[[int, int, Topology, int, int], Iterator[Step]]


class AlgorithmError(ValueError):
    """Error: an algorithm does not exist, cannot be loaded, or cannot run on these ranks."""


class Hops(NamedTuple):
    """Messages of one size on a critical path, over links of one kind."""

    messages: int
    elements: float  # of each
    between: bool = False  # between nodes, not within one


class Cost(NamedTuple):
    """Cost of a critical path: T = alpha * messages + beta * elements moved + gamma * elements reduced.

    `hops` lists messages by size and kind of link; empty: all are alike, between nodes if there are several.
    """

    messages: int
    elements: int
    reduced: int
    hops: tuple[Hops, ...] = ()

    @classmethod
    def of(cls, hops: Sequence[Hops], reduced: int) -> "Cost":
        """Return the cost of these messages, merged by size and link, and of reducing `reduced` elements."""
        messages_of: Counter = Counter()  # (elements, between) -> messages
        for hop in hops:
            messages_of[hop.elements, hop.between] += hop.messages
        elements = round(sum(size * messages for (size, _), messages in messages_of.items()))
        merged = tuple(Hops(messages, size, between) for (size, between), messages in messages_of.items())
        return cls(sum(messages_of.values()), elements, reduced, merged)


class Algorithm(NamedTuple):
    """All-reduce algorithm: its generator of steps and its declaration."""

    name: str
    generate: Generator
    cost: Callable[[int, Topology, int, int], Cost]  # (size, topology, count, segment)
    exact: bool
    formula: str
    needs: frozenset[str]
    segmented: bool
    bounded: bool
    on_request: bool
    known_as: str
    why: str  # why it takes so many rounds; empty, as the next two: not told
    best: str
    source: str
    summary: str
    doc: str  # of its file, then what its generator's docstring has below the summary
    module: str
    file: str = ""  # path of a user's file; empty: built in
    unfit: Callable[[int, Topology], str | None] | None = None  # needs of one named with parameters, in words

    def steps(self, rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
        """Yield the steps of `rank`, for any `size` >= 1, `count` >= 0 and `segment` >= 1 (elements).

        Raises AlgorithmError if the generator fails: a user's may.
        """
        generated = None
        try:
            generated = self.generate(rank, size, topology, count, segment)
            yield from drop_empty(generated)
        except (Exception, SystemExit) as error:  # a generator of the user's may call sys.exit
            line = (_failing_line(error, self.file) or _yielding_line(generated, self.file)) if self.file else ""
            raise AlgorithmError(
                f"{self.name}: {line}rank {rank} of {size}, {count} elements: failed: {type(error).__name__}: {error}"
            ) from error

    def schedule(self, rank: int, size: int, topology: Topology, count: int, segment: int) -> list[Step]:
        """Return the steps of `rank` as a list. Raises AlgorithmError if there are more than MAX_STEPS."""
        steps = list(islice(self.steps(rank, size, topology, count, segment), MAX_STEPS + 1))
        if len(steps) > MAX_STEPS:
            raise AlgorithmError(f"{self.name}: rank {rank} of {size}: more than {MAX_STEPS} steps; does it terminate?")
        return steps

    def line_of(self, rank: int, size: int, topology: Topology, count: int, segment: int, number: int) -> str:
        """Return `mine.py:23: `, the line of the `yield` of step `number` (from 1) of `rank`; empty: it is built in."""
        if not self.file:
            return ""
        generated = self.generate(rank, size, topology, count, segment)
        reached = sum(1 for _ in islice(drop_empty(generated), number))
        return _yielding_line(generated, self.file) if reached else ""

    def schedules(self, size: int, topology: Topology, count: int, segment: int) -> list[list[Step]]:
        """Return the steps of all ranks."""
        return [self.schedule(rank, size, topology, count, segment) for rank in range(size)]

    def unmet(self, size: int, topology: Topology) -> str | None:
        """Return in words which declared need `size` and `topology` do not meet, or None."""
        if "power-of-two" in self.needs and size & (size - 1):
            return f"{self.name} needs a power of two of ranks, not {size}"
        if "even" in self.needs and size % 2:
            return f"{self.name} needs an even number of ranks, not {size}"
        if "equal-nodes" in self.needs and len({len(node) for node in topology.nodes}) > 1:
            return f"{self.name} needs nodes of equal size, not {topology.describe()}"
        return self.unfit(size, topology) if self.unfit else None


def _failing_line(error: BaseException, file: str) -> str:
    """Return `mine.py:23: `, the last line of the user's file that an error came through; empty: it is of none."""
    found, trace = "", error.__traceback__
    while trace:
        if abspath(trace.tb_frame.f_code.co_filename) == abspath(file):
            found = f"{file}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found


def _yielding_line(generated: object, file: str) -> str:
    """Return `mine.py:23: `, the line of the `yield` at which a generator waits, or one that it yields from."""
    found = ""
    while frame := getattr(generated, "gi_frame", None):
        if abspath(frame.f_code.co_filename) == abspath(file):
            found = f"{file}:{frame.f_lineno}: "
        generated = getattr(generated, "gi_yieldfrom", None)
    return found


NEEDS = frozenset({"power-of-two", "even", "equal-nodes"})


def algorithm(
    *,
    cost: Callable[[int, Topology, int, int], Cost],
    exact: bool,
    formula: str,
    needs: set[str] | frozenset[str] = frozenset(),
    segmented: bool = False,
    bounded: bool = False,
    on_request: bool = False,
    known_as: str = "",
    why: str = "",
    best: str = "",
    source: str = "",
) -> Callable[[Generator], Algorithm]:
    """Declare the decorated generator an all-reduce algorithm under its own name.

    `cost(size, topology, count, segment)` is the critical path in messages, elements moved and elements reduced;
    `exact`: it equals the priced schedule if all blocks (and nodes) are equal, else it is an upper bound. `needs` may
    hold 'power-of-two', 'even' and 'equal-nodes'. `bounded`: its cost grows with p times n, so that it runs on many
    ranks only when it is named. `on_request`: runs measure it only when it is named. For its page: `why` says why it
    takes so many rounds, `best` what it is best for, `source` where it comes from. Raises AlgorithmError for another
    need.
    """
    if unknown := set(needs) - NEEDS:
        raise AlgorithmError(f"unknown need {', '.join(sorted(unknown))}; known: {', '.join(sorted(NEEDS))}")

    def declare(generate: Generator) -> Algorithm:
        own, of_file = cleandoc(generate.__doc__ or ""), generate.__globals__.get("__doc__") or ""
        summary, _, further = own.partition("\n\n")
        return Algorithm(
            name=generate.__name__,
            generate=generate,
            cost=cost,
            exact=exact,
            formula=formula,
            needs=frozenset(needs),
            segmented=segmented,
            bounded=bounded,
            on_request=on_request,
            known_as=known_as,
            why=why,
            best=best,
            source=source,
            summary=next(iter((summary or of_file).strip().splitlines()), ""),
            doc="\n\n".join(filter(None, [of_file.rstrip(), further])) if of_file else own,
            module=generate.__module__,
        )

    return declare
