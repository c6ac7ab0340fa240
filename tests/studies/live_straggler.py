"""Does StepMonitor name a rank that is 12 % slower in a live job, and nobody where nobody is?

Jobs of 8 ranks whose steps of 20 ms sleep, and which wait asleep, so that they do not share cores. In half of the jobs
one rank, another one each time, sleeps 12 % longer. A clean job has 200 steps, a slowed one ends with its first alert.
The exit status is 1 unless the slowed rank is named, and nobody else, in all jobs that have one. False alarms are
counted, not judged: on a shared machine a rank that the kernel delays is slower indeed.
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from statistics import median

from rank_programs import mpirun

JOBS, RANKS, STEPS, SLEEP_S, SLOWER_BY = 20, 8, 200, 0.020, 0.12
MOST_STEPS = 400  # of a job with a slowed rank, which ends with its first alert


def job(python: Path, ranks: int, steps: int, *options: str) -> tuple[int, list]:
    """Steps of a job, and its alerts: [kind, rank]."""
    given = ["slow", "--steps", str(steps), "--sleep", str(SLEEP_S), *options]
    status, words = mpirun(python, ranks, "watched_steps.py", *given, timeout_s=600)
    found = re.search(r"^rank 0 after (\d+) steps: (.*)$", words, re.MULTILINE)
    if status or not found:
        raise SystemExit(f"a job ended with {status}: {words}")
    return int(found[1]), json.loads(found[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interpreters", nargs="*", type=Path, default=[Path(sys.executable)], help="of one MPI each")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of each kind")
    parser.add_argument("--ranks", type=int, default=RANKS)
    given = parser.parse_args()
    is_kept = True
    for python in given.interpreters:
        named, until, alarms = 0, [], []
        for number in range(given.jobs):
            who = number % given.ranks
            slowed = ("--who", str(who), "--slower-by", str(SLOWER_BY), "--until-alert")
            steps, alerts = job(python, given.ranks, MOST_STEPS, *slowed)
            named += alerts == [["slow", who]]
            until.append(steps)
            alarms.append(job(python, given.ranks, STEPS, "--slower-by", "0")[1])
            print(f"rank {who} slowed: {alerts} after {steps} steps; nobody: {alarms[-1]}", file=sys.stderr, flush=True)
        false = [alerts for alerts in alarms if alerts]
        print(
            f"{python.parent.parent.name}: {given.ranks} ranks, steps of {SLEEP_S * 1e3:.0f} ms, one {SLOWER_BY:.0%} "
            f"slower: named correctly {named} of {given.jobs}, after {median(until):.0f} steps in the median, "
            f"{max(until)} at most; clean jobs of {STEPS} steps: {len(false)} false alarms of {given.jobs} "
            f"{false or ''}; load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        is_kept &= named == given.jobs
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
