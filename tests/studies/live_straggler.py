"""Is a rank that is 12 % slower named in a live job, and nobody where nobody is: by StepMonitor and by `stragglers`?

Jobs of 8 ranks whose steps of 20 ms sleep, and which wait asleep, so that they do not share cores. In half of the jobs
one rank, another one each time, sleeps 12 % longer. A clean job of the monitor has 200 steps, a slowed one ends with
its first alert; what `stragglers` judges is a run with as many repetitions. The exit status is 1 unless the slowed rank
is named, and nobody else, in all jobs that have one, by both. Who is accused in clean jobs is counted, with the rate
that such a count rules out in 95 of 100 cases, not judged: on a shared machine a rank that the kernel delays is slower.

python tests/studies/live_straggler.py .venv-openmpi/bin/python .venv-mpich/bin/python
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rank_programs import mpirun

JOBS, RANKS, STEPS, SLEEP_S, SLOWER_BY = 20, 8, 200, 0.020, 0.12
MOST_STEPS = 400  # of a job with a slowed rank, which ends with its first alert
MONITOR, REPORT = "StepMonitor", "stragglers"


class Told(NamedTuple):
    """Which ranks are named, of so many steps."""

    ranks: list[int]
    steps: int


def by_monitor(python: Path, ranks: int, slowed: int | None) -> Told:
    """A job under StepMonitor. A rank named -1: two groups."""
    steps, by = (STEPS, 0.0) if slowed is None else (MOST_STEPS, SLOWER_BY)
    given = ["slow", "--steps", str(steps), "--sleep", str(SLEEP_S), "--slower-by", str(by)]
    given += [] if slowed is None else ["--who", str(slowed), "--until-alert"]
    status, words = mpirun(python, ranks, "watched_steps.py", *given, timeout_s=600)
    found = re.search(r"^rank 0 after (\d+) steps: (.*)$", words, re.MULTILINE)
    if status or not found:
        raise SystemExit(f"a job ended with {status}: {words}")
    alerts = [(kind, rank) for kind, rank in json.loads(found[2]) if kind != "recovered"]
    return Told([rank if kind == "slow" else -1 for kind, rank in alerts], int(found[1]))


def by_report(python: Path, ranks: int, slowed: int | None) -> Told:
    """What `stragglers` says of a run with a phase of work."""
    with tempfile.TemporaryDirectory() as folder:
        run = [str(python), "-m", "allreduce_bench", "run", "-n", str(ranks), "-o", f"{folder}/run", "-a", "native"]
        run += ["--sizes", "4K", "--work", "sleep", "--compute", f"{SLEEP_S * 1e3:g}ms", "--iters", str(STEPS)]
        run += ["--no-reference-times", "--launches", "1"]
        run += [] if slowed is None else ["--inject-slowdown", f"{slowed}:{SLOWER_BY:.0%}"]
        judge = [str(python), "-m", "allreduce_bench", "stragglers", f"{folder}/run", "--format", "json"]
        for command in (run, judge):
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            if result.returncode:
                raise SystemExit(f"{' '.join(command)} ended with {result.returncode}: {result.stderr[-500:]}")
    return Told(causes_of(json.loads(result.stdout)), STEPS)


def causes_of(document: object) -> list[int]:
    """The ranks that are named as a cause, wherever lists of suspects stand in the document."""
    if isinstance(document, dict):
        own = [rank for suspect in document.get("suspects") or () if suspect["is_cause"] for rank in suspect["ranks"]]
        return own + [rank for key, value in document.items() if key != "suspects" for rank in causes_of(value)]
    return [rank for value in document for rank in causes_of(value)] if isinstance(document, list) else []


def limit_of_none(jobs: int) -> float:
    """The rate that none of so many rules out in 95 of 100 cases."""
    return 1 - 0.05 ** (1 / jobs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=Path, default=[Path(sys.executable)], help="of one MPI each")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of each kind")
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--by", nargs="+", choices=(MONITOR, REPORT), default=(MONITOR, REPORT))
    given = parser.parse_args()
    is_kept = True
    for python in given.interpreters:
        for by in given.by:
            judge = by_monitor if by == MONITOR else by_report
            named, steps, accused = 0, [], 0
            for number in range(given.jobs):
                who = number % given.ranks
                slowed, clean = judge(python, given.ranks, who), judge(python, given.ranks, None)
                named += slowed.ranks == [who]
                accused += bool(clean.ranks)
                steps.append(slowed.steps)
                print(f"{by}: rank {who} slowed: {slowed}; nobody: {clean}", file=sys.stderr, flush=True)
            limit = "" if accused else f" (95 % limit {limit_of_none(given.jobs):.0%})"
            print(
                f"{python.parent.parent.name}, {by}: {given.ranks} ranks, steps of {SLEEP_S * 1e3:.0f} ms, one "
                f"{SLOWER_BY:.0%} slower: named, and nobody else, in {named} of {given.jobs}, after "
                f"{median(steps):.0f} steps in the median, {max(steps)} at most; clean jobs of {STEPS} steps: somebody "
                f"accused in {accused} of {given.jobs}{limit}; load average {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            is_kept &= named == given.jobs
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
