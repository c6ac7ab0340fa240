"""Commands that are killed, hundreds of times: is anything lost, made twice, or left behind?

python tests/studies/kills.py [--count N] [--only KIND…] [--way WAY…] [--seed S] [--interpreter PYTHON…] [--log FILE].
A command of KINDS on 2 to 4 ranks is struck at a random moment, in each of its ways in turn, with each interpreter's
MPI in turn; then what it has left is read, and it is gone on with. Prints each kill after which something was wrong,
then a table, per kind, way and MPI: kills; cells, pairs or lines that were finished and are not there afterwards
(lost); those that one attempt has finished twice (doubled), and two attempts (again); processes that are there LEFT_S
after the command has ended (left); files of an MPI that stay in shared memory; seconds until all had ended, median and
most; how often a struck rank was named; kills that were followed by something else that is wrong. --log keeps a line a
kill; with the same log, kills that are in it are not repeated. Exit status 1 where anything was lost, doubled, measured
again, left behind or wrong; files in shared memory are the MPI's, and only counted. Several studies may run at the same
time.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measured_runs import with_package
from striking import MARK, Way, left_behind, processes, shared_memory, strike, victims
from struck import (
    Outcome,
    Struck,
    StruckAgainst,
    StruckHealth,
    StruckLab,
    StruckProgram,
    StruckRun,
)
from struck_sweep import StruckSweep

LEFT_S = 5.0  # after the starter's end nobody may be there
END_S = 60.0  # in which a struck command must end
KINDS: dict[str, type[Struck]] = {
    "run": StruckRun,
    "against": StruckAgainst,
    "lab": StruckLab,
    "exec": StruckProgram,
    "health": StruckHealth,
    "submit": StruckSweep,
}


class Turn(NamedTuple):
    """What is struck how, and with which MPI."""

    kind: str
    way: Way
    python: Path

    @property
    def name(self) -> str:
        """A row of the table."""
        return f"{self.kind} {self.way.name}, {self.python.parent.parent.name}"


def wait_for_moment(struck: Struck, process: subprocess.Popen) -> bool:
    """Wait for the moment at which to strike: before, between and after launches, too.

    False: the command ended before.
    """
    number, since_s = struck.moment()
    while len(struck.kept()) < number:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    time.sleep(since_s)
    return process.poll() is None


def strike_as_soon(way: Way, rank: int, process: subprocess.Popen, mark: str) -> bool:
    """Send the signal as soon as there is somebody to send it to; whether there was."""
    own = {"starter": [process.pid], "group": [-process.pid]}
    while process.poll() is None:
        if any(strike(pid, way.number) for pid in (own.get(way.victim) or victims(way.victim, mark, rank))[-1:]):
            return True
        time.sleep(0.01)
    return False


def heed_signals() -> None:
    """What shells and nohup have a process in the background ignore is heeded again."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def kill(draw: random.Random, turn: Turn, place: Path) -> Outcome | None:
    """Strike one command and go on with it; None where it had ended before."""
    struck = KINDS[turn.kind](draw, turn.python, place, turn.way)
    at_once, mark = draw.random() < 0.5, f"{os.getpid()}-{time.monotonic_ns()}"
    environ = {**with_package(), **struck.variables()}
    with open(place / "stderr", "w+") as stderr:
        process = subprocess.Popen(
            struck.begin("1s" if turn.way.number is signal.SIGSTOP else "10s"),
            env={**environ, MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=heed_signals,
            cwd=place,
        )
        shared: set[str] = set()
        try:
            if not wait_for_moment(struck, process):
                return None
            kept, begun, has_begun = struck.kept(), time.monotonic(), struck.has_begun()
            shared = shared_memory(processes(mark))
            if not strike_as_soon(turn.way, struck.rank, process, mark):
                return None
            outcome = Outcome(f"{turn.name}: rank {struck.rank} of {struck.ranks}, {len(kept)} finished")
            try:
                status = process.wait(END_S)
            except subprocess.TimeoutExpired:
                outcome.faults.append(f"had not ended after {END_S:g} s")
                return outcome
            if not (at_once and turn.way.number is signal.SIGKILL and turn.way.victim in ("starter", "group")):
                outcome.left = left_behind(mark, LEFT_S)
                outcome.ended_s = time.monotonic() - begun
            stderr.seek(0)
            if has_begun:  # before, Python itself or the reader of the command line says what it says
                struck.judge_words(outcome, status, stderr.read().splitlines(), bool(kept))
            struck.go_on(outcome, kept, environ)
            outcome.left += left_behind(mark, LEFT_S)
            outcome.shared = sum(map(os.path.exists, shared))
            return outcome
        finally:
            for path in filter(os.path.exists, shared):
                os.unlink(path)
            left_behind(mark, 0)
            process.wait()


def killed(draw: random.Random, turn: Turn) -> Outcome:
    """One kill that came before the end of its command."""
    while True:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            if outcome := kill(draw, turn, Path(place)):
                return outcome


COLUMNS = ("kills", "lost", "doubled", "again", "left", "shared", "median s", "most s", "named", "wrong")


def line(name: str, outcomes: list[Outcome]) -> str:
    """A row of the table."""
    named = [outcome.rank_named for outcome in outcomes if outcome.rank_named is not None]
    seconds = [outcome.ended_s for outcome in outcomes if outcome.ended_s is not None]
    counted = ("lost", "doubled", "again", "left", "shared")
    fields = [
        len(outcomes),
        *(sum(getattr(outcome, name) for outcome in outcomes) for name in counted),
        f"{median(seconds):.1f}" if seconds else "-",
        f"{max(seconds):.1f}" if seconds else "-",
        f"{sum(named)} of {len(named)}" if named else "-",
        sum(bool(outcome.faults) for outcome in outcomes),
    ]
    return format_row(name, fields)


def format_row(name: str, fields: Sequence[object]) -> str:
    return f"{name:34}" + "".join(f"{field!s:>10}" for field in fields)


def is_wrong(outcome: Outcome) -> bool:
    """Whether a promise was broken."""
    return bool(outcome.lost or outcome.doubled or outcome.again or outcome.left or outcome.faults)


def turns(kinds: Sequence[str], ways: Sequence[str], pythons: Sequence[Path]) -> list[Turn]:
    """Every way of every kind, with each interpreter; the kinds take turns."""
    chosen = [
        [Turn(kind, way, python) for way in KINDS[kind].ways for python in pythons if not ways or way.name in ways]
        for kind in kinds
    ]
    longest = max(map(len, chosen))
    return [of_kind[i % len(of_kind)] for i in range(longest) for of_kind in chosen if of_kind]


def known(log: Path | None) -> dict[int, tuple[str, Outcome]]:
    """The kills that a log has: number -> row and outcome."""
    lines = log.read_text().splitlines() if log and log.exists() else []
    kept = [json.loads(line) for line in lines]
    return {entry["number"]: (entry["row"], Outcome(**entry["outcome"])) for entry in kept}


def main() -> None:
    """Strike so often, in all ways, with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="in all [500]")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--way", nargs="+", default=[], metavar="WAY", help="such as rank-kill [all of the kind]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interpreter", nargs="+", type=os.path.abspath, default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--log", type=Path, help="file that keeps a line of JSON of each kill")
    options = parser.parse_args()
    draw, all_turns = random.Random(options.seed), turns(options.only, options.way, [*map(Path, options.interpreter)])
    outcomes: dict[str, list[Outcome]] = {}
    before = known(options.log)
    with suppress(KeyboardInterrupt):  # what was struck until then is worth a table, too
        for number in range(options.count):
            own_draw, turn = random.Random(draw.getrandbits(64)), all_turns[number % len(all_turns)]
            name, outcome = before[number] if number in before else (turn.name, killed(own_draw, turn))
            outcomes.setdefault(name, []).append(outcome)
            if number not in before and options.log:
                with open(options.log, "a") as log:
                    log.write(json.dumps({"number": number, "row": name, "outcome": asdict(outcome)}) + "\n")
            if is_wrong(outcome):
                print(f"  kill {number}: {outcome}", flush=True)
    print(format_row("kind, way, MPI", COLUMNS))
    for name in sorted(outcomes):
        print(line(name, outcomes[name]))
    everything = [outcome for of_way in outcomes.values() for outcome in of_way]
    print(line("all", everything))
    sys.exit(any(map(is_wrong, everything)))


if __name__ == "__main__":
    main()
