"""Proofs of an algorithm over many cases: numbers of ranks, nodes, counts and segments; a line of text for each.

`verify` proves one case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from . import Parts, Schedule
from .algorithm import Algorithm, AlgorithmError, Topology
from .verify import Proof, Refusal, Values, replay, verify

NAME_WIDTH = 26  # first column of the table of proofs, unless a name is longer


@dataclass(frozen=True)
class Case:
    """Case to prove."""

    size: int
    topology: Topology
    count: int
    segment: int

    def __str__(self) -> str:
        return (
            f"{self.size} ranks on nodes {self.topology.describe()}, {self.count} elements, segments of {self.segment}"
        )


class _Proved(NamedTuple):
    """What was proved of one algorithm at one number of ranks."""

    proofs: list[tuple[Case, Proof]]
    at_any_length: list[bool]  # of each layout, if asked: whether the order of additions is the same at any length
    refusal: str = ""  # of the first case that is refused


Over = Callable[[Callable[[int], _Proved], Sequence[int]], Iterable[_Proved]]  # calls it with each number of ranks


class ProofLine(NamedTuple):
    """Line of the table of proofs."""

    name: str  # as wide as the first column
    rest: str
    proofs: int = 0
    refused: bool = False

    @property
    def text(self) -> str:
        return self.name + self.rest


def prove_all(
    algorithms: Mapping[str, Algorithm],
    sizes: Sequence[int],
    counts: Sequence[int] = (),
    segments: Sequence[int] = (),
    ranks_per_node: int | None = None,
    lengths: bool = False,
    over: Over = map,
) -> Iterator[ProofLine]:
    """Prove every case; yield one line per algorithm, or one that names the first refusal.

    With `lengths` it also says how often the order of additions is the same at any length. `over` goes over the numbers
    of ranks, as `map` does, perhaps by several cores.
    """
    width = max([NAME_WIDTH, *(len(algorithm.name) + 1 for algorithm in algorithms.values())])
    yield ProofLine(
        f"{'algorithm':<{width}}",
        f"{'schedules':>9}  {'at ranks':>8}  {'steps':>6}  {'max sent':>8}  {'depth':>5}  "
        f"rank order  same bits{'  any length' * lengths}",
    )
    for algorithm in algorithms.values():
        proved = over(partial(_prove_size, algorithm, counts, segments, ranks_per_node, lengths), sizes)
        yield _proof_line(f"{algorithm.name:<{width}}", algorithm, proved, lengths)


def _prove_size(algorithm: Algorithm, counts, segments, ranks_per_node, lengths: bool, size: int) -> _Proved:
    """Prove the cases of one number of ranks, up to the first that is refused."""
    proofs: list[tuple[Case, Proof]] = []
    try:
        for case in cases(algorithm, size, counts, segments, ranks_per_node):
            schedules = algorithm.schedules(case.size, case.topology, case.count, case.segment)
            proofs.append((case, _proof(algorithm, case, schedules)))
        layouts_tried = dict.fromkeys((case.size, case.topology) for case, _ in proofs) if lengths else ()
        return _Proved(proofs, [same_at_any_length(algorithm, *layout) for layout in layouts_tried])
    except AlgorithmError as refusal:
        return _Proved(proofs, [], str(refusal))


def _proof_line(name: str, algorithm: Algorithm, of_sizes: Iterable[_Proved], lengths: bool) -> ProofLine:
    """Return the line of one algorithm, which shows the largest of the cases."""
    proofs, at_any = list[tuple[Case, Proof]](), list[bool]()
    for of_size in of_sizes:
        if of_size.refusal:
            return ProofLine(name, f"REFUSED  {of_size.refusal}", refused=True)
        proofs += of_size.proofs
        at_any += of_size.at_any_length
    if not proofs:
        return ProofLine(name, f"nothing to verify: needs {', '.join(sorted(algorithm.needs))}")
    case, proof = max(proofs, key=lambda pair: (pair[0].size, pair[0].count, pair[1].steps))
    sent = f"{proof.sent / case.count:.3f} n" if case.count else "0"
    ordered, same = (_how_often([getattr(proof, key) for _, proof in proofs]) for key in ("rank_ordered", "same_bits"))
    line = f"{len(proofs):>9}  {case.size:>8}  {proof.steps:>6}  {sent:>8}  {proof.depth:>5}  {ordered:<10}  {same}"
    line = f"{line:<{len(line) + 9 - len(same)}}  {_how_often(at_any)}" if lengths else line
    return ProofLine(name, line, len(proofs))


def cases(
    algorithm: Algorithm, size: int, counts: Sequence[int], segments: Sequence[int], ranks_per_node: int | None
) -> Iterator[Case]:
    """Yield the distinct cases of `algorithm` at `size` ranks; counts around `size` if none are given."""
    fitting = [topology for topology in layouts(size, ranks_per_node) if not algorithm.unmet(size, topology)]
    if len(fitting) > 1 and not heeds_nodes(algorithm, size):
        fitting = fitting[:1]
    probes = []  # schedules of earlier layouts
    for topology in fitting:
        if len(fitting) > 1:
            probe = algorithm.schedules(size, topology, size, size)
            if probe in probes:
                continue  # same schedules as another layout
            probes.append(probe)
        for count in counts or sorted({0, 1, max(size - 1, 0), size, size + 1}):
            segments_of_count = segments or (
                {max(count, 1), max(1, count // 5)} if algorithm.segmented else {max(count, 1)}
            )
            for segment in sorted(segments_of_count):
                yield Case(size, topology, count, segment)


class _Sealed(Topology):
    """Topology that cannot be read."""

    def _refuse(self, *_):
        raise AttributeError

    __getattribute__ = __iter__ = __getitem__ = __len__ = __hash__ = __eq__ = __bool__ = _refuse  # type: ignore


def heeds_nodes(algorithm: Algorithm, size: int) -> bool:
    """Return whether the steps of some rank may depend on the nodes: whether its generator reads the topology."""
    try:
        algorithm.schedules(size, _Sealed(()), size, size)
    except AlgorithmError:
        return True
    return False


def layouts(size: int, ranks_per_node: int | None) -> list[Topology]:
    """Return one node; nodes of 2 and of 4 (the last may be smaller); and ranks dealt out to three nodes in turn."""
    if ranks_per_node:
        return [Topology.filled(size, ranks_per_node)]
    dealt = Topology.from_labels([rank % 3 for rank in range(size)])
    return list(dict.fromkeys([Topology.one_node(size), Topology.filled(size, 2), Topology.filled(size, 4), dealt]))


def proof_of(algorithm: Algorithm, case: Case, schedules: Sequence[Schedule]) -> Proof:
    """Prove the steps of an algorithm in this case.

    Raises Refusal if they are no all-reduce, with the line of a user's file that yields the step.
    """
    try:
        return verify(schedules, case.count)
    except Refusal as refusal:
        line = algorithm.line_of(refusal.rank, case.size, case.topology, case.count, case.segment, number=refusal.round)
        raise Refusal(refusal.round, refusal.rank, refusal.reason, line) from refusal


def _proof(algorithm: Algorithm, case: Case, schedules: Sequence[Schedule]) -> Proof:
    try:
        return proof_of(algorithm, case, schedules)
    except Refusal as refusal:
        raise AlgorithmError(f"{case}: {refusal}") from refusal


def _how_often(answers: list[bool]) -> str:
    return "always" if all(answers) else "sometimes" if any(answers) else "never"


def same_at_any_length(algorithm: Algorithm, size: int, topology: Topology, counts: Sequence[int] = ()) -> bool:
    """Return whether each element is added up in the same order, whatever the length of the vector around it.

    Tried for `counts`, by default some around `size` and its multiples, with segments of a fixed length. Where it is
    not so, the same data may have other bits at another length. Raises AlgorithmError, Refusal.
    """
    values, segment, longest = Values(size), max(1, size // 2), list[list[int]]()
    some = {1, size - 1, size, size + 1, 2 * size + 1, 3 * size, 57} - {0}
    for count in sorted(counts or some, reverse=True):
        schedules = algorithm.schedules(size, topology, count, segment)
        parts = Parts(schedules, count)
        _, state = replay(schedules, parts, values)
        orders = [[value for part, value in enumerate(held) for _ in parts.span(part)] for held in state]
        longest = longest or orders
        if any(order != known[:count] for order, known in zip(orders, longest)):
            return False
    return True
