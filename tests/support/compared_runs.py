"""Runs for tests of comparisons, without folders: rows as `summarise` gives them, times as launch medians."""

from collections.abc import Sequence

from allreduce_bench.comparison.conditions import ComparedRun
from allreduce_bench.runs.plan import Plan

FASTER, SLOWER = (1e-6, 1.01e-6, 0.99e-6, 1e-6), (2e-6, 2.02e-6, 1.98e-6, 2e-6)
HOST = "n1"


def row(medians_s: Sequence[float] = (), **values) -> dict:
    """A row of `ring` at 8 bytes and 2 ranks; done if it has times."""
    facts = {
        "competitor": "ring",
        "segment": None,
        "ranks": 2,
        "dtype": "float32",
        "op": "sum",
        "size_bytes": 8,
        "state": "done" if medians_s else "skipped",
        "reason": None if medians_s else "no memory",
        "time_definition": "max_local",
        "start": "barrier",
        "time_s": medians_s[0] if medians_s else None,
        "launch_medians": {f"2r-{number}": time_s for number, time_s in enumerate(medians_s, start=1)},
    }
    return {**facts, **values}


def launches_on(*hosts: str, jobs: Sequence[str] = (), ranks: Sequence[int] = (2, 4)) -> list[dict]:
    """The facts of launches of these ranks: on these hosts, launch k in the k-th job, if given."""
    return [
        {
            "launch": f"{of}r-{number}",
            "ranks": of,
            "oversubscribed": None,
            "hosts": list(hosts),
            "variables": {"SLURM_JOB_ID": job} if job else {},
        }
        for of in ranks
        for number, job in enumerate(jobs or [""], start=1)
    ]


def compared_run(
    name: str, *rows: dict, attempts: Sequence[dict] | None = None, unfinished: Sequence[str] = ()
) -> ComparedRun:
    """A run that holds these rows, on HOST."""
    facts = launches_on(HOST) if attempts is None else attempts
    return ComparedRun(name, Plan(("ring", "native"), (8,), (2,), seed=1), rows, facts, unfinished)
