"""A Slurm cluster in one machine: a controller and four nodes n1 … n4, each a virtual host with a name of its own.

    python tests/private_slurm.py run COMMAND…    run a command on the cluster's login host; for it alone a cluster is
                                                  started, and taken down after it, where none is up in the folder
    python tests/private_slurm.py up              start a cluster, and leave it there (some seconds)
    python tests/private_slurm.py down            end it, and everything that was started on it
    python tests/private_slurm.py kill n3         node n3 dies, with all that runs on it
    python tests/private_slurm.py start n3        it comes back
    python tests/private_slurm.py logs            what the controller and the nodes said

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
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

NODES = ("n1", "n2", "n3", "n4")
PROGRAMS = ("unshare", "nsenter", "mount", "ip", "munged", "slurmctld", "slurmd", "sinfo")
PATIENCE_S = 60.0

CONFIGURATION = """ClusterName=private
SlurmctldHost=login(10.78.0.100)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
TopologyPlugin=topology/tree
EnforcePartLimits=ALL
ReturnToService=2
JobRequeue=1
SlurmdTimeout=20
KillWait=5
MinJobAge=300
OverTimeLimit=0
NodeName=n[1-4] NodeAddr=10.78.0.[1-4] CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=n[1-4] Default=YES MaxTime=60 DefaultTime=10 OverSubscribe=FORCE:8
PartitionName=small Nodes=n[1-4] MaxNodes=1 MaxTime=1 OverSubscribe=FORCE:8
PartitionName=closed Nodes=n[1-4] MaxTime=60 State=DOWN
"""

SWITCHES = """SwitchName=s1 Nodes=n[1-2]
SwitchName=s2 Nodes=n[3-4]
SwitchName=s0 Switches=s[1-2]
"""

CGROUPS = "CgroupPlugin=cgroup/v1\n"  # which looks at none before it is asked to use one; v2 needs one at the start
HOSTS = "127.0.0.1 localhost\n10.78.0.100 login\n" + "".join(f"10.78.0.{name[1:]} {name}\n" for name in NODES)

# The login host. It is the first process of its process namespace: when it ends, the kernel ends all others
BUILD = """set -e
hostname login
mount --bind hosts /etc/hosts
mount -t sysfs sysfs /sys
ip link set lo up
ip link add bridge0 type bridge
ip address add 10.78.0.100/24 dev bridge0
ip link set bridge0 up
munged --foreground --num-threads=2 --socket=$PWD/munge.socket --key-file=$PWD/munge.key --log-file=$PWD/munged.log \
    --pid-file=$PWD/munged.pid --seed-file=$PWD/munge.seed < /dev/null &
until [ -S munge.socket ]; do kill -0 $!; sleep 0.01; done
slurmctld -D < /dev/null &
for name in {nodes}; do ./start $name; done
touch built
read -r
"""

# A node: again the first process of a process namespace, so that its end is the node's
START = """#!/bin/bash
# start NAME: a host of that name on the bridge, with a slurmd. Called on the login host
set -e
cd {folder}
name=$1 number=${{1#n}}
unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc bash -ec '
    hostname '$name'
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /dev/shm
    until ip link show e0 > /dev/null 2>&1; do sleep 0.01; done
    ip link set lo up
    ip address add 10.78.0.'$number'/24 dev e0
    ip link set e0 up
    slurmd -D -N '$name' &
    sleep infinity & wait $!' < /dev/null >> said 2>&1 &
until child=$(cat /proc/$!/task/$!/children) && [ $child ]; do kill -0 $!; sleep 0.01; done
ip link delete port$number 2> /dev/null || true
ip link add port$number type veth peer name e0 netns $child
ip link set port$number master bridge0 up
echo $child > pid.$name
"""


class Unavailable(RuntimeError):
    """No private Slurm here, in one sentence."""


class Cluster(NamedTuple):
    """A cluster that is up in `folder`."""

    folder: Path

    def command(self, words: Sequence[object]) -> list[str]:
        """The command line that runs `words` on the login host, in this folder, with this environment."""
        variables = _variables(self.folder)
        if variables.items() <= os.environ.items():
            return [*map(str, words)]  # we are inside
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
            room = _build(place, reading)
            try:
                yield _built(place, room)
            finally:
                os.close(writing)  # what the room reads from
                room.wait(timeout=PATIENCE_S)
        finally:
            os.close(reading)


def up(folder: Path) -> Cluster:
    """A cluster in `folder` that stays until `down`. Raises Unavailable."""
    _remove(folder)
    folder.mkdir(parents=True)
    os.mkfifo(folder / "end")
    endless = os.open(folder / "end", os.O_RDWR)  # whoever has it open so never reads its end
    try:
        return _built(folder, _build(folder, endless, start_new_session=True))
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
    """Whether a cluster is up in `folder`, as seen from outside or inside."""
    try:
        return _variables(folder).items() <= os.environ.items() or (
            Path("/proc", (folder / "room").read_text(), "cwd").resolve() == folder.resolve()
        )
    except OSError:
        return False


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
    files = {"slurm.conf": CONFIGURATION, "topology.conf": SWITCHES, "cgroup.conf": CGROUPS, "hosts": HOSTS}
    for name, text in (files | {"build": BUILD}).items():
        (folder / name).write_text(text.format(folder=folder, nodes=" ".join(NODES)))
    start = folder / "start"
    start.write_text(START.format(folder=folder))
    start.chmod(0o755)
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


def _inside(folder: Path, words: Sequence[str]) -> int:
    """Run `words` in the cluster of `folder`, or in one of their own where none is up there; the exit status."""
    if is_up(folder):
        return subprocess.run(Cluster(folder).command(words), check=False).returncode
    with private_slurm() as cluster:
        return subprocess.run(cluster.command(words), check=False).returncode


def _logs(folder: Path) -> None:
    for path in sorted([folder / "said", *folder.glob("*.log")]):
        print(f"== {path.name}", path.read_text(errors="replace"), sep="\n")


def main(arguments: Sequence[str]) -> int:
    """The command of this file's first lines; returns its exit status."""
    folder = Path(os.environ.get("PRIVATE_SLURM", "/tmp/private_slurm")).absolute()
    act = {"up": up, "down": down, "logs": _logs}
    match arguments:
        case ["run", _, *_]:
            return _inside(folder, arguments[1:])
        case ["up" | "down" | "logs" as verb]:
            act[verb](folder)
        case ["kill" | "start" as verb, name] if name in NODES and is_up(folder):
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
