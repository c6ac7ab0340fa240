"""A Slurm cluster in one machine: a controller and four nodes n1 … n4, each a virtual host with a name of its own.

    python tests/support/private_slurm.py WORD

    run COMMAND…    run a command on the cluster's login host; for it alone a cluster is started, and taken down after
                    it, where none is up in the folder
    try COMMAND…    as run; where no cluster can be, the command runs without one, and finds the reason in
                    PRIVATE_SLURM_UNAVAILABLE
    up              start a cluster, and leave it there (some seconds)
    down            end it, and everything that was started on it
    kill n3         node n3 dies, with all that runs on it
    start n3        it comes back
    logs            what the controller and the nodes said

PRIVATE_SLURM names the cluster's folder (short: sockets lie below; default /tmp/private_slurm): a cluster per folder,
as many at a time as you like. Each has a network, process numbers and a munge of its own, so that no port, no
/etc/slurm and no system service is touched, and nothing is left when it ends. It needs root, slurm-wlm and munge.

Sbatch, srun, sinfo and their like work *inside* only: in what `run` runs, and in jobs. There SLURM_CONF is set, the
host is called login, and there is no other network. All hosts share the machine's files, but for /dev/shm: that is a
node's own, and serves as its local disk. Nodes have 2 CPUs; jobs may share them (OverSubscribe=FORCE). Partitions:
batch (default, at most an hour), small (at most one node and one minute), closed (down). Switches: s0 over s1 (n1, n2)
and s2 (n3, n4). No accounting. A job that is requeued starts again after 10 s, a dead node is noticed after 20 to 30 s.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from places import TESTS

NODES = ("n1", "n2", "n3", "n4")
PROGRAMS = ("unshare", "nsenter", "mount", "ip", "munged", "slurmctld", "slurmd", "sinfo")
PATIENCE_S = 60.0
FILES = TESTS / "cluster" / "machine"  # the configuration, and what starts the hosts


class Unavailable(RuntimeError):
    """No private Slurm here, in one sentence."""


class Cluster(NamedTuple):
    """A cluster that is up in `folder`."""

    folder: Path

    def command(self, words: Sequence[object]) -> list[str]:
        """The command line that runs `words` on the login host, in this folder, with this environment."""
        if inside() == self.folder:
            return [*map(str, words)]
        variables = _variables(self.folder)
        enter = ["nsenter", "-t", (self.folder / "room").read_text(), "--net", "--mount", "--uts", "--pid"]
        return [*enter, "env", "-C", str(Path.cwd()), *(f"{n}={v}" for n, v in variables.items()), *map(str, words)]

    def run(self, words: Sequence[object], **options) -> subprocess.CompletedProcess:
        """Run `words` on the login host, text kept; `options` are those of `subprocess.run`."""
        kept = {"check": False, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 240}
        return subprocess.run(self.command(words), **(kept | options))

    def kill(self, name: str) -> None:
        """Node `name` dies, with everything that runs on it."""
        self.run(["kill", "-KILL", (self.folder / f"pid.{name}").read_text().strip()], check=True)

    def start(self, name: str) -> None:
        """Node `name` starts again, after `kill`."""
        with open(self.folder / "said", "a") as said:  # not a pipe, which would stay open for as long as the node
            self.run([self.folder / "start", name], check=True, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def wait(self, nodes: int = len(NODES)) -> None:
        """Return when so many nodes are idle. Raises Unavailable after PATIENCE_S."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            states = self.run(["sinfo", "--noheader", "--Node", "--partition=batch", "--format=%t"])
            if states.stdout.split().count("idle") >= nodes:
                return
            time.sleep(0.1)
        raise Unavailable(f"Slurm here did not get {nodes} nodes ready in {PATIENCE_S:.0f} s: {_last(self.folder)}")


@contextmanager
def private_slurm(folder: Path | None = None) -> Iterator[Cluster]:
    """A cluster, in a new folder unless one is named. It ends with the context, and when this process dies.

    Raises Unavailable.
    """
    with tempfile.TemporaryDirectory(prefix="slurm.") as name:
        place = folder or Path(name)
        reading, writing = os.pipe()
        try:
            with _build(place, reading) as room:
                try:
                    yield _built(place, room)
                finally:
                    room.kill()  # and with it, all that is in it
        finally:  # what the room reads from: its end is the room's, too
            os.close(writing)
            os.close(reading)


def up(folder: Path) -> Cluster:
    """A cluster in `folder` that stays until `down`. Raises Unavailable."""
    _remove(folder)
    folder.mkdir(parents=True)
    os.mkfifo(folder / "end")
    endless = os.open(folder / "end", os.O_RDWR)  # whoever has it open so never reads its end
    try:
        room = _build(folder, endless, start_new_session=True)
        try:
            return _built(folder, room)
        except Unavailable:
            room.kill()
            raise
    finally:
        os.close(endless)


def down(folder: Path) -> None:
    """End the cluster in `folder`, and remove the folder. Raises Unavailable where none is up."""
    if not is_up(folder):
        raise Unavailable(f"no cluster is up in {folder}")
    (folder / "end").write_text("\n")
    while is_up(folder):
        time.sleep(0.02)
    _remove(folder)


def is_up(folder: Path) -> bool:
    """Whether a cluster is up in `folder`."""
    try:
        return inside() == folder or os.readlink(f"/proc/{(folder / 'room').read_text()}/cwd") == str(folder.resolve())
    except OSError:
        return False


def inside() -> Path | None:
    """The folder of the cluster on which this process runs; None: on none."""
    folder = Path(os.environ.get("PRIVATE_SLURM", "/"))
    return folder if _variables(folder).items() <= os.environ.items() else None


def _remove(folder: Path) -> None:
    """Remove what a cluster has left, and nothing else. Raises Unavailable."""
    if is_up(folder):
        raise Unavailable(f"a cluster is up in {folder} already; another one needs another folder: PRIVATE_SLURM=…")
    if (folder / "slurm.conf").exists():
        shutil.rmtree(folder)


def _variables(folder: Path) -> dict[str, str]:
    return {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PRIVATE_SLURM": str(folder),
        "TMPDIR": str(folder / "tmp"),  # or MPIs of two clusters would meet in /tmp: their hosts have the same names
    }


def _build(folder: Path, stdin: int, **options) -> subprocess.Popen:
    """Start the cluster's first process. Raises Unavailable where programs or rights lack."""
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        raise Unavailable(f"a private Slurm needs {', '.join(missing)}")
    if os.geteuid() != 0:
        raise Unavailable("a private Slurm needs root")
    folder.chmod(0o755)
    for name in ("tmp", "state"):
        (folder / name).mkdir()
    for path in FILES.iterdir():
        (folder / path.name).write_text(path.read_text().replace("FOLDER", str(folder)))
    (folder / "start").chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    space = ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command, environment = ["unshare", *space, "bash", "build"], os.environ | _variables(folder)
    with open(folder / "said", "w") as said:
        return subprocess.Popen(command, cwd=folder, env=environment, stdin=stdin, stdout=said, stderr=said, **options)


def _built(folder: Path, holder: subprocess.Popen) -> Cluster:
    """The cluster, when its nodes are ready. Raises Unavailable."""
    deadline = time.monotonic() + PATIENCE_S
    while not (folder / "built").exists():
        if holder.poll() is not None or time.monotonic() > deadline:
            raise Unavailable(f"this machine does not let us start a private Slurm: {_last(folder)}")
        time.sleep(0.02)
    (folder / "room").write_text(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().strip())
    cluster = Cluster(folder)
    cluster.wait()
    return cluster


def _last(folder: Path) -> str:
    """The last line that was said while building."""
    return (["no answer", *(folder / "said").read_text().split("\n")[:-1]])[-1]


def _run(folder: Path, words: Sequence[str]) -> int:
    """Run `words` in the cluster of `folder`, or in one of their own where none is up there; the exit status."""
    with nullcontext(Cluster(folder)) if is_up(folder) else private_slurm() as cluster:
        return subprocess.run(cluster.command(words), check=False).returncode


def _try(folder: Path, words: Sequence[str]) -> int:
    try:
        return _run(folder, words)
    except Unavailable as error:
        environment = os.environ | {"PRIVATE_SLURM_UNAVAILABLE": str(error)}
        return subprocess.run(words, env=environment, check=False).returncode


def _logs(folder: Path) -> None:
    for path in sorted([folder / "said", *folder.glob("*.log")]):
        print(f"== {path.name}", path.read_text(errors="replace"), sep="\n")


def main(arguments: Sequence[str]) -> int:
    """The command of this file's first lines; returns its exit status."""
    folder = Path(os.environ.get("PRIVATE_SLURM", "/tmp/private_slurm")).absolute()
    act = {"up": up, "down": down, "logs": _logs}
    match arguments:
        case ["run", _, *_]:
            return _run(folder, arguments[1:])
        case ["try", _, *_]:
            return _try(folder, arguments[1:])
        case ["up" | "down" | "logs" as verb]:
            act[verb](folder)
        case ["kill" | "start" as verb, name] if name in NODES:
            if not is_up(folder):
                raise Unavailable(f"no cluster is up in {folder}")
            getattr(Cluster(folder), verb)(name)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unavailable as error:
        sys.exit(f"error: {error}")
