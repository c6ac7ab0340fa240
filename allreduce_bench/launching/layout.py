"""How many ranks each node gets, as the start or a job of Slurm says; and which scheduler is on this node."""

import os
import re
from collections.abc import Mapping

from ..machine.node import cores
from ..runs.start import UNASKED, Start, fill_slots, share_evenly, slots_for

SCHEDULERS = {  # command -> the variable that its jobs have
    "sbatch": "SLURM_JOB_ID",
    "qsub": "PBS_JOBID",
    "bsub": "LSB_JOBID",
    "flux": "FLUX_JOB_ID",
}
CONTROLLER_S = 5.0  # for its answer
START_S, START_OF_RANK_S = 2.0, 0.4  # of a launch; of the work of one rank at its start: Python, imports, MPI_Init


def ranks_a_node(ranks: int, start: Start = UNASKED) -> int:
    """The most ranks that a node gets when `ranks` are started so; all of them where one node is all we know of."""
    return max(_ranks_of_nodes(ranks, start) or [ranks])


def ranks_on_same_cores(ranks: int, start: Start = UNASKED) -> int:
    """The most ranks that share the cores of one machine when `ranks` are started so: virtual hosts share them."""
    return ranks if start.virtual_rates_bytes_per_s else ranks_a_node(ranks, start)


def start_s(ranks: int, start: Start = UNASKED) -> float:
    """About how long a launch of so many ranks takes to its first cell, seconds: ranks of one core start in turn."""
    return max(START_S, START_OF_RANK_S * ranks_on_same_cores(ranks, start) / cores())


def nodes_for(ranks: int, start: Start) -> int | None:
    """On how many nodes `ranks` are started so; None: unknown."""
    return sum(count > 0 for count in _ranks_of_nodes(ranks, start)) or None


def ranks_of_job(environ: Mapping[str, str], ranks_per_node: int | None = None) -> int | None:
    """The ranks that a Slurm job has room for: as many on each of its nodes, or its tasks; None: no job says so."""
    nodes, tasks = environ.get("SLURM_JOB_NUM_NODES", ""), environ.get("SLURM_NTASKS", "")
    per_node = str(ranks_per_node or environ.get("SLURM_NTASKS_PER_NODE", ""))
    if nodes.isdigit() and per_node.isdigit() and (ranks_per_node or not tasks):
        return int(nodes) * int(per_node) or None
    return int(tasks) or None if tasks.isdigit() else sum(_slots_of_job(environ)) or None


def _ranks_of_nodes(ranks: int, start: Start) -> list[int]:
    """How many ranks each node gets: as `start` says, else as mpirun fills the nodes of a Slurm job; empty: unknown."""
    if start.ranks_per_node:
        return fill_slots([start.ranks_per_node] * -(-ranks // start.ranks_per_node), ranks)
    if start.hosts:
        return fill_slots([slots for _, slots in slots_for(start.hosts, ranks)], ranks)
    slots = _slots_of_job(os.environ)
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "")
    return share_evenly(ranks, int(nodes)) if not slots and nodes.isdigit() else fill_slots(slots, ranks)


def _slots_of_job(environ: Mapping[str, str]) -> list[int]:
    """The tasks on each node of a Slurm job, where it says so: such as 4(x2),3."""
    matches = re.findall(r"(\d+)(?:\(x(\d+)\))?", environ.get("SLURM_TASKS_PER_NODE", ""))
    return [int(tasks) for tasks, nodes in matches for _ in range(int(nodes or 1))]


def idle_scheduler(environ: Mapping[str, str]) -> str | None:
    """The command of a scheduler that exists here while no job runs, as on a login node; None: there is none.

    A Slurm whose programs are here but whose controller does not answer does not count.
    """
    if any(environ.get(name) for name in SCHEDULERS.values()):
        return None
    import shutil  # late: no rank asks

    commands = [name for name in SCHEDULERS if shutil.which(name, path=environ.get("PATH"))]
    return next((name for name in commands if name != "sbatch" or _controller_answers(environ)), None)


def _controller_answers(environ: Mapping[str, str]) -> bool:
    """Whether a Slurm controller, or the one in its place, says that it is up, within CONTROLLER_S."""
    import shutil  # late, too
    import subprocess

    program = shutil.which("scontrol", path=environ.get("PATH"))
    if program is None:
        return False
    try:
        command = [program, "ping"]
        ping = subprocess.run(command, env=dict(environ), capture_output=True, timeout=CONTROLLER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"is UP" in ping.stdout
