"""Ranks that are lost at random moments: does every launch end with a right result of those left, or a sentence?

python tests/studies/survive_kills.py [--count N] [--seed S] [--ranks P] [--minutes M] [--interpreter PYTHON…]
[--kinds kill two stop …] [--log FILE]. Each case draws an algorithm, a size, who is lost, at which call and how long
after its begin, and takes one way of `survive` (ULFM on Open MPI, starting again on every MPI), in turn. Prints a table
per kind, way and MPI: cases; those that ended with a right result by this way (right); those for which the second way
was taken (second way); wrong results; cases that were neither right nor said why (bad); processes left; the median of
each phase in ms, with the least and largest total. Every 0 of N has its 95 % upper limit. With the same --log, cases
that are in it are not repeated. Exit status 1 where anything was wrong, bad or left. Inside a lab (`lab run --hosts 4
-- …`) the kinds `host` and `link` are possible, too.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from interpreters import interpreters
from measured_runs import with_package

from allreduce_bench.survive import BY_RESTART, BY_ULFM
from allreduce_bench.survive.ways import PROGRAM

ALGORITHMS = ("ring", "two_tree", "recursive_doubling", "rabenseifner", "native")
SIZES = ("8", "4K", "64K", "1M")
CALLS, NOTICE = 12, "6s"
KINDS = ("kill", "two", "stop")
DEADLINE_S = 240.0


def upper_limit(of: int) -> float:
    """The 95 % upper limit of a probability of which none of `of` cases showed."""
    return 1 - 0.05 ** (1 / of) if of else 1.0


def losses(kind: str, ranks: int, draw: random.Random) -> list[str]:
    """Words that say who is lost, and when."""
    call, delay = draw.randint(1, CALLS), f"+{draw.uniform(0.01, 3):.2f}ms"
    if kind in ("host", "link"):
        return ["--kill-host" if kind == "host" else "--link-down", f"h{draw.randint(2, 4)}@{call}"]
    one, other = draw.sample(range(ranks), 2)
    if kind == "two":
        second = draw.choice([f"{other}@{call}{delay}", f"{other}@{draw.choice(['agree', 'shrink', 'binding'])}"])
        return ["--kill", f"{one}@{call}", "--kill", second]
    return [f"--{kind}", f"{one}@{call}{delay}"]


def case(python: Path, kind: str, way: str, ranks: int, draw: random.Random) -> dict[str, Any]:
    """One launch that loses ranks: what became of it."""
    words = ["-n", str(ranks), "-a", draw.choice(ALGORITHMS), "--sizes", draw.choice(SIZES), "--way", way]
    words += [*losses(kind, ranks, draw), "--calls", str(CALLS), "--checkpoint-every", "3", "--repetitions", "3"]
    words += ["--notice-within", NOTICE, "--format", "json"]
    if kind in ("host", "link"):
        words += ["--ranks-per-node", str(ranks // 4)]
    before = left()
    command = [str(python), "-m", "allreduce_bench", "survive", *words]
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            stdout, stderr = "", "hangs"
    outcome = json.loads(stdout)["outcomes"][0] if stdout.startswith("{") else {"state": "bad", "reason": stderr[-300:]}
    behind = len(left() - before)
    return {**outcome, "words": " ".join(words), "left": behind, "took_s": time.monotonic() - begun}


def left() -> set[str]:
    """The numbers of processes of ranks that are there."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if PROGRAM.encode() in words:
            found.add(path.parent.name)
    return found


def is_right(one: dict[str, Any]) -> bool:
    """Whether those left have a right result by the way that was asked for."""
    return one["state"] == ("recovered" if one["way"] == "ulfm" else "restarted")


def is_bad(one: dict[str, Any]) -> bool:
    """Whether a case neither has a right result nor says why."""
    return one["state"] == "bad" or (one["state"] not in ("recovered", "restarted") and not one["reason"])


def row(name: tuple[str, str, str], cases: Sequence[dict[str, Any]]) -> str:
    """A line of the table."""
    kind, way, mpi = name
    wrong, bad = sum(one["state"] == "wrong" for one in cases), sum(map(is_bad, cases))
    right = [one for one in cases if one["state"] != "bad" and is_right(one)]
    second = sum(one["state"] == "restarted" and one["way"] == "ulfm" for one in cases)
    phases = BY_ULFM if way == "ulfm" else BY_RESTART
    times = [f"{phase} {1e3 * median(one['phases_s'][phase] for one in right):.3g}" for phase in phases if right]
    totals = [1e3 * one["total_s"] for one in right]
    total = f"{median(totals):.0f} ({min(totals):.0f}-{max(totals):.0f})" if totals else "-"
    counts = f"{len(cases):5} {len(right):5} {second:10} {wrong:5} {bad:3} {sum(one['left'] for one in cases):4}"
    return f"{kind:5} {way:8} {mpi:16} {counts}  {total:>20}  {', '.join(times)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="of each kind and way")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS])
    parser.add_argument("--interpreter", nargs="*", type=Path)
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    os.environ.update(with_package())
    pythons = asked.interpreter or interpreters()
    kept = [json.loads(line) for line in asked.log.read_text().splitlines()] if asked.log and asked.log.exists() else []
    done = {one["key"]: one for one in kept}
    ends = time.monotonic() + 60 * asked.minutes
    for number in range(asked.count):
        for kind in asked.kinds:
            for python in pythons:
                for way in ("ulfm", "restart"):
                    key = f"{kind} {way} {python} {asked.ranks} {asked.seed} {number}"
                    is_first_mpi = python == pythons[0]
                    if key in done or time.monotonic() > ends or (way == "ulfm" and not is_first_mpi):
                        continue
                    one = case(python, kind, way, asked.ranks, random.Random(key))
                    done[key] = {**one, "key": key, "kind": kind, "mpi": python.parent.parent.name, "asked": way}
                    if asked.log:
                        with asked.log.open("a") as log:
                            log.write(json.dumps(done[key]) + "\n")
                    if is_bad(one) or one["state"] == "wrong" or one["left"]:
                        print(f"{one['state']}, {one['left']} left: {one['words']}: {one['reason']}", flush=True)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in done.values():
        groups[one["kind"], one["asked"], one["mpi"]].append(one)
    print("kind  way      MPI              cases right second way wrong bad left      total, ms  median of phases, ms")
    for name, cases in sorted(groups.items()):
        print(row(name, cases))
    of = len(done)
    faults = {
        "wrong results": sum(one["state"] == "wrong" for one in done.values()),
        "neither right nor said why": sum(map(is_bad, done.values())),
        "processes left behind": sum(one["left"] > 0 for one in done.values()),
    }
    for what, number in faults.items():
        limit = f" (95 % upper limit: {100 * upper_limit(of):.1f} %)" if not number else ""
        print(f"{what}: {number} of {of}{limit}")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
