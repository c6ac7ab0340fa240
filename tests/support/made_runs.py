"""Run folders for tests, written by the recorder without MPI: times follow a model, everything else can be set."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from allreduce_bench.algorithms import builtin, is_of_library
from allreduce_bench.runs.competitor import FLOOR_PREFIX, WAYS, Competitor
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.identified import Identified, Ran
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.runs.recorder import Recorder, create_run
from allreduce_bench.runs.schema import BARRIER, MAX_LOCAL, join_values
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import bound_path

ALPHA_S, BETA_S_PER_BYTE = 2e-6, 1e-10
SIZES = (8, 1024, 65536, 1 << 20, 1 << 22)
WARMUPS, TIMED = 2, 8
COLD = 2.0
WAITS_FROM = 65536  # bytes


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
    factor: Callable[[Launch, Cell], float] = lambda launch, cell: 1.0,
    seed: int = 1,
    choices: dict | None = None,
    timed: int = TIMED,
    call: Callable[[Launch, Cell, int], dict] = lambda launch, cell, repetition: {},
    cache: str = "warm",
    floors: bool = False,
    stamps: bool = False,
    unsealed: bool = False,
) -> RunFolder:
    """A run whose times are ALPHA_S * messages + BETA_S_PER_BYTE * bytes with 2 % of noise, the first call thrice.

    `algorithms` are competitors, as `-a` takes them.
    `outcome` may add to the facts of a cell (state, reason, wrong, same_bits); None: the cell was never started.
    `facts` replaces facts of the launches, `choices` fields of the plan. `factor` multiplies the times of a cell in a
    launch, `seed` is that of the noise. `timed`: calls of a cell and launch after its WARMUPS; `call` may change what
    is kept of one of them. With `stamps` entry and exit are kept of every call, too; launches are
    `unsealed` that were killed before their end. Cold calls take COLD times as
    long; the floors are those of `floor_s`.
    """
    names = {Competitor(name).algorithm: None for name in algorithms}
    segmented = tuple(name for name in names if name in builtin() and builtin()[name].segmented)
    fields = {
        "seed": 1,
        "warmups": WARMUPS,
        "segmented": segmented,
        "cache": cache,
        "floors": floors,
        **(choices or {}),
    }
    plan = Plan(tuple(algorithms), tuple(sizes), tuple(ranks), launches, **fields)
    folder = RunFolder(path)
    create_run(folder, plan, command)
    noise = random.Random(seed)
    for launch in plan.planned_launches():
        recorder = Recorder(folder, launch.name, {**launch_facts(launch.ranks), **(facts or {})}, sync=False)
        for cell in plan.cells(launch):
            changed = outcome(launch, cell)
            if changed is not None:
                times = _times(plan, launch, cell, timed, factor(launch, cell), noise)
                rows = [{**row, **call(launch, cell, row["call"])} for row in times]
                kept = {"stamps": recorder.stamps(np.zeros((2, len(rows), launch.ranks)))} if stamps else {}
                _keep(recorder, plan, launch, cell, {**changed, **kept}, rows)
        if not unsealed:
            recorder.seal()
    return folder


def identified(ranks: int, names: Mapping[tuple[str, int], Sequence[str]], asked: str = "yes", **changed) -> Identified:
    """What the library ran; `names`: (algorithm, bytes) -> those that fit; `asked`: of the forced ones."""
    ran = [
        Ran(
            algorithm, size_bytes, tuple(fitting), "((0+1)+(2+3))", True, True, None if algorithm == "native" else asked
        )
        for (algorithm, size_bytes), fitting in names.items()
    ]
    found = Identified(ranks, 1, "Open MPI 5.0.11", "float32", "sum", "", tuple(ran))
    return replace(found, **changed)


def waits(launch: Launch, cell: Cell) -> float:
    """A `factor`: native of 4 ranks takes 20 times as long from WAITS_FROM on, in launches 2 and 3."""
    late = cell.algorithm == "native" and launch.ranks == 4 and launch.number in (2, 3)
    return 20.0 if late and cell.size_bytes >= WAITS_FROM else 1.0


def launch_facts(ranks: int) -> dict:
    """What a launch of `ranks` on one node of 2 cores says of itself."""
    crowded = {
        "code": "oversubscribed",
        "level": "severe",
        "text": f"oversubscribed: {ranks} ranks on a node of 2 cores",
    }
    machine = {"host": "node1", "processor": "a processor", "cores": 2, "memory_nbytes": 1 << 33, "kernel": "Linux 6.1"}
    packages = {"mpi4py": "4.1.2", "numpy": "2.4.6"}
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


def floor_s(name: str, size_bytes: int) -> float:
    """Seconds of a floor in these runs, but for the noise."""
    return {"null": 1e-7, "copy": 2e-7 + 2e-11 * size_bytes, "reduce": 2e-7 + 3e-11 * size_bytes}[name]


def _keep(recorder: Recorder, plan: Plan, launch: Launch, cell: Cell, changed: dict, rows: list[dict]) -> None:
    messages, size_bytes = (0, 0.0) if cell.competitor.is_reference else _path(plan, launch, cell)
    timed = [row for row in rows if not row["warmup"] and row["valid"]]
    facts = {
        **asdict(cell),
        "ranks": launch.ranks,
        "nodes": 1,
        "size_bytes": cell.size_bytes,
        "state": "done",
        "stopped": "precision",
        "imb_t_max_s": sum(row["time_s"] for row in timed) / max(1, len(timed)),
        "clock_error_s": 1e-7,
        **({} if cell.competitor.is_reference else {"wrong": 0, "same_bits": True}),
        **(
            {}
            if not cell.competitor.is_ours or cell.competitor.way != WAYS[0]
            else {"path_messages": messages, "path_nbytes": size_bytes}
        ),
        **changed,
    }
    definitions, starts = (
        join_values(dict.fromkeys(row.pop(name, usual) for row in rows))
        for name, usual in (("time_definition", MAX_LOCAL), ("start", BARRIER))
    )
    facts = {"time_definition": definitions, "start": starts, "iterations": 1, **facts}
    ranks = {"slowest_rank": 0, "last_rank": launch.ranks - 1}
    recorder.cell(facts, [{**ranks, **row} for row in rows] if facts["state"] == "done" else [])


def _times(plan: Plan, launch: Launch, cell: Cell, timed: int, factor: float, noise: random.Random) -> list[dict]:
    """What is kept of each call, all of it a share of its time."""
    model_s = _model_s(plan, launch, cell)
    rows = []
    for number in range(WARMUPS + timed):
        time_s = factor * model_s * noise.gauss(1, 0.02) * (1 if number else 3)
        shares = {"osu_avg_s": 0.9, "global_s": 1.05, "arrival_skew_s": 0.1}
        derived = {name: share * time_s for name, share in shares.items()}
        common = {"valid": True, "time_s": time_s, **derived}
        rows.append({"call": number, "warmup": number < WARMUPS, **common})
    return rows


def _model_s(plan: Plan, launch: Launch, cell: Cell) -> float:
    """Seconds of a call, but for the noise."""
    if cell.competitor.is_reference:
        model_s = floor_s(cell.competitor.removeprefix(FLOOR_PREFIX), cell.size_bytes)
    else:
        messages, size_bytes = _path(plan, launch, cell)
        model_s = ALPHA_S * messages + BETA_S_PER_BYTE * size_bytes or 1e-6  # one rank alone sends nothing
    return model_s * (COLD if plan.cache == "cold" else 1)


def _path(plan: Plan, launch: Launch, cell: Cell) -> tuple[int, float]:
    """Messages and bytes on the critical path; of native and its mock-ups as in the lower bounds."""
    if is_of_library(cell.algorithm):
        return bound_path(cell.size_bytes, launch.ranks)
    algorithm = builtin()[cell.algorithm]
    cost = algorithm.cost(launch.ranks, Topology.one_node(launch.ranks), plan.element_count(cell), cell.segment or 1)
    return cost.messages, cost.elements * plan.itemsize
