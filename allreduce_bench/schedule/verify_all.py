"""Proves algorithms over many numbers of ranks, counts, segments and node layouts: a line of text for each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from . import Schedule
from .algorithm import Algorithm, AlgorithmError
from .rendezvous import Refusal
from .topology import Topology
from .verify import Proof, verify

NAME_WIDTH = 26  # of the first column


class ProofLine(NamedTuple):
    """One line of the account."""

    text: str
    refused: bool


@dataclass(frozen=True)
class Case:
    """One schedule to prove."""

    size: int
    topology: Topology
    count: int
    segment: int

    def __str__(self) -> str:
        return (
            f"{self.size} ranks on nodes {self.topology.describe()}, {self.count} elements, segments of {self.segment}"
        )


def layouts(size: int, ranks_per_node: int | None) -> list[Topology]:
    """One node; nodes of 2 and of 4 (the last may be smaller); and ranks dealt out to three nodes in turn."""
    if ranks_per_node:
        return [Topology.filled(size, ranks_per_node)]
    dealt = Topology.from_labels([rank % 3 for rank in range(size)])
    return list(dict.fromkeys([Topology.one_node(size), Topology.filled(size, 2), Topology.filled(size, 4), dealt]))


def cases(
    algorithm: Algorithm, size: int, counts: Sequence[int], segments: Sequence[int], ranks_per_node: int | None
) -> Iterator[Case]:
    """The schedules of `algorithm` at `size` ranks that differ; counts around `size` where none are given."""
    probes = []  # schedules of the layouts before
    for topology in layouts(size, ranks_per_node):
        if algorithm.unmet(size, topology):
            continue
        probe = algorithm.schedules(size, topology, size, size)
        if probe in probes:
            continue  # this layout changes nothing
        probes.append(probe)
        for count in counts or sorted({0, 1, max(size - 1, 0), size, size + 1}):
            segments_of_count = segments or (
                {max(count, 1), max(1, count // 5)} if algorithm.segmented else {max(count, 1)}
            )
            for segment in sorted(segments_of_count):
                yield Case(size, topology, count, segment)


def prove_all(
    algorithms: Mapping[str, Algorithm],
    sizes: Sequence[int],
    counts: Sequence[int] = (),
    segments: Sequence[int] = (),
    ranks_per_node: int | None = None,
) -> Iterator[ProofLine]:
    """Prove every case; one line per algorithm, or one that names the first refusal."""
    yield ProofLine(
        f"{'algorithm':<{NAME_WIDTH}}{'schedules':>9}  {'at ranks':>8}  {'steps':>6}  {'max sent':>8}  {'depth':>5}  "
        "rank order  same bits",
        False,
    )
    for algorithm in algorithms.values():
        yield _proof_line(algorithm, sizes, counts, segments, ranks_per_node)


def _proof_line(algorithm: Algorithm, sizes, counts, segments, ranks_per_node) -> ProofLine:
    name, proofs = algorithm.name.ljust(NAME_WIDTH), list[tuple[Case, Proof]]()
    try:
        for size in sizes:
            for case in cases(algorithm, size, counts, segments, ranks_per_node):
                schedules = algorithm.schedules(case.size, case.topology, case.count, case.segment)
                proofs.append((case, _proof(schedules, case)))
    except AlgorithmError as refusal:
        return ProofLine(f"{name}REFUSED  {refusal}", True)
    if not proofs:
        return ProofLine(f"{name}nothing to verify: needs {', '.join(sorted(algorithm.needs))}", False)
    case, proof = max(proofs, key=lambda pair: (pair[0].size, pair[0].count, pair[1].steps))
    sent = f"{proof.sent / case.count:.3f} n" if case.count else "0"
    ordered, same = (_how_often([getattr(proof, key) for _, proof in proofs]) for key in ("rank_ordered", "same_bits"))
    costs = f"{proof.steps:>6}  {sent:>8}  {proof.depth:>5}"
    return ProofLine(f"{name}{len(proofs):>9}  {case.size:>8}  {costs}  {ordered:<10}  {same}", False)


def _proof(schedules: list[Schedule], case: Case) -> Proof:
    try:
        return verify(schedules, case.count)
    except Refusal as refusal:
        raise AlgorithmError(f"{case}: {refusal}") from refusal


def _how_often(answers: list[bool]) -> str:
    return "always" if all(answers) else "sometimes" if any(answers) else "never"
