"""The site checks of `doctor --slurm`: Slurm, its partitions, its methods to start an MPI, and two of its nodes."""

import json
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO

from ..launching.check_mpi import CHECK_PREFIX, launcher_checks, library, library_checks
from ..launching.launchers.srun import kinds_of_library, kinds_of_srun
from ..machine.findings import Check
from ..message import say
from . import commands
from .commands import Partition, SlurmError

ANSWER_S = 15.0  # of the controller
WAIT_S = 60.0  # for nodes
QUIET_S = 150.0  # between two checks on the nodes: a launcher that hangs, and its end
LIMIT = "4"  # minutes, of the job
MOST_PARTITIONS = 12  # listed individually
UNUSABLE = re.compile(r"down|drain|fail|unk|maint|reboot|power(ed|ing)_down|.*\*$")
UNKNOWN = "which launcher works is unknown"


def checks_of_slurm(arguments: Sequence[str], launch: bool, node: dict) -> Iterator[Check]:
    """Yield checks of the site and, if `launch`, of each launcher on two nodes: of the present job, else from salloc.

    `arguments` are those of the user for salloc; `node` is what `checks.node_of_this_process` returns.
    """
    try:
        yield Check("ok", "Slurm", commands.version(ANSWER_S))
        yield Check("ok", "controller", "; ".join(commands.ping(ANSWER_S).splitlines()))
        partitions = commands.partitions(ANSWER_S)
    except SlurmError as error:
        advice = say("slurm.run_login_node_cluster")
        yield Check("severe", "Slurm", str(error), say("slurm.no_job_submitted"), advice)
        return
    yield from _of_partitions(partitions)
    nodes = sorted({name for partition in partitions for name in partition.nodes})
    yield _of_topology(nodes)
    mpi = library()
    if isinstance(mpi, Check):
        yield mpi
        return
    yield from library_checks(mpi, node)
    yield _of_kinds(mpi["library"])
    if not launch:
        yield Check("info", "nodes", say("slurm.nothing_started_no_launch", unknown=UNKNOWN))
    elif "SLURM_JOB_ID" in os.environ:
        yield from launcher_checks()
    else:
        yield from _of_allocation(arguments, len(nodes))


def _of_partitions(partitions: list[Partition]) -> Iterator[Check]:
    ordered = sorted(partitions, key=lambda partition: not partition.default)
    yield from map(_of_partition, ordered[:MOST_PARTITIONS])
    if more := [partition.name for partition in ordered[MOST_PARTITIONS:]]:
        yield Check("ok", "partition", f"{len(more)} more: {', '.join(more)}")
    if not any(partition.default for partition in partitions):
        advice = say("slurm.name_doctor_slurm_name")
        yield Check("info", "partition", "no default partition", say("slurm.jobs_without_partition_refused"), advice)


def _of_partition(partition: Partition) -> Check:
    states = ", ".join(f"{len(names)} {state}" for state, names in partition.states.items()) or "no nodes"
    size = "" if partition.sizes.endswith("-infinite") else f", nodes per job {partition.sizes}"
    name = f"{partition.name} (default)" if partition.default else partition.name
    text = f"{name}: {partition.available}, {states}, time limit {partition.limit}{size}"
    if partition.available == "up" and not all(UNUSABLE.match(state) for state in partition.states):
        return Check("ok", "partition", text)
    return Check("caution" if partition.default else "info", "partition", text, say("slurm.jobs_wait_until_state"))


def _of_topology(nodes: list[str]) -> Check:
    paths = commands.switches_of_nodes(nodes)
    if not paths:
        return Check("info", "topology", say("slurm.slurm_no_topology_switches"))
    nodes_below = Counter(paths.values())
    levels = max(path.count("/") for path in paths.values()) + 1
    least, most = min(nodes_below.values()), max(nodes_below.values())
    nodes_each = f"{least} to {most}" if least < most else f"{most}"
    text = say("slurm.nodes_switches", path_count=len(paths), nodes_each=nodes_each, nodes_below_count=len(nodes_below))
    return Check("ok", "topology", f"{text}, {levels} levels")


def _of_kinds(mpi: str) -> Check:
    """Check whether srun and the library have a common PMI."""
    known_kinds, understood_kinds = sorted(kinds_of_srun("srun") - {"none"}), kinds_of_library(mpi)
    wanted = " or ".join(understood_kinds) or "unknown ones"
    text = f"srun offers {', '.join(known_kinds) or 'none'}; {mpi} supports {wanted}"
    if not understood_kinds or set(understood_kinds) & set(known_kinds):
        return Check("ok", "PMI", text)
    return Check("info", "PMI", text, say("slurm.srun_cannot_start_ranks"), say("slurm.start_mpirun_launcher_auto"))


def _of_allocation(arguments: Sequence[str], nodes: int) -> Iterator[Check]:
    """Check the launchers on two nodes from salloc, or on the only node."""
    size = ["-N", "2", "--ntasks-per-node=1"] if nodes > 1 else ["-N", "1", "--ntasks-per-node=2"]
    salloc = ["salloc", *size, "-t", LIMIT, *arguments]
    yield Check("info", "nodes", say("slurm.waiting_nodes_most", wait_s=WAIT_S, salloc=shlex.join(salloc)))
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
            reason = f"salloc: {_complaint_sentence(complaints)}"
            yield Check("severe", "nodes", reason, UNKNOWN, say("slurm.add_options_salloc_after"))


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


def _complaint_sentence(complaints: IO[str]) -> str:
    complaints.seek(0)
    lines = [re.sub(r"^salloc: (?:error: )?", "", line.strip()) for line in complaints]
    return "; ".join(line for line in lines if line) or say("slurm.ended_without_message")


def _check_of_silence(is_granted: bool, number: str) -> Check:
    if is_granted:
        advice = say("slurm.run_doctor_slurm_inside")
        return Check(
            "severe",
            "nodes",
            say("launching.no_response_within", patience_s=QUIET_S),
            say("launching.run_would_hang"),
            advice,
        )
    reason = ""
    with suppress(SlurmError):
        reason = ", ".join(job.reason for job in commands.jobs([number]).values()) if number else ""
    text = say("slurm.no_nodes_within", wait_s=WAIT_S) + (f" (job {number}: {reason})" if reason else "")
    advice = say("slurm.try_later_request_other")
    return Check("caution", "nodes", text, UNKNOWN, advice)
