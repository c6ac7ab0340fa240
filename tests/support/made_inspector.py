"""Files as NCCL Inspector writes them, made: a job of known truth, each host with a clock of its own.

The fields and their order are those of NVIDIA/nccl, plugins/profiler/inspector (inspector_json.cc, README.md).
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

EPOCH_US = 1_752_867_229_000_000
CALL_US = 1000  # of the call itself, when all are there


class Job(NamedTuple):
    """What is made."""

    ranks: int = 8
    steps: int = 60
    per_node: int = 4
    work_us: float = 20_000.0
    slow: int | None = 5  # the rank that works longer
    slower_by: float = 0.12
    noise: float = 0.01  # of the work, relative
    version: str = "v4.2"
    verbose: bool = True
    id: str = "0xe62dedaa97644a"
    seed: int = 1


DEFAULT = Job()


def calls_of(job: Job) -> list[list[dict[str, Any]]]:
    """Of each rank the `coll_perf` of its calls."""
    random = np.random.default_rng(job.seed)
    work_us = job.work_us * np.exp(random.normal(0, job.noise, (job.steps, job.ranks)))
    if job.slow is not None:
        work_us[:, job.slow] += job.work_us * job.slower_by
    hosts = np.arange(job.ranks) // job.per_node
    offset_us, drift = 40_000 * hosts, 2e-6 * hosts  # of the clock of each host
    end_us, calls = 0.0, [[] for _ in range(job.ranks)]
    for step in range(job.steps):
        ready_us = end_us + work_us[step]
        end_us = ready_us.max() + CALL_US
        for rank in range(job.ranks):
            start, stop = ((at * (1 + drift[rank]) + offset_us[rank]) for at in (ready_us[rank], end_us))
            calls[rank].append(_perf(job, step, int(EPOCH_US + start), int(EPOCH_US + stop)))
    return calls


def _perf(job: Job, step: int, start: int, stop: int) -> dict[str, Any]:
    perf: dict[str, Any] = {"coll": "AllReduce"}
    if job.version not in ("v4.0", "v4.1"):
        perf |= {"coll_algo": "RING", "coll_proto": "SIMPLE"}
    perf |= {
        "coll_sn": step,
        "coll_msg_size_bytes": 1 << 20,
        "coll_exec_time_us": stop - start,
        "coll_timing_source": "kernel_gpu",
        "coll_algobw_gbs": 1.0,
        "coll_busbw_gbs": 1.75,
    }
    if job.verbose:
        channels = [{"channel_id": n, "kernel_start_sn": 3, "kernel_stop_sn": 6, "kernel_record_sn": 5} for n in (0, 1)]
        perf["event_trace_sn"] = {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": channels}
        stamps = [
            {"channel_id": n, "kernel_start_ts": start + n, "kernel_stop_ts": stop - n, "kernel_record_ts": stop}
            for n in (0, 1)
        ]
        # the CPU enqueues the call long before the GPU comes to it, and is done with that at once
        perf["event_trace_ts"] = {
            "coll_start_ts": start - 900,
            "coll_stop_ts": start - 895,
            "kernel_events": stamps,
        }
    return perf


def context(job: Job, rank: int) -> dict[str, Any]:
    """Header and metadata of the lines of a rank."""
    name = {"comm_name": "DP Group 0"} if job.version not in ("v4.0", "v4.1") else {}
    return {
        "header": {"id": job.id, **name, "rank": rank, "n_ranks": job.ranks, "nnodes": -(-job.ranks // job.per_node)},
        "metadata": {
            "inspector_output_format_version": job.version,
            "git_rev": "",
            "rec_mechanism": "nccl_profiler_interface",
            "dump_timestamp_us": EPOCH_US,
            "hostname": f"gpu{rank // job.per_node:02}",
            "pid": 4000 + rank,
        },
    }


def lines_of_rank(job: Job, rank: int, calls: list[dict[str, Any]]) -> list[str]:
    """The lines of one process."""
    own = context(job, rank)
    stats = {"coll_records": len(calls), "coll_dropped_total": 0, "coll_dropped_since_last_dump": 0}
    stats |= {"p2p_records": 0, "p2p_dropped_total": 0, "p2p_dropped_since_last_dump": 0}
    lines = [] if job.version == "v4.0" else [{**own, "dump_stats": stats}]
    lines += [{"coll_perf": call} if job.version == "v4.3" else {**own, "coll_perf": call} for call in calls]
    return [json.dumps(line, separators=(",", ":")) for line in lines]


def write_job(folder: Path, job: Job = DEFAULT, suffix: str = ".log") -> list[Path]:
    """The files of a job, one a rank."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank, calls in enumerate(calls_of(job)):
        host = f"gpu{rank // job.per_node:02}"
        paths.append(folder / f"{host}-pid{4000 + rank}{suffix}")
        paths[-1].write_text("\n".join(lines_of_rank(job, rank, calls)) + "\n")
    return paths
