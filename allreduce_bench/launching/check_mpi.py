"""Checks of `doctor` for the MPI and its launchers, run in child processes: an MPI can kill an interpreter.

`mpi_checks`: the library, its launcher, and two ranks on this node. `launcher_checks`, for `doctor --slurm`, inside a
job: which launchers start ranks on its nodes, and how long each takes.

Also a program, `python -m allreduce_bench.launching.check_mpi`, run by salloc. It prints each of `launcher_checks` as a
line of JSON after CHECK_PREFIX.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..machine.checks import Check, as_check
from ..machine.findings import pypi_finding, singletons
from ..machine.interfaces import likely_way, reachable
from ..machine.variables import drop_values
from ..measuring.hello import MARK
from ..runs.start import AUTO, Start
from ..units import format_time
from .find import FAMILIES, LaunchError, find_launcher, loaded_mpi, mpirun_command
from .launcher import Launcher
from .launchers.srun import kinds_of_library, kinds_of_srun
from .login_node import idle_scheduler

HELLO = [sys.executable, "-m", "allreduce_bench.measuring.hello"]
PATIENCE_S = 60.0  # seconds, for two ranks
SLOW_IMPORT_S = 5.0  # of mpi4py
BY_HAND = "run it by hand to see more: "
AN_UNKNOWN = "an unknown transport"


# Launchers
CHECK_PREFIX = "allreduce-bench check: "  # marks the line among other output
WAY_PATIENCE_S = 40.0  # seconds, for two ranks by one launcher
QUICKER = 0.7  # share of auto's time below which a quicker launcher is mentioned


class HelloOutcome(NamedTuple):
    """Result of starting ranks that say hello."""

    hellos: list[dict]  # output of hello.py, one for each rank that believes to be rank 0
    why: str = ""  # the reason if there are none
    hung: bool = False


class Way(NamedTuple):
    """Way to start ranks."""

    name: str
    start: Start

    @property
    def options(self) -> str:
        """Return the options of `run` that select it."""
        shown = " ".join(drop_values([self.start.launcher_args]))
        more = f" --launcher-args {shlex.quote(shown)}" if shown else ""
        return f"--launcher {self.start.launcher}{more}"


def mpi_checks(node: dict, launch: bool) -> Iterator[Check]:
    """Yield checks of the library, its launcher and, if `launch`, two ranks; `node` as for `machine.checks`."""
    mpi = library()
    if isinstance(mpi, Check):
        yield mpi
        return
    yield from library_checks(mpi, node)
    try:
        launcher = find_launcher()
    except LaunchError as error:
        yield no_launcher(error)
        return
    yield Check("ok", "launcher", launcher.program)
    scheduler = idle_scheduler(os.environ)
    if not launch:
        yield Check("info", "ranks", "not started (--no-launch): transport and start-up time unknown")
    elif scheduler:
        text = f"not started: this looks like a login node ({scheduler} exists, not inside a job)"
        yield Check("info", "ranks", text, "transport and start-up time are unknown", "run doctor inside a job")
    else:
        yield from _rank_checks(launcher)


def library() -> dict | Check:
    """Return the library's name and version, or the failed check if it cannot be loaded."""
    try:
        return loaded_mpi()
    except LaunchError as error:
        effect = "nothing can be measured here; list, explain, verify and report still work"
        return Check("severe", "MPI", error.what, effect, error.advice)


def library_checks(mpi: dict, node: dict) -> Iterator[Check]:
    """Check where the library comes from; `mpi` is of `library`, `node` as for `machine.checks`."""
    path = mpi["path"] or "library file unknown (no /proc/self/maps)"
    yield Check("ok", "MPI", f"{mpi['library']}, MPI {mpi['standard']}, {path}{' (PyPI)' * bool(mpi['from_pypi'])}")
    if mpi["from_pypi"] and (node["port_rates_bytes_per_s"] or idle_scheduler(os.environ)):
        yield as_check("MPI", pypi_finding(mpi["library"], "on a cluster", [node]))


def no_launcher(error: LaunchError) -> Check:
    """Return the failed check: no launcher can start ranks here."""
    return Check("severe", "launcher", error.what, "no ranks can be started", error.advice)


def _rank_checks(launcher: Launcher) -> Iterator[Check]:
    """Start two ranks that say hello."""
    command = mpirun_command(launcher, 2, Start(), HELLO)
    outcome = say_hello(command, PATIENCE_S)
    if outcome.why:
        effect, advice = "a run would fail", BY_HAND + shlex.join(drop_values(command))
        if outcome.hung:
            effect = "a run would hang"
            advice = f"an unreachable interface is a common cause: --interface {likely_way(reachable())}; {advice}"
        yield Check("severe", "ranks", f"two ranks were started: {outcome.why}", effect, advice)
    elif alone := singletons(2, outcome.hellos[0]["seen"]):
        yield as_check("ranks", alone)
    else:
        yield from _hello_checks(outcome.hellos[0])


def _hello_checks(hello: dict) -> Iterator[Check]:
    """Yield the transport and the times that two ranks reported."""
    text = f"two ranks communicate over {hello['transport'] or AN_UNKNOWN}; thread level {hello['thread_level']}"
    yield Check("ok", "ranks", text)
    times = {key: format_time(hello[key]) for key in ("import_s", "init_s", "first_s", "call_s", "sendrecv_s")}
    start = "import of mpi4py {import_s}, MPI_Init {init_s}, first collective {first_s}".format(**times)
    if hello["import_s"] > SLOW_IMPORT_S:
        advice = "many ranks read Python's files at the same time: put the environment on a local disk (jobs/stage.sh)"
        yield Check("caution", "start", start, "launches spend most of their time on start-up", advice)
    else:
        yield Check("ok", "start", start)
    calls = "empty call {call_s}, empty Sendrecv to self {sendrecv_s}".format(**times)
    yield Check("info", "calls", f"{calls}; included in every time here")


def say_hello(command: list[str], patience_s: float) -> HelloOutcome:
    """Run `command`, which starts ranks of HELLO, to its end; terminate it after `patience_s` seconds."""
    status, output, errors = _run_to_end(command, patience_s)
    if status is None:
        return HelloOutcome([], f"no response within {patience_s:.0f} s", hung=True)
    hellos = [json.loads(line.partition(MARK)[2]) for line in output.splitlines() if MARK in line]
    if status or not hellos:
        reason = next((line for line in errors.splitlines() if re.search(r"\w", line)), "no message").strip()
        return HelloOutcome([], f"exit status {status}: {reason}")
    return HelloOutcome(hellos)


def _run_to_end(command: list[str], patience_s: float) -> tuple[int | None, str, str]:
    """Return exit status, stdout and stderr of `command`; the status is None if it was terminated."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace"
    ) as process:
        try:
            output, errors = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.terminate()  # lets mpirun end its ranks, which a kill would leave behind
            try:
                process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired:
                process.kill()
            return None, "", ""
    return process.returncode, output, errors


def launcher_checks() -> Iterator[Check]:
    """Check the nodes of this Slurm job, start two ranks by each launcher, and recommend a launcher."""
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
    """Return the MPI's own mpirun, then srun with each --mpi kind that both srun and the library support."""
    own = next((kind for kind, family in FAMILIES.items() if library.startswith(family)), AUTO)
    if not shutil.which("srun"):
        return [Way("mpirun", Start(launcher=own))]
    known_to_srun = kinds_of_srun("srun")
    kinds = [kind for kind in kinds_of_library(library) if kind in known_to_srun]
    srun = [Way(f"srun {kind}", Start("srun", f"--mpi={kind}")) for kind in kinds]
    return [Way("mpirun", Start(launcher=own)), *(srun if kinds_of_library(library) else [Way("srun", Start("srun"))])]


def _way_name(launcher: Launcher) -> str:
    """Return the name of the way by which `launcher` starts ranks."""
    return " ".join(["srun", *launcher.options]).replace("--mpi=", "") if launcher.kind == "srun" else "mpirun"


def _check_of_way(way: Way, nodes: int) -> Check:
    """Start two ranks that way, on two nodes if the job has them; one rank if the job has room for one only."""
    ranks = 2 if nodes > 1 or os.environ.get("SLURM_NTASKS", "1") != "1" else 1
    start = Start(way.start.launcher, way.start.launcher_args, ranks_per_node=1 if nodes > 1 else ranks)
    try:
        command = mpirun_command(find_launcher(start), ranks, start, HELLO)
    except LaunchError as error:
        return Check("info", way.name, error.what, "ranks cannot be started this way here", error.advice)
    begun = time.perf_counter()
    outcome = say_hello(command, WAY_PATIENCE_S)
    took = format_time(time.perf_counter() - begun)
    by_hand = BY_HAND + shlex.join(drop_values(command))
    if outcome.why:
        effect = f"a run with {way.options} would fail"
        return Check("severe", way.name, f"started, and {outcome.why}", effect, by_hand)
    hello = outcome.hellos[0]
    if alone := singletons(ranks, hello["seen"]):
        return as_check(way.name, alone)
    hosts = sorted(set(hello["hosts"]))
    if nodes > 1 and len(hosts) < 2:
        text = f"2 ranks were requested on two nodes, but both are on {hosts[0]}"
        return Check("severe", way.name, text, "a run would report a wrong layout", by_hand)
    over = hello["transport"] or AN_UNKNOWN
    met = f"2 ranks on {', '.join(hosts)} communicate over {over}" if ranks > 1 else f"1 rank on {hosts[0]}"
    return Check("ok", way.name, f"{met}; {took} from start to end")


def _check_of_choice(taken_by_auto: str, took_s: dict[str, float], ways: dict[str, Way]) -> Check:
    """Compare the launcher that `auto` takes with the quickest."""
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
        print(f"{CHECK_PREFIX}{json.dumps(check)}", flush=True)


if __name__ == "__main__":
    main()
