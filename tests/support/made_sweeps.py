"""Sweeps for tests: what submit and its jobs leave in a folder, without Slurm."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from made_runs import build_run

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Cell, Launch
from allreduce_bench.slurm.job_files import Submission, SubmissionChoices, SweepJob, name_of_job

ALGORITHMS, SIZES = ("native", "ring", "two_tree"), (8, 1024, 65536, 1 << 20)


def build_sweep(path: Path, done: dict[str, int] | None = None, **build: Any) -> RunFolder:
    """A run of 2, 4 and 8 ranks in 3 launches of 12 cells; of each launch in `done` only so many cells are there."""
    left = dict(done or {})

    def outcome(launch: Launch, cell: Cell) -> dict | None:
        if launch.name not in left:
            return {}
        left[launch.name] -= 1
        return {} if left[launch.name] >= 0 else None

    usual = {"algorithms": ALGORITHMS, "sizes": SIZES, "ranks": (2, 4, 8), "launches": 3, "outcome": outcome}
    return build_run(path, **(usual | build))


def submitted_job(name: str, job: str, **more: Any) -> SweepJob:
    """A job of one node and two ranks on it."""
    usual = {"run": ".", "nodes": 1, "ranks_per_node": 2, "only": "2r", "cells": 1, "expected_s": 600, "limit_s": 1800}
    return SweepJob(**{"name": name, "job": job, **usual, **more})


def submit(sweep: Path, jobs: dict[int, str], number: int = 1, collect: str = "199", **more: Any) -> None:
    """Write submission.json: {nodes: number of its job}, 2 ranks on each node."""
    folder = sweep / "jobs" / str(number)
    folder.mkdir(parents=True)
    measuring = [
        submitted_job(
            name_of_job(nodes, more.get("run", ".")), job, **{"nodes": nodes, "only": f"{2 * nodes}r", **more}
        )
        for nodes, job in jobs.items()
    ]
    command = ("allreduce-bench", "submit")
    choices, last = SubmissionChoices("generic"), submitted_job("collect", collect, only="", cells=0)
    submission = Submission(number, "2024-05-01T10:00:00+00:00", command, choices, tuple(measuring), last)
    (folder / "submission.json").write_text(json.dumps(asdict(submission)))


def record(run: Path, job: str, only: str, task: str | None = None, restart: int = 0, **more: Any) -> None:
    """Write what a start of a job wrote of itself."""
    (run / "jobs").mkdir(exist_ok=True)
    name = job if task is None else f"{job}_{task}"
    facts = {
        "job": job,
        "task": task,
        "restart": restart,
        "only": only,
        "nodes": ["n1", "n2"],
        "switches": {},
        "started": f"2024-05-01T1{restart}:30:00+00:00",
        "ended": None,
        "end": None,
        "why": None,
        "requeued": False,
        **more,
    }
    (run / "jobs" / f"job-{name}.{restart}.json").write_text(json.dumps(facts))


def read_job_records(folder: Path) -> dict[str, dict]:
    """The records that jobs wrote into a run, by the names of their files."""
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("jobs/job-*"))}
