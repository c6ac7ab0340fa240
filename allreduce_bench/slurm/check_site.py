"""The site checks of `doctor --slurm`: Slurm, its partitions, its methods to start an MPI, and two of its nodes."""

import json
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO

from ..launching.check_mpi import CHECK_PREFIX, launcher_checks, library, library_checks
from ..launching.launchers.srun import kinds_of_library, kinds_of_srun
from ..machine.checks import Check
from . import commands
from .commands import Partition, SlurmError

ANSWER_S = 15.0  # of the controller
WAIT_S = 60.0  # for nodes
QUIET_S = 150.0  # between two checks on the nodes: a launcher that hangs, and its end
LIMIT = "4"  # minutes, of the job
MOST_PARTITIONS = 12  # listed individually
UNKNOWN = "which launcher works is unknown"


def checks_of_slurm(arguments: Sequence[str], launch: bool, node: dict) -> Iterator[Check]:
    """Yield checks of the site and, if `launch`, of each launcher on two nodes: of the present job, else from salloc.

    `arguments` are the user's for salloc; `node` is what `checks.node_of_this_process` returns.
    """
    try:
        yield Check("ok", "Slurm", commands.version(ANSWER_S))
        yield Check("ok", "controller", "; ".join(commands.ping(ANSWER_S).splitlines()))
        partitions = commands.partitions(ANSWER_S)
    except SlurmError as error:
        advice = "run it on a login node of the cluster with Slurm's module loaded, or ask the administrators"
        yield Check("severe", "Slurm", str(error), "no job can be submitted from here", advice)
        return
    yield from _check_partitions(partitions)
    mpi = library()
    if isinstance(mpi, Check):
        yield mpi
        return
    yield from library_checks(mpi, node)
    yield _check_pmi(mpi["library"])
    if not launch:
        yield Check("info", "nodes", f"nothing was started (--no-launch): {UNKNOWN}")
    elif "SLURM_JOB_ID" in os.environ:
        yield from launcher_checks()
    else:
        nodes = {name for partition in partitions for name in partition.nodes}
        yield from _check_launchers(arguments, len(nodes))


def _check_partitions(partitions: list[Partition]) -> Iterator[Check]:
    ordered = sorted(partitions, key=lambda partition: not partition.default)
    yield from map(_check_partition, ordered[:MOST_PARTITIONS])
    if more := [partition.name for partition in ordered[MOST_PARTITIONS:]]:
        yield Check("ok", "partition", f"{len(more)} more: {', '.join(more)}")
    if not any(partition.default for partition in partitions):
        advice = "name one: doctor --slurm -- -p NAME"
        yield Check("info", "partition", "no default partition", "jobs without a partition are refused", advice)


def _check_partition(partition: Partition) -> Check:
    size = "" if partition.sizes.endswith("-infinite") else f", nodes per job {partition.sizes}"
    text = f"{partition.sentence}, time limit {partition.limit}{size}"
    if partition.is_usable:
        return Check("ok", "partition", text)
    return Check("caution" if partition.default else "info", "partition", text, "jobs wait until its state changes")


def _check_pmi(mpi: str) -> Check:
    """Check whether srun and the library have a common PMI."""
    known_kinds, understood_kinds = sorted(kinds_of_srun("srun") - {"none"}), kinds_of_library(mpi)
    wanted = " or ".join(understood_kinds) or "unknown ones"
    text = f"srun offers {', '.join(known_kinds) or 'none'}; {mpi} supports {wanted}"
    if not understood_kinds or set(understood_kinds) & set(known_kinds):
        return Check("ok", "PMI", text)
    return Check(
        "info", "PMI", text, "srun cannot start its ranks", "start them with its mpirun, as --launcher auto does"
    )


def _check_launchers(arguments: Sequence[str], nodes: int) -> Iterator[Check]:
    """Check the launchers on two nodes from salloc, or on the only node."""
    size = ["-N", "2", "--ntasks-per-node=1"] if nodes > 1 else ["-N", "1", "--ntasks-per-node=2"]
    salloc = ["salloc", *size, "-t", LIMIT, *arguments]
    yield Check("info", "nodes", f"waiting for nodes, at most {WAIT_S:.0f} s: {shlex.join(salloc)}")
    with _running([*salloc, sys.executable, "-m", "allreduce_bench.launching.check_mpi"]) as (lines, complaints):
        granted = False
        while True:
            try:
                line = lines.get(timeout=QUIET_S if granted else WAIT_S)
            except queue.Empty:
                yield _check_of_silence(granted, _job_number(complaints))
                return
            if line is None:
                break
            if CHECK_PREFIX in line:
                granted = True
                yield Check(*json.loads(line.partition(CHECK_PREFIX)[2]))
        if not granted:
            complaints.seek(0)
            reason = f"salloc: {commands.complaint_sentence(complaints.read()) or 'it ended without a message'}"
            yield Check("severe", "nodes", reason, UNKNOWN, "add options for salloc after --")


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[queue.Queue, IO[str]]]:
    """Run `command` in a context; give its output line by line, None at its end, and its stderr."""
    lines: queue.Queue = queue.Queue()
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        process = subprocess.Popen(command, stdin=none, stdout=pipe, stderr=complaints, text=True, errors="replace")
        reader = Thread(target=_queue_lines, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            yield lines, complaints
        finally:
            reader.join(timeout=0.1)
            if not reader.is_alive():  # it has printed all, so it is about to end
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=ANSWER_S)
            if process.poll() is None and (number := _job_number(complaints)):
                with suppress(SlurmError):
                    commands.cancel([number])  # salloc ignores signals while a command runs
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=ANSWER_S)
            process.kill()


def _queue_lines(stdout: IO[str], lines: queue.Queue) -> None:
    for line in stdout:
        lines.put(line)
    lines.put(None)


def _job_number(complaints: IO[str]) -> str:
    """Return the number of the job that salloc requested, or nothing."""
    complaints.seek(0)
    match = re.search(r"job allocation (\d+)", complaints.read())
    return match[1] if match else ""


def _check_of_silence(is_granted: bool, number: str) -> Check:
    if is_granted:
        advice = "run doctor --slurm inside a job to see more"
        return Check(
            "severe",
            "nodes",
            f"no response within {QUIET_S:.0f} s",
            "a run would hang",
            advice,
        )
    reason = ""
    with suppress(SlurmError):
        reason = ", ".join(job.reason for job in commands.find_jobs([number]).values()) if number else ""
    text = f"no nodes within {WAIT_S:.0f} s" + (f" (job {number}: {reason})" if reason else "")
    advice = "try later, request other nodes (options for salloc after --), or run doctor --slurm inside a job"
    return Check("caution", "nodes", text, UNKNOWN, advice)
