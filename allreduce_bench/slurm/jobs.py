"""The jobs for what is left of a sweep, one per run and number of nodes, and the one that collects; their scripts.

Their expected duration is estimated from the plan, and their time limit follows.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import ceil
from pathlib import Path

from ..measuring.budget import MIN_REPETITIONS
from ..runs.folder import RunFolder
from ..runs.injected import longest_phase_s
from ..runs.plan import COUNTED_S, IDLE_S, Cell, Plan, PlanError
from ..units import format_ranges
from .job_files import HERE, Submission, SubmissionChoices, SweepJob, name_of_job
from .script import make_script
from .system import System
from .times import duration

# cost of a launch
START_S, START_OF_NODE_S = 10.0, 0.1  # of a launch: Python and MPI on every node, and the clocks compared
CALL_S, BYTES_PER_S = 1e-4, 1e9  # of a slow all-reduce: its latency, and bandwidth of long vectors
CHECK_S, CHECKED_BYTES_PER_S = (
    0.05,
    2e8,
)  # of a cell: vectors are made, and compared before, during and after its timing
CHECK_CALLS = 8  # of long vectors: calls only for checks

# time limits
MARGIN = 2.0  # of a limit over the expected duration
STEP_S, LEAST_LIMIT_S = 300.0, 600.0  # limits are whole steps
SIGNAL_AT = re.compile(r"@\d+$")
SHORT_LIMIT_S, SHORT_WARNING_S = 300.0, 30  # below such a limit the job is warned only so long before it

# directives of sbatch, unless the system says others
JOB_NAME = "allreduce"  # before -8n
REQUEUED = {"requeue": "", "open-mode": "append"}
SIGNAL = "B:USR1@120"  # so long before the limit: finish this cell, then stop
COLLECT, COLLECT_LIMIT_S = "collect", 900.0
NOT_FOR_COLLECTING = ("time", "signal", "exclusive", "nodelist", "nodefile")  # a system's, meant for measuring


def jobs_of(
    sweep: Path, runs: Sequence[tuple[RunFolder, Plan]], choices: SubmissionChoices, system: System
) -> list[SweepJob]:
    """Return the jobs that measure the rest of the runs; with `choices.array` each launch is a task.

    Empty: nothing is left. Raises PlanError for a run that does not say how many ranks its nodes have.
    """
    jobs = [
        _job_of(HERE if folder.path == sweep else folder.path.name, folder, plan, ranks, choices, system)
        for folder, plan in runs
        for ranks in plan.ranks
    ]
    return [job for job in jobs if job]


def _job_of(
    run: str, folder: RunFolder, plan: Plan, ranks: int, choices: SubmissionChoices, system: System
) -> SweepJob | None:
    """Return the job for what is left of the launches with so many ranks; None: nothing."""
    ranks_per_node = plan.start.ranks_per_node
    if not ranks_per_node or ranks % ranks_per_node:
        layout = (
            f"{ranks} ranks, {ranks_per_node} on each node" if ranks_per_node else "a plan without --ranks-per-node"
        )
        raise PlanError(f"{folder.path}: {layout}: not a whole number of nodes; continue it with run --resume in a job")
    nodes = ranks // ranks_per_node
    launches_s: dict[int, float] = {}  # number -> time of all launches of that number
    cells = 0
    for launch in [launch for launch in plan.planned_launches() if launch.ranks == ranks]:
        finished = folder.finished(launch, "--skip-hung" in choices.steering)
        if left := [cell for cell in plan.cells(launch) if cell.key not in finished]:
            cells += len(left)
            launches_s[launch.number] = launches_s.get(launch.number, 0.0) + launch_s(plan, nodes, left)
    if not launches_s:
        return None
    expected_s = max(launches_s.values()) if choices.array else sum(launches_s.values())
    if choices.within_s is not None:
        expected_s = min(expected_s, START_S + choices.within_s)
    return SweepJob(
        name=name_of_job(nodes, run),
        run=run,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        only=f"{ranks}r",
        cells=cells,
        expected_s=expected_s,
        limit_s=choices.time_s or system.limit_s or limit_for(expected_s),
        array=format_ranges(launches_s) if choices.array else None,
    )


def collecting_job(jobs: Sequence[SweepJob]) -> SweepJob:
    """Return the job behind these; its limit is at most theirs, or five minutes."""
    limit_s = min(COLLECT_LIMIT_S, max(SHORT_LIMIT_S, *(job.limit_s for job in jobs)))
    return SweepJob(COLLECT, HERE, nodes=1, ranks_per_node=1, only="", cells=0, expected_s=0.0, limit_s=limit_s)


def name_of_run(ranks_per_node: int, several: bool) -> str:
    """Return the place in the sweep's folder of the run with so many ranks per node; a single one is the sweep
    itself.
    """
    return f"{ranks_per_node}-per-node" if several else HERE


def launch_s(plan: Plan, nodes: int, cells: Iterable[Cell]) -> float:
    """Return the seconds of one launch on so many nodes that measures these cells in full."""
    idle_s = IDLE_S if plan.energy else 0.0
    return START_S + START_OF_NODE_S * nodes + idle_s + sum(_cell_s(plan, cell) for cell in cells)


def _cell_s(plan: Plan, cell: Cell) -> float:
    """Return the seconds of one cell in one launch."""
    size_bytes = cell.size_bytes
    plain_s = CALL_S + size_bytes / BYTES_PER_S
    call_s = plain_s + longest_phase_s(plan.compute_s, plan.inject_slowdown)
    timed_s = plan.iters * call_s if plan.iters else max(plan.cell_time_s, MIN_REPETITIONS * call_s)
    untimed_s = plan.warmups * call_s + (plan.back_to_back + CHECK_CALLS) * plain_s
    untimed_s += max(COUNTED_S, plain_s) if plan.energy else 0.0
    return max(timed_s, plan.min_time_s) + untimed_s + CHECK_S + size_bytes / CHECKED_BYTES_PER_S


def limit_for(expected_s: float) -> float:
    """Return the time limit of a job that takes `expected_s`: twice that, in whole five minutes, ten at least."""
    return max(LEAST_LIMIT_S, ceil(MARGIN * expected_s / STEP_S) * STEP_S)


def warning_for(signal: str, limit_s: float) -> str:
    """Return the value of --signal, such as B:USR1@120, fitted to a short limit: Slurm may warn a minute too early."""
    warning_s = SHORT_WARNING_S if limit_s > 60 else SHORT_WARNING_S - 5
    return SIGNAL_AT.sub(f"@{warning_s}", signal) if limit_s < SHORT_LIMIT_S else signal


def scripts_of(submission: Submission, sweep: Path, system: System, venv: str) -> dict[str, str]:
    """Return the script of each job by the name of its file. Raises ScriptError.

    What is measured, and how ranks are started, the plan in the folder of the run says.
    """
    make = partial(make_script, made_by=submission.command, modules=system.modules, exports=system.variables)
    program, choices, collect = f"{venv}/bin/allreduce-bench", submission.choices, submission.collect
    site = {name: value for name, value in system.sbatch.items() if name not in NOT_FOR_COLLECTING}
    script_of = {job.script: _measuring_script(job, make, program, choices, sweep, system) for job in submission.jobs}
    script_of[collect.script] = make(
        directives={"job-name": f"{JOB_NAME}-{COLLECT}", "nodes": 1, "ntasks": 1, **REQUEUED, **site}
        | {"time": duration(collect.limit_s)},
        command=[program, "collect", "--", str(sweep)],
    )
    return script_of


def _measuring_script(
    job: SweepJob, make: Callable[..., str], program: str, choices: SubmissionChoices, sweep: Path, system: System
) -> str:
    run, within_s, signal = sweep / job.run, choices.within_s, system.sbatch.get("signal", SIGNAL)
    steering = [*([] if within_s is None else [f"--within={within_s:g}s"]), *choices.steering]
    return make(
        directives={
            "job-name": f"{JOB_NAME}-{job.name}",
            "nodes": job.nodes,
            "ntasks-per-node": job.ranks_per_node,
            "exclusive": "",
            **REQUEUED,
            **system.sbatch,
            "time": duration(job.limit_s),
            "signal": warning_for(signal, job.limit_s) if signal else None,
            "array": job.array,
        },
        command=[program, "run", "--resume", "--requeue", *steering, f"--output={run}", f"--only={job.only}"],
        run_json=RunFolder(run).run_json,
        is_array=job.array is not None,
    )
