"""The checks of `doctor --slurm` inside a job: which launchers start ranks on its nodes, and how long each takes.

A program, too, `python -m allreduce_bench.launching.check_launchers`: what salloc runs. It prints each check as a line
of JSON.
"""

import json
import os
import shlex
import shutil
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..machine import findings
from ..machine.checks import Check, from_findings
from ..machine.node import hide_secrets
from ..runs.start import AUTO, Start
from ..units import format_time
from .check_mpi import BY_HAND, HELLO, no_launcher, say_hello
from .find import FAMILIES, LaunchError, find_launcher, mpirun_command
from .launcher import Launcher
from .launchers.srun import kinds_of_library, kinds_of_srun

MARK = "allreduce-bench check: "  # begins the line, among whatever else is printed
PATIENCE_S = 40.0  # for one launcher
QUICKER = 0.7  # of the time that auto's launcher takes: below, the quicker one is mentioned


class Way(NamedTuple):
    """A way to start ranks."""

    name: str
    start: Start

    @property
    def options(self) -> str:
        """The options of `run` that select it."""
        shown = " ".join(hide_secrets([self.start.launcher_args]))
        more = f" --launcher-args {shlex.quote(shown)}" if shown else ""
        return f"--launcher {self.start.launcher}{more}"


def launcher_checks() -> Iterator[Check]:
    """The nodes of the Slurm job that we are in, two ranks on two of them by each launcher, and which to take."""
    nodes, nodelist = int(os.environ.get("SLURM_JOB_NUM_NODES", "1")), os.environ.get("SLURM_JOB_NODELIST", "unknown")
    if nodes > 1:
        yield Check("ok", "nodes", f"job {os.environ['SLURM_JOB_ID']}: {nodelist}")
    else:
        effect = "communication between nodes was not tested"
        yield Check("info", "nodes", f"only one, {nodelist}", effect, "use a job with two nodes")
    try:
        auto = find_launcher()
    except LaunchError as error:
        yield no_launcher(error)
        return
    taken_by_auto, took_s = _way_name(auto), dict[str, float]()
    ways = _ways(auto.library)
    for way in ways:
        started = time.perf_counter()
        check = _check_of_way(way, nodes)
        if check.level == "ok":
            took_s[way.name] = time.perf_counter() - started
        yield check if way.name == taken_by_auto or check.level != "severe" else check._replace(level="caution")
    yield _check_of_choice(taken_by_auto, took_s, {way.name: way for way in ways})


def _ways(library: str) -> list[Way]:
    """The MPI's own mpirun, then srun in each way that both it and the library know."""
    own = next((kind for kind, family in FAMILIES.items() if library.startswith(family)), AUTO)
    if not shutil.which("srun"):
        return [Way("mpirun", Start(launcher=own))]
    known_to_srun = kinds_of_srun("srun")
    kinds = [kind for kind in kinds_of_library(library) if kind in known_to_srun]
    srun = [Way(f"srun {kind}", Start("srun", f"--mpi={kind}")) for kind in kinds]
    return [Way("mpirun", Start(launcher=own)), *(srun if kinds_of_library(library) else [Way("srun", Start("srun"))])]


def _way_name(launcher: Launcher) -> str:
    """The name of the way by which `launcher` starts ranks."""
    return " ".join(["srun", *launcher.options]).replace("--mpi=", "") if launcher.kind == "srun" else "mpirun"


def _check_of_way(way: Way, nodes: int) -> Check:
    """Two ranks are started that way, on two nodes where the job has them; one where it has room for one only."""
    ranks = 2 if nodes > 1 or os.environ.get("SLURM_NTASKS", "1") != "1" else 1
    start = Start(way.start.launcher, way.start.launcher_args, ranks_per_node=1 if nodes > 1 else ranks)
    try:
        command = mpirun_command(find_launcher(start), ranks, start, HELLO)
    except LaunchError as error:
        return Check("info", way.name, error.what, "ranks cannot be started this way here", error.advice)
    begun = time.perf_counter()
    outcome = say_hello(command, PATIENCE_S)
    took = format_time(time.perf_counter() - begun)
    by_hand = BY_HAND + shlex.join(hide_secrets(command))
    if outcome.why:
        return Check("severe", way.name, f"started, and {outcome.why}", f"a run with {way.options} would fail", by_hand)
    hello = outcome.hellos[0]
    for check in from_findings(way.name, findings.singletons(ranks, hello["seen"])):
        return check
    hosts = sorted(set(hello["hosts"]))
    if nodes > 1 and len(hosts) < 2:
        text = f"2 ranks were requested on two nodes, but both are on {hosts[0]}"
        return Check("severe", way.name, text, "a run would report a wrong layout", by_hand)
    transport = hello["transport"] or "an unknown transport"
    met = f"2 ranks on {', '.join(hosts)} communicate over {transport}" if ranks > 1 else f"1 rank on {hosts[0]}"
    return Check("ok", way.name, f"{met}; {took} from start to end")


def _check_of_choice(taken_by_auto: str, took_s: dict[str, float], ways: dict[str, Way]) -> Check:
    """Which launcher `auto` takes, and which to take."""
    if not took_s:
        advice = "run each command by hand to see its output; check that this is the site's MPI for Slurm"
        return Check("severe", "launcher", "no launcher works here", "nothing can be measured", advice)
    quickest = min(took_s, key=lambda name: took_s[name])
    if taken_by_auto not in took_s:
        text = f"auto selects {taken_by_auto}, which does not work here; {quickest} works"
        return Check("severe", "launcher", text, "a run would fail", f"use {ways[quickest].options}")
    is_much_quicker = took_s[quickest] < QUICKER * took_s[taken_by_auto]
    hint = f"; {quickest} starts faster: {ways[quickest].options}" if is_much_quicker else ""
    return Check("ok", "launcher", f"auto selects {taken_by_auto}, which works{hint}")


def main() -> None:
    """Print the checks."""
    for check in launcher_checks():
        print(f"{MARK}{json.dumps(check)}", flush=True)


if __name__ == "__main__":
    main()
