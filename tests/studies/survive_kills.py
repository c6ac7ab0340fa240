"""Ranks that are lost at random moments: does every launch end with a right result of those left, or a sentence?

python tests/studies/survive_kills.py [--lab] [--count N] [--seed S] [--ranks P] [--minutes M] [--interpreter PYTHON…]
[--kinds kill two stop …] [--ways ulfm restart] [--notice-within T] [--timeout T] [--log FILE]. Each case draws an
algorithm, a size, who is lost, at which call and how long after its begin, and takes one way of `survive` (ULFM on Open
MPI, starting again on every MPI), in turn. With --lab the ranks are on four virtual hosts; the kinds `host` and `link`
are possible, too. Prints a table per kind, way and MPI: cases; those that ended with a right result by this way
(right); those for which the second way was taken (second way); wrong results; cases that were neither right nor said
why (bad); cases that left processes, files, locks of files or links that are down behind (left; files on a host that is
killed do not count); the median of the total in ms with its 95 % interval and its range, and of each phase. Every 0 of
N has its 95 % upper limit. With the same --log, cases that are in it are not repeated. Exit status 1 where anything was
wrong, bad or left.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from interpreters import interpreters
from measured_runs import with_package

from allreduce_bench.lab.lab import INTERFACE, Room, room, variables_in
from allreduce_bench.survive import BY_RESTART, BY_ULFM
from allreduce_bench.survive.ways import PROGRAM

ALGORITHMS = ("ring", "two_tree", "recursive_doubling", "rabenseifner", "native")
SIZES = ("8", "4K", "64K", "1M")
CALLS = 12
KINDS, KINDS_IN_LAB = {"kill": 50, "two": 50, "stop": 50}, {"kill": 50, "host": 15, "stop": 15, "link": 15}  # cases
HOSTS, RATE = 4, 1e9 / 8  # of the lab; bytes/s
DEADLINE_S = 240.0
GONE_S = 30.0  # in which processes that were ended go away: over a link that was down TCP tries again after seconds


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


class Place(NamedTuple):
    """Where cases run, and what they may leave behind there."""

    made: Room | None  # None: this machine
    folders: tuple[Path, ...]  # for temporary files, nobody else's, as seen from here

    def run(self, words: Sequence[str]) -> tuple[str, str]:
        """Run a command; return its stdout and stderr, which says `hangs` where it had to be ended."""
        environ: dict[str, str] = {**os.environ, "TMPDIR": str(self.folders[0])}
        if self.made:
            words, environ = self.made.command(0, words), variables_in(self.made, os.environ)
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
            try:
                return process.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.terminate()
                return "", "hangs"

    def there(self) -> set[str]:
        """Processes of ranks (in a lab: all), files, locks of these files and links that are down."""
        space = self.made and _space(self.made)
        found, numbers = set[str](), set[str]()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes()  # none: it has ended, and waits for its parent
                if words and (os.readlink(process / "ns/pid") == space if self.made else PROGRAM.encode() in words):
                    found.add(f"process {process.name} {words.replace(bytes(1), b' ').decode()[:80]}")
        for path in (path for folder in self.folders for path in folder.rglob("*")):
            with contextlib.suppress(OSError):
                about = path.stat()
                numbers.add(f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}")
                found.add(f"file {path}")
        locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        found |= {f"lock {' '.join(one)}" for one in locks if one[-3] in numbers}
        for number in range(HOSTS if self.made else 0):
            assert self.made
            command = self.made.command(number, ["cat", f"/sys/class/net/{INTERFACE}/operstate"])
            state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
            if state != "up":
                found.add(f"link of h{number + 1} {state}")
        return found

    def left(self, before: set[str], killed_host: int | None) -> list[str]:
        """What is there, and was not before, once processes had time to end; but for files of a host that is lost."""
        deadline = time.monotonic() + GONE_S
        while behind := self.there() - before:
            if killed_host:
                behind = {one for one in behind if not one.startswith(f"file {self.folders[killed_host]}/")}
            if not behind or time.monotonic() > deadline:
                return sorted(behind)
            time.sleep(0.2)
        return []


def _space(made: Room) -> str:
    """The namespace of processes of a lab."""
    return os.readlink(f"/proc/{made.pid}/ns/pid")


@contextlib.contextmanager
def place(in_lab: bool) -> Iterator[Place]:
    """Four virtual hosts, or this machine with a folder for temporary files."""
    with tempfile.TemporaryDirectory(prefix="survive_kills.") as folder:
        if not in_lab:
            yield Place(None, (Path(folder),))
            return
        os.chdir(folder)  # all hosts see it
        with room([RATE] * HOSTS) as made:
            yield Place(made, (Path(folder), *(Path(f"/proc/{pid}/root/dev/shm") for pid in pids_outside(made))))


def pids_outside(made: Room) -> list[int]:
    """The processes that hold the hosts, by the numbers that they have outside the lab."""
    number_of = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "ns/pid") == _space(made):
                status = (process / "status").read_text().split("NSpid:")[1].splitlines()[0].split()
                number_of[int(status[-1])] = int(process.name)
    return [number_of[pid] for pid in made.lab.pids]


def case(
    where: Place, python: Path, kind: str, way: str, asked: argparse.Namespace, draw: random.Random
) -> dict[str, Any]:
    """One launch that loses ranks: what became of it."""
    words = ["-n", str(asked.ranks), "-a", draw.choice(ALGORITHMS), "--sizes", draw.choice(SIZES), "--way", way]
    words += [*losses(kind, asked.ranks, draw), "--calls", str(CALLS), "--checkpoint-every", "3"]
    words += ["--notice-within", asked.notice_within, "--timeout", asked.timeout, "--format", "json"]
    if where.made:
        words += ["--ranks-per-node", str(asked.ranks // HOSTS)]
    before, begun = where.there(), time.monotonic()
    stdout, stderr = where.run([str(python), "-m", "allreduce_bench", "survive", *words])
    took_s = time.monotonic() - begun
    outcome = json.loads(stdout)["outcomes"][0] if stdout.startswith("{") else {"state": "bad", "reason": stderr[-300:]}
    host = int(re.search(r"--kill-host h(\d+)", " ".join(words))[1]) if kind == "host" else None
    return {**outcome, "words": " ".join(words), "left": where.left(before, host), "took_s": took_s}


def is_right(one: dict[str, Any]) -> bool:
    """Whether those left have a right result by the way that was asked for."""
    return one["state"] == ("recovered" if one["way"] == "ulfm" else "restarted")


def is_bad(one: dict[str, Any]) -> bool:
    """Whether a case neither has a right result nor says why."""
    return one["state"] == "bad" or (one["state"] not in ("recovered", "restarted") and not one["reason"])


def interval(values: Sequence[float]) -> str:
    """The 95 % interval of the median, by resampling."""
    draw = random.Random(1)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(2000))
    return f"{medians[50]:.0f}, {medians[1949]:.0f}"


def row(name: tuple[str, str, str, int], cases: Sequence[dict[str, Any]]) -> str:
    """A line of the table."""
    kind, way, mpi, ranks = name
    wrong, bad = sum(one["state"] == "wrong" for one in cases), sum(map(is_bad, cases))
    right = [one for one in cases if one["state"] != "bad" and is_right(one)]
    second = sum(one["state"] == "restarted" and one["way"] == "ulfm" for one in cases)
    phases = BY_ULFM if way == "ulfm" else BY_RESTART
    times = [f"{phase} {1e3 * median(one['phases_s'][phase] for one in right):.3g}" for phase in phases if right]
    totals = [1e3 * one["total_s"] for one in right]
    total = f"{median(totals):.0f} [{interval(totals)}] ({min(totals):.0f}-{max(totals):.0f})" if totals else "-"
    behind = sum(bool(one["left"]) for one in cases)
    counts = f"{len(cases):5} {len(right):5} {second:10} {wrong:5} {bad:3} {behind:4}"
    return f"{kind:5} {way:8} {mpi:12} {ranks:5} {counts}  {total:>32}  {', '.join(times)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", action="store_true", help="on four virtual hosts")
    parser.add_argument("--count", type=int, help="of each kind and way [default: 50; in a lab 15, but 50 of kill]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--kinds", nargs="+", choices=["kill", "two", "stop", "host", "link"])
    parser.add_argument("--ways", nargs="+", choices=["ulfm", "restart"], default=["ulfm", "restart"])
    parser.add_argument("--interpreter", nargs="*", type=Path)
    parser.add_argument("--notice-within", default="6s")
    parser.add_argument("--timeout", default="60s")
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    os.environ.update(with_package())
    pythons = asked.interpreter or interpreters()
    asked.log = asked.log and asked.log.absolute()
    kept = [json.loads(line) for line in asked.log.read_text().splitlines()] if asked.log and asked.log.exists() else []
    done = {one["key"]: one for one in kept}
    ends = time.monotonic() + 60 * asked.minutes
    counts = KINDS_IN_LAB if asked.lab else KINDS
    with place(asked.lab) as where:
        for python, number in itertools.product(pythons, range(asked.count or max(counts.values()))):
            kinds = [kind for kind in asked.kinds or counts if number < (asked.count or counts[kind])]
            for kind, way in itertools.product(kinds, asked.ways):
                key = f"{kind} {way} {python} {asked.ranks} {asked.seed} {number}"
                if key in done or time.monotonic() > ends or (way == "ulfm" and python != pythons[0]):
                    continue
                one = case(where, python, kind, way, asked, random.Random(key))
                about = {"key": key, "kind": kind, "mpi": python.parent.parent.name, "asked": way, "ranks": asked.ranks}
                done[key] = {**one, **about}
                if asked.log:
                    with asked.log.open("a") as log:
                        log.write(json.dumps(done[key]) + "\n")
                if is_bad(one) or one["state"] in ("wrong", "failed") or one["left"]:
                    print(f"{one['state']}, left {one['left']}: {one['words']}: {one['reason']}", flush=True)
    groups: dict[tuple[str, str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for one in done.values():
        groups[one["kind"], one["asked"], one["mpi"], one["ranks"]].append(one)
    print("kind  way      MPI          ranks cases right second way wrong bad left  total, ms [95 %] (range)  phases")
    for name, cases in sorted(groups.items()):
        print(row(name, cases))
    of = len(done)
    faults = {
        "wrong results": sum(one["state"] == "wrong" for one in done.values()),
        "neither right nor said why": sum(map(is_bad, done.values())),
        "left something behind": sum(bool(one["left"]) for one in done.values()),
    }
    for what, number in faults.items():
        limit = f" (95 % upper limit: {100 * upper_limit(of):.1f} %)" if not number else ""
        print(f"{what}: {number} of {of}{limit}")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
