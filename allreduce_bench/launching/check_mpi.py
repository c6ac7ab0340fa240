"""The MPI checks of `doctor`, run in child processes, since loading or starting an MPI can kill an interpreter."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from ..machine import findings
from ..machine.checks import Check, from_findings
from ..machine.interfaces import way_between
from ..machine.node import hide_secrets
from ..measuring.hello import MARK
from ..runs.start import Start
from ..units import format_time
from .find import INSTALL, Launcher, LaunchError, find_launcher, mpirun_command
from .scheduler import idle_scheduler

ASK = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
from allreduce_bench.machine.mpi import library_file, library_name
library, standard = library_name(MPI.Get_library_version()), ".".join(map(str, MPI.Get_version()))
print(json.dumps({"library": library, "standard": standard, **library_file()}))
"""
PATIENCE_S = 60.0
SLOW_IMPORT_S = 5.0
BY_HAND = "run it by hand to see more: "
HELLO = [sys.executable, "-m", "allreduce_bench.measuring.hello"]


class HelloOutcome(NamedTuple):
    """The result of starting ranks that say hello."""

    hellos: list[dict]  # output of hello.py, one for each rank that believes to be rank 0
    why: str = ""  # the reason if there are none
    hung: bool = False


def mpi_checks(node: dict, launch: bool) -> Iterator[Check]:
    """The library, its launcher and, if `launch`, two ranks; `node` is what `checks.machine` gives."""
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
        yield from _rank_checks(launcher, node)


def no_launcher(error: LaunchError) -> Check:
    """The failed check: no launcher can start ranks here."""
    return Check("severe", "launcher", error.what, "no ranks can be started", error.advice)


def library() -> dict | Check:
    """The library's name and version, or the failed check if it cannot be loaded."""
    try:
        child = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return _no_mpi(f"loading the library took more than {PATIENCE_S:.0f} s", INSTALL)
    if child.returncode == 0:
        return json.loads(child.stdout.strip().splitlines()[-1])
    if child.returncode < 0:
        reason = f"loading the library killed the interpreter (signal {-child.returncode})"
        return _no_mpi(reason, "this happens on some login nodes: run doctor inside a job")
    return _no_mpi((child.stderr.strip().splitlines() or ["reason unknown"])[-1], INSTALL)


def _no_mpi(reason: str, advice: str) -> Check:
    effect = "nothing can be measured here; list, explain, verify and report still work"
    return Check("severe", "MPI", f"no MPI found: {reason}", effect, advice)


def library_checks(mpi: dict, node: dict) -> Iterator[Check]:
    """`mpi` is what `library` gives, `node` what `checks.machine` gives."""
    path = mpi["path"] or "library file unknown (no /proc/self/maps)"
    yield Check("ok", "MPI", f"{mpi['library']}, MPI {mpi['standard']}, {path}{' (PyPI)' * bool(mpi['from_pypi'])}")
    if mpi["from_pypi"] and (node["fabric_devices"] or idle_scheduler(os.environ)):
        yield from from_findings("MPI", [findings.pypi_finding(mpi["library"], "on a cluster", node["fabric_devices"])])


def _rank_checks(launcher: Launcher, node: dict) -> Iterator[Check]:
    """Start two ranks that say hello."""
    command = mpirun_command(launcher, 2, Start(), HELLO)
    by_hand = BY_HAND + shlex.join(hide_secrets(command))
    outcome = say_hello(command, PATIENCE_S)
    if outcome.hung:
        interface = way_between([node])
        advice = f"an unreachable interface is a common cause: --interface {interface or 'NAME'}; {by_hand}"
        yield Check("severe", "ranks", f"two ranks were started: {outcome.why}", "a run would hang", advice)
        return
    if outcome.why:
        yield Check("severe", "ranks", f"two ranks were started: {outcome.why}", "a run would fail", by_hand)
        return
    (hello, *_) = outcome.hellos
    singletons = findings.singletons(2, hello["seen"])
    if singletons:
        yield from from_findings("ranks", singletons)
    else:
        yield from _hello_checks(hello)


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
    """Exit status, stdout and stderr of `command`; the status is None if it was terminated."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace"
    ) as process:
        try:
            output, errors = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun then ends its ranks, which a kill would leave behind
            try:
                process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired:
                process.kill()
            return None, "", ""
    return process.returncode, output, errors


def _hello_checks(hello: dict) -> Iterator[Check]:
    transport = hello["transport"] or "an unknown transport"
    yield Check("ok", "ranks", f"two ranks communicate over {transport}; thread level {hello['thread_level']}")
    times = {key: format_time(hello[key]) for key in ("import_s", "init_s", "first_s", "call_s", "sendrecv_s")}
    start = "import of mpi4py {import_s}, MPI_Init {init_s}, first collective {first_s}".format(**times)
    if hello["import_s"] > SLOW_IMPORT_S:
        advice = "many ranks read Python's files at the same time: put the environment on a local disk (--stage)"
        yield Check("caution", "start", start, "launches spend most of their time on start-up", advice)
    else:
        yield Check("ok", "start", start)
    calls = "empty call {call_s}, empty Sendrecv to self {sendrecv_s}".format(**times)
    yield Check("info", "calls", f"{calls}; included in every time here")
