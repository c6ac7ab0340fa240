"""Ranks per node, from the start or a Slurm job."""

import os
import re
from collections.abc import Mapping

from ..machine.node import cores
from ..runs.hosts import fill_slots, share_evenly, slots_for
from ..runs.start import UNASKED, Start

SCHEDULERS = {  # command -> variable set in its jobs
    "sbatch": "SLURM_JOB_ID",
    "qsub": "PBS_JOBID",
    "bsub": "LSB_JOBID",
    "flux": "FLUX_JOB_ID",
}
START_S, START_OF_RANK_S = 2.0, 0.4  # per launch; per rank on a core: Python, imports, MPI_Init


def ranks_a_node(ranks: int, start: Start = UNASKED) -> int:
    """Return the most ranks on a node when `ranks` are started so; all of them if no other node is known."""
    return max(_ranks_of_nodes(ranks, start) or [ranks])


def ranks_on_same_cores(ranks: int, start: Start = UNASKED) -> int:
    """Return the most ranks that share one machine's cores when `ranks` are started so: virtual hosts share them."""
    return ranks if start.virtual_rates_bytes_per_s else ranks_a_node(ranks, start)


def start_s(ranks: int, start: Start = UNASKED) -> float:
    """Estimate the seconds from a launch to its first cell: ranks of one core start in turn."""
    return max(START_S, START_OF_RANK_S * ranks_on_same_cores(ranks, start) / cores())


def nodes_for(ranks: int, start: Start) -> int | None:
    """Return the number of nodes on which `ranks` are started so; None: unknown."""
    return sum(count > 0 for count in _ranks_of_nodes(ranks, start)) or None


def ranks_of_job(environ: Mapping[str, str], ranks_per_node: int | None = None) -> int | None:
    """Return the ranks that fit a Slurm job: `ranks_per_node` times nodes, or its tasks; None if no job says."""
    nodes, tasks = environ.get("SLURM_JOB_NUM_NODES", ""), environ.get("SLURM_NTASKS", "")
    per_node = str(ranks_per_node or environ.get("SLURM_NTASKS_PER_NODE", ""))
    if nodes.isdigit() and per_node.isdigit() and (ranks_per_node or not tasks):
        return int(nodes) * int(per_node) or None
    return int(tasks) or None if tasks.isdigit() else ranks_of_tasks(environ)


def ranks_of_tasks(environ: Mapping[str, str]) -> int | None:
    """Return the ranks for which a Slurm job has tasks; None if it has none, or names none."""
    return sum(_slots_of_job(environ)) or None


def _ranks_of_nodes(ranks: int, start: Start) -> list[int]:
    """Return the ranks of each node: as `start` says, else as mpirun fills a Slurm job's nodes; empty: unknown."""
    if start.ranks_per_node:
        return fill_slots([start.ranks_per_node] * -(-ranks // start.ranks_per_node), ranks)
    if start.hosts:
        return fill_slots([slots for _, slots in slots_for(start.hosts, ranks)], ranks)
    slots = _slots_of_job(os.environ)
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "")
    return share_evenly(ranks, int(nodes)) if not slots and nodes.isdigit() else fill_slots(slots, ranks)


def _slots_of_job(environ: Mapping[str, str]) -> list[int]:
    """Return the tasks on each node of a Slurm job, from values such as 4(x2),3; empty if unset."""
    matches = re.findall(r"(\d+)(?:\(x(\d+)\))?", environ.get("SLURM_TASKS_PER_NODE", ""))
    return [int(tasks) for tasks, nodes in matches for _ in range(int(nodes or 1))]
