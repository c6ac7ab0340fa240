"""Schedules of a cell, made on every rank, proved and priced on rank 0; and the compiled kernel on all ranks."""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from mpi4py import MPI

from .. import algorithms
from ..executing import Unsupported
from ..runs.plan import Cell
from ..schedule import Schedule, Step, elements
from ..schedule.algorithm import PROVED_UP_TO, Algorithm, AlgorithmError, Topology
from ..schedule.price import price
from ..schedule.verify import Proof, Refusal, verify
from ..units import format_ranges
from ..watching.whereabouts import doing, exclude
from .context import Context
from .sync import wait_quietly

LEAST = ("proved", "promised_same_bits", "promised_rank_order")  # of several groups the least counts
NOMINAL = {"alpha": 5e-6, "beta": 1e-10, "gamma": 1e-11}  # s, s/byte, s/byte: only decide between nearly equal paths

exclude(algorithms.__name__, Algorithm.__module__)  # so that an endless generator counts as no progress


def proved_steps(context: Context, cell: Cell) -> tuple[list[Step], dict]:
    """Return this rank's steps, and facts about the schedules of all: columns of CELLS; refused: see the reason."""
    steps, failure = own_steps(context, cell)
    if failures := [reason for reason in context.comm.allgather(failure) if reason]:
        return steps, {"state": "refused", "reason": failures[0]}
    algorithm = context.algorithms[cell.algorithm]
    proved = context.comm.bcast(proof(context, algorithm, cell) if context.comm.rank == 0 else None)
    if (segment := cut_at(algorithm, cell)) and not proved.facts.get("run_whole"):
        from ..schedule.cut import cut  # late: few cells are cut

        steps = cut(steps, segment)
    loads = _loads(context, steps)
    fingerprints = context.comm.allgather(_fingerprint(steps))
    digest = f"{crc32(repr(fingerprints).encode()):08x}"
    facts = proved.facts | {"schedule_digest": digest, **loads}
    if proved.fingerprints and (reason := ranks_with_other_steps(fingerprints, proved.fingerprints)):
        facts |= {"state": "refused", "reason": reason}
    return steps, facts


class ProvedSchedules(NamedTuple):
    """Result of the proof of all schedules: facts, and a fingerprint of each rank's steps (empty: not proved)."""

    facts: dict
    fingerprints: list[int]


def cut_at(algorithm: Algorithm, cell: Cell) -> int | None:
    """Return the elements of the segments into which the steps of `cell` are cut; None: they are not cut."""
    return None if cell.window is None or algorithm.segmented else cell.segment


@doing("making its schedule")
def own_steps(context: Context, cell: Cell) -> tuple[list[Step], str | None]:
    """Return the steps of this rank, or why a user's generator failed."""
    algorithm, party, count = context.algorithms[cell.algorithm], context.party, context.plan.element_count(cell)
    try:
        return algorithm.schedule(party.comm.rank, party.comm.size, party.topology, count, cell.segment or 1), None
    except AlgorithmError as error:
        return [], f"{party.within}{error}"


@doing("verifying the schedule")
def proof(context: Context, algorithm: Algorithm, cell: Cell) -> ProvedSchedules:
    """Prove and price the schedules of all ranks; above PROVED_UP_TO ranks take the declared cost. Rank 0 only.

    Groups are proved once per layout; their facts are those of the group that takes most, or promises least. If the
    steps of one of them may not be cut, none are, and `run_whole` says why.
    """
    layouts, segment = dict.fromkeys(layout for _, layout in context.parties), cut_at(algorithm, cell)
    proofs = {layout: _proof_for_layout(context, algorithm, cell, layout, segment) for layout in layouts}
    reasons = [proof.facts.get("run_whole", "") for proof in proofs.values()]
    if any(reasons) and not all(reasons):
        proofs = {layout: _proof_for_layout(context, algorithm, cell, layout, None) for layout in layouts}
        for proof in proofs.values():
            proof.facts["run_whole"] = max(reasons)
    fingerprints: list[tuple[int, int]] = []  # rank, fingerprint of its steps
    for ranks, layout in context.parties:
        facts = proofs[layout].facts
        if facts.get("state") == "refused":
            party = f"within ranks {format_ranges(ranks)}: " if len(context.parties) > 1 else ""
            return ProvedSchedules(facts | {"reason": f"{party}{facts['reason']}"}, [])
        fingerprints += zip(ranks, proofs[layout].fingerprints)
    facts_of_layouts = [proof.facts for proof in proofs.values()]
    facts = {
        name: (min if name in LEAST else max)(facts[name] for facts in facts_of_layouts) for name in facts_of_layouts[0]
    }
    return ProvedSchedules(facts, [fingerprint for _, fingerprint in sorted(fingerprints)])


def _proof_for_layout(
    context: Context, algorithm: Algorithm, cell: Cell, layout: Topology, segment: int | None
) -> ProvedSchedules:
    """Prove and price the schedules for one layout, cut at `segment`, or take the declared cost."""
    size, count, itemsize = len(layout.node_of), context.plan.element_count(cell), context.plan.itemsize
    if size > PROVED_UP_TO:
        cost = algorithm.cost(size, layout, count, cell.segment or 1)
        why_uncut = f"only verified steps are cut, and those of more than {PROVED_UP_TO} ranks are not verified"
        facts = {"proved": False, "run_whole": why_uncut if segment else ""}
        return ProvedSchedules(facts | _path_facts(cost.messages, cost.elements, cost.reduced, itemsize), [])
    try:
        whole = algorithm.schedules(size, layout, count, cell.segment or 1)
        schedules, why_uncut, proof = _proved(whole, count, segment)
    except (AlgorithmError, Refusal) as refusal:
        return ProvedSchedules({"state": "refused", "reason": str(refusal), "proved": False}, [])
    path = price(schedules, NOMINAL["alpha"], NOMINAL["beta"] * itemsize, NOMINAL["gamma"] * itemsize)
    facts = {
        "proved": True,
        "run_whole": why_uncut,
        "steps": proof.steps,
        "sent_nbytes": proof.sent * itemsize,
        "promised_same_bits": proof.same_bits,
        "promised_rank_order": proof.rank_ordered,
        "promised_depth": proof.depth,
        **_path_facts(path.messages, path.elements, path.reduced, itemsize),
    }
    return ProvedSchedules(facts, [_fingerprint(steps) for steps in schedules])


def _proved(schedules: list[Schedule], count: int, segment: int | None) -> tuple[Sequence[Schedule], str, Proof]:
    """Return the schedules to run, why they are not cut although asked for, and their proof. Raises Refusal."""
    if segment is None:
        return schedules, "", verify(schedules, count)
    from ..schedule.cut import cut_schedules  # late, too

    return cut_schedules(schedules, count, segment)


def _path_facts(messages: int, elements: int, reduced: int, itemsize: int) -> dict:
    return {
        "path_messages": messages,
        "path_nbytes": elements * itemsize,
        "path_reduced_nbytes": reduced * itemsize,
    }


def _fingerprint(steps: list[Step]) -> int:
    return crc32(repr(steps).encode())


def ranks_with_other_steps(made: list[int], proved: list[int]) -> str | None:
    """Return which ranks made other steps than rank 0 proved for them: an algorithm must be pure."""
    ranks = ", ".join(str(rank) for rank, (own, of_proof) in enumerate(zip(made, proved)) if own != of_proof)
    reason = "made other steps than were verified for it; an algorithm may use nothing but its arguments"
    return f"rank {ranks} {reason}" if ranks else None


def _loads(context: Context, steps: list[Step]) -> dict[str, int]:
    """Return the load of all ranks' schedules per call, as columns of CELLS.

    internode_nbytes, node_nbytes (of the node that sends or receives most), received_nbytes and reduced_nbytes (of the
    rank with the largest sum of both).
    """
    party, itemsize = context.party, context.plan.itemsize
    node_of = party.real.node_of
    node, sent, arrived, received, reduced = node_of[party.comm.rank], 0, 0, 0, 0
    for step in steps:
        received += elements(step.recv)
        reduced += elements(step.recv) if step.reduce else 0
        sent += elements(step.send) if step.dest is not None and node_of[step.dest] != node else 0
        arrived += elements(step.recv) if step.source is not None and node_of[step.source] != node else 0
    of_ranks = context.comm.allgather((context.real.node_of[context.comm.rank], sent, arrived, received, reduced))
    of_nodes: dict[int, list[int]] = {}
    for number, *across, _, _ in of_ranks:
        of_nodes[number] = [sum(pair) for pair in zip(of_nodes.get(number, (0, 0)), across)]
    *_, received, reduced = max(of_ranks, key=lambda load: load[3] + load[4])
    return {
        "internode_nbytes": sum(load[1] for load in of_ranks) * itemsize,
        "node_nbytes": max(map(max, of_nodes.values())) * itemsize,
        "received_nbytes": received * itemsize,
        "reduced_nbytes": reduced * itemsize,
    }


# Kernel of compiled executors on all ranks: one of them compiles it, the others load it from the cache.
#
# One rank per node goes before the others, since another processor or file system has another cache.


_ready: set[str] = set()  # dtypes compiled in this process


def compile_in_turns(comm: MPI.Comm, real: Topology, dtype: str) -> str | None:
    """Make the kernel for `dtype` ready on all ranks of `comm`; return why a rank could not, or None. Collective.

    `real` are the nodes of these ranks. Waiting ranks leave the processor to the one that compiles.
    """
    if comm.allreduce(dtype in _ready, MPI.LAND):
        return None
    reason, node = None, real.node_of[comm.rank]
    own_turn = 0 if comm.rank == 0 else 1 if real.node_of.index(node) == comm.rank else 2
    for turn in range(3):
        if turn == own_turn:
            reason = _reason_not_ready(dtype)
        wait_quietly(comm)
    reasons = [reason for reason in comm.allgather(reason) if reason]
    if not reasons:
        _ready.add(dtype)
    return reasons[0] if reasons else None


def _reason_not_ready(dtype: str) -> str | None:
    try:
        from ..executing.compiled import make_ready  # late: it takes a second

        make_ready(dtype)
    except (ImportError, AttributeError) as error:
        return f"compiled code needs numba, with types.ExternalFunction: {error}"
    except Unsupported as error:
        return str(error)
    return None
