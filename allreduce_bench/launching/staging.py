"""`run --stage DIR`: the Python environment, unpacked once per node, so that ranks start without a shared file system.

In thousands of ranks the start of Python is a storm of file-system calls (see `startup`). With --stage this environment
is packed into one archive in `.staged` beside the run folder, where later jobs find it. Each node of the Slurm job, or
this node where there is no job, unpacks it into DIR/allreduce-bench-UID-JOB-RANDOM, which only its user may enter.
Nodes for which DIR is the same folder do so once. The ranks are started with the interpreter there; their libraries, an
MPI from PyPI among them, are read from there, too.

What holds the folder is a shell on each node that reads from this process. When the reading ends, whatever ended this
process, the shell removes the folder. Slurm may kill the shell, too: then the next staging below DIR on that node does,
which sees that nobody holds the lock of the folder any more.

Left where they are: mpirun and its daemons; the base interpreter of a virtual environment with its standard library (of
an environment of conda all is staged); what modules of the site added to PYTHONPATH; a user's own algorithm files; and
the run folder, which only rank 0 touches. Nothing is fetched from a network.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..runs.start import Start
from ..units import format_size
from ..watching.lifeline import STAGE_VARIABLE
from .packing import PACKAGE, Archive, PackedEnvironment, PackError, archive_of, environment
from .reach import other_hosts
from .scheduler import SCHEDULERS

STORE = ".staged"  # beside the run folder: hidden, since it is no run
PATIENCE_S = 900.0  # for the slowest node
REMOVING_S = 60.0
# a colon separates the folders in a variable, env takes a word with = for a variable:
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:=]")
HOLD = r"""
umask 077
parent=$1 folder=$1/$2 nbytes=$3 need=$(($3 / 1024 + 1)) python=$1/$2/$4 archive=$5
node=$(uname -n)
fail() { printf 'failed %s: %s\n' "$node" "$(printf '%s' "$1" | head -n 1)"; exit 1; }
ours() { [ "$(stat -c '%u %F' -- "$1" 2> /dev/null)" = "$(id -u) directory" ]; }
trap '' USR1 USR2
[ -d "$parent" ] || fail "no such folder: $parent"
case $(stat -L -c %A -- "$parent") in
d???????w[!tT]*) fail "$parent is world-writable without a sticky bit, which is unsafe; use another folder" ;;
esac
for old in "$parent/allreduce-bench-$(id -u)"-*; do
    ours "$old" && [ "$(cat "$old/.held" 2> /dev/null)" = "$node" ] && flock -n "$old/.held" rm -rf -- "$old"
done
if why=$(mkdir -- "$folder" 2>&1); then
    trap 'rm -rf -- "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    exec 9> "$folder/.new" && printf '%s' "$node" >&9 && flock 9 && mv "$folder/.new" "$folder/.held"
    room=$(df -Pk -- "$folder" | awk 'END {print $(NF - 2)}')
    [ "${room:-$need}" -ge "$need" ] ||
        fail "not enough space in $parent: needs $((need / 1024)) MiB, found $((room / 1024)) MiB"
    found=$(stat -L -c %s -- "$archive" 2>&1) || fail "$found"
    [ "$found" = "$nbytes" ] || fail "$archive is incomplete: $found of $nbytes bytes; remove it"
    why=$(tar -xof - -C "$folder" 2>&1 < "$archive") || fail "$why (unpacking needs $((need / 1024)) MiB in $parent)"
    printf '#!/bin/sh\n' > "$folder/.try" && chmod u+x "$folder/.try"
    "$folder/.try" 2> /dev/null || fail "programs cannot be executed in $parent (mounted noexec?); use another folder"
    [ -x "$python" ] || fail "the interpreter of the environment is missing on this node: $(readlink -- "$python")"
    : > "$folder/.whole" || fail "not enough space in $parent"
else
    ours "$folder" || fail "$why"
    until [ -e "$folder/.whole" ]; do
        [ -d "$folder" ] || fail "unpacking into $parent, which is shared with another node, failed on that node"
        sleep 0.1
    done
fi
printf 'ready %s\n' "$node"
cat > /dev/null
"""


class StageError(RuntimeError):
    """Error: nodes cannot be staged; nothing is left on them."""


class Stage:
    """The environment on every node, until it is closed or this process ends."""

    def __init__(self, parent: Path, archive: Archive, packed: PackedEnvironment):
        """Unpack the archive below `parent`, an absolute path, on every node of the job. Raises StageError."""
        job = os.environ.get("SLURM_JOB_ID")
        parts = ["allreduce-bench", os.geteuid(), job or os.getpid(), token_hex(4)]  # a name that nobody can guess
        self.folder = parent / "-".join(map(str, parts))
        self.packed = packed
        nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) if job else 1
        arguments = map(str, (parent, self.folder.name, archive.nbytes, packed.python, archive.path.absolute()))
        command = [*(_on_every_node(nodes) if job else []), "sh", "-c", HOLD, "stage", *arguments]
        began = time.perf_counter()
        self._holder = subprocess.Popen(  # a session of its own: what a user types at a terminal is not meant for it
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            self._wait(nodes)
        except BaseException:
            self.close()
            raise
        unpack_s = time.perf_counter() - began
        self.facts: dict[str, Any] = {"folder": str(self.folder), "archive_nbytes": archive.nbytes}
        self.facts |= {"pack_s": archive.pack_s, "unpack_s": round(unpack_s, 3)}

    @property
    def words(self) -> str:
        """`staged in /tmp/allreduce-bench-0-12-…: 545 MiB, packed in 6.1 s, unpacked in 5.4 s`."""
        packing = "reused archive" if self.facts["pack_s"] is None else f"packed in {self.facts['pack_s']:.1f} s"
        size = format_size(self.facts["archive_nbytes"])
        return f"staged in {self.folder}: {size}, {packing}, unpacked in {self.facts['unpack_s']:.1f} s"

    @property
    def program(self) -> list[str]:
        """What `environment.program` gives, there."""
        settings = [f"{name}={value}" for name, value in self._variables(os.environ).items()]
        program = [str(self.folder / self.packed.python), str(self.folder / self.packed.package / "__main__.py")]
        return ["env", *settings, *program]

    def close(self) -> None:
        """Remove the folder on every node."""
        with suppress(OSError):
            self._holder.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        try:
            self._holder.wait(REMOVING_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._holder.wait()

    def _variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Rank 0 tells what is kept of the staging; nothing leads to this package elsewhere; an Open MPI from PyPI,
        whose mpirun points the ranks at its own folder, is the staged one.
        """
        variables = {STAGE_VARIABLE: json.dumps(self.facts)}
        paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        others = [path for path in paths if not (Path(path) / PACKAGE.name).is_dir()]
        if others != paths:
            variables["PYTHONPATH"] = os.pathsep.join(others)
        if any((self.packed.prefix / "lib").glob("libopen-pal.*")):
            variables |= {"OPAL_PREFIX": str(self.folder), "PMIX_PREFIX": str(self.folder)}
            library_folders = [str(self.folder / "lib"), environ.get("LD_LIBRARY_PATH")]
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, library_folders))
        return variables

    def _wait(self, nodes: int) -> None:
        """Until all nodes are ready. Raises StageError, naming the first that is not, or how many are silent."""
        ready, last_line = 0, ""
        timer = threading.Timer(PATIENCE_S, self._signal, [signal.SIGTERM])
        timer.start()
        try:
            for line in self._holder.stdout or ():
                kind, _, message = line.strip().partition(" ")
                if kind == "failed":
                    raise StageError(f"--stage: {message}")
                ready += kind == "ready"
                last_line = last_line if kind == "ready" else line.strip() or last_line
                if ready == nodes:
                    return
        finally:
            timer.cancel()
        raise StageError(f"--stage: only {ready} of {nodes} nodes became ready{f'; {last_line}' if last_line else ''}")

    def _signal(self, number: int) -> None:
        with suppress(OSError):
            os.killpg(self._holder.pid, number)


def stage(parent: str, run: Path, start: Start) -> Stage | None:
    """Unpack this environment below the folder `parent`, for the ranks of the run in the folder `run`; empty: None.

    Raises StageError before anything is started on a node, or with nothing left there.
    """
    if not parent:
        return None
    if FORBIDDEN.search(parent):
        raise StageError(f"--stage {parent!r}: the name must not contain colons, equal signs or control characters")
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        _refuse_other_nodes(start)
    elif not shutil.which("srun"):
        raise StageError("--stage needs srun to reach the nodes of the job, but 'srun' was not found in PATH")
    try:
        packed = environment()
        archive = archive_of(packed, run.absolute().parent / STORE)
    except PackError as error:
        raise StageError(f"--stage: {error}") from error
    return Stage(Path(parent).absolute(), archive, packed)


def _refuse_other_nodes(start: Start) -> None:
    """Raises StageError where ranks would start on nodes that only a Slurm job lets us stage."""
    scheduler = next((name for name in SCHEDULERS.values() if os.environ.get(name)), None)
    if scheduler or other_hosts(start):
        evidence = f"{scheduler} is set" if scheduler else f"--hosts names {other_hosts(start)[0]}"
        raise StageError(f"--stage works on this node or in a Slurm job only, but {evidence}; leave it out")


def _on_every_node(nodes: int) -> list[str]:
    """The words that start one process on each node of the job, beside whatever else runs there."""
    usage = subprocess.run(["srun", "--help"], capture_output=True, text=True, check=False)
    overlap = ["--overlap"] if "--overlap" in usage.stdout + usage.stderr else []  # before 20.11 steps share by default
    return ["srun", *overlap, f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--mpi=none"]
