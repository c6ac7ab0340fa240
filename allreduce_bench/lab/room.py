"""The room of a lab: one process whose namespaces hold all hosts. When it ends, the kernel ends what runs inside.

A shell script makes the hosts and their network inside the room, another one reaches a host. Each rate limits both ends
of a link by a token bucket (tbf): on the host's end what it sends, on the bridge's end what it receives. A bucket
counts whole Ethernet frames, MTU bytes and 14 bytes of header at most, and gives its content for free after a pause.
So it is kept small: one frame, and what comes in while the kernel's timer may be late. (With one frame alone a link of
100 Mbit/s carried 3 % less; with 64 KiB messages of 64 KiB cost nothing.)
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..machine.virtual_hosts import ETHERNET, MTU, bucket_nbytes
from ..watching.lifeline import KILL, end_with_parent
from .lab import Lab, LabError

# Links
IP_AND_TCP = 20 + 20 + 12  # bytes of header; TCP's with time stamps
PAYLOAD_SHARE = (MTU - IP_AND_TCP) / (MTU + ETHERNET)  # of a link's rate, that is left for messages; 99.3 %

# Options of unshare and nsenter
HOST_SPACES = ("-n", "-m", "-u", "-i")  # what a host has of its own: network, mounts, name, System V memory
ROOM_SPACES = ("-n", "-m", "-p", "-f", "--mount-proc", "--kill-child")  # of the room; its processes end with it
USER_SPACE = ("-U", "-r")  # a user namespace, in which the user may make the others

# What a lab needs
PROGRAMS = {  # and the package of each
    **{"bash": "bash", "hostname": "hostname", "mount": "mount"},
    **{"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2"},
}
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where `ip` and `tc` are, also for users
BOTH_WAYS_OUT = (
    "virtual hosts need root, or user namespaces: run it as root, or allow them "
    "(sysctl user.max_user_namespaces=15000, and on Debian and Ubuntu kernel.unprivileged_userns_clone=1 or "
    "kernel.apparmor_restrict_unprivileged_userns=0)"
)

ENDING_S = 1.0  # for the process that holds the room to end after it


def bucket(rate_bytes_per_s: float | None, mtu: int = MTU) -> str:
    """`RATE:BURST` of a link for the script, in bit/s and bytes; `none` where its rate is unlimited."""
    if rate_bytes_per_s is None:
        return "none"
    return f"{rate_bytes_per_s * 8:.0f}:{bucket_nbytes(rate_bytes_per_s, mtu):.0f}"


AGENT = rf"""#!/bin/bash
# agent [OPTIONS] HOST COMMAND…: like ssh, in a fresh environment. Options are left out, and the values of -o, -l, -p
while [[ $1 == -* ]]; do [[ $1 == -[olp] ]] && shift; shift; done
[[ " $ALLREDUCE_BENCH_LAB" =~ " $1="([0-9]+) ]] || {{ echo "agent: could not resolve host $1" >&2; exit 255; }}
shift
exec env -i HOME="$HOME" PATH="$PATH" TMPDIR="$TMPDIR" ALLREDUCE_BENCH_LAB="$ALLREDUCE_BENCH_LAB" \
    nsenter -t "${{BASH_REMATCH[1]}}" {" ".join(HOST_SPACES)} bash -c "$*"
"""

# $1 the agent, $2 the MTU, then for each host its `bucket`. It prints the process of each host, and ends with its stdin
SCRIPT = r"""set -e
export AGENT=$1; mtu=$2; shift 2
mount -t tmpfs tmpfs /dev/shm
{
    echo 127.0.0.1 localhost
    for ((number = 1; number <= $#; number++)); do echo 10.77.0.$number h$number; done
} > /dev/shm/hosts
ip link add bridge0 type bridge
ip link set bridge0 mtu $mtu up
number=0
for bucket; do
    number=$((number + 1))
    limit="tbf rate ${bucket%:*}bit burst ${bucket#*:} latency 400ms"
    read -r pid < <(exec unshare HOST_SPACES bash -ec '
        hostname h'$number'
        mount --bind /dev/shm/hosts /etc/hosts
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        printf %s "$AGENT" > /dev/shm/agent
        chmod +x /dev/shm/agent
        echo $$
        exec sleep infinity > /dev/null' < /dev/null)
    ip link add port$number mtu $mtu type veth peer name e0 mtu $mtu netns $pid
    ip link set port$number master bridge0 up
    [ $bucket = none ] || tc qdisc add dev port$number root $limit
    nsenter -t $pid -n bash -ec "
        ip link set lo up
        ip address add 10.77.0.$number/24 dev e0
        ip link set e0 up
        [ $bucket = none ] || tc qdisc add dev e0 root $limit"
    echo $pid
done
echo built
exec cat > /dev/null
""".replace("HOST_SPACES", " ".join(HOST_SPACES))


class Room(NamedTuple):
    """A lab that is up, as seen from outside."""

    lab: Lab
    pid: int  # the first process of its namespaces
    as_user: bool  # in a user namespace
    holder: subprocess.Popen  # with which all of it ends

    def has_ended(self) -> bool:
        """Return whether it was ended from outside, with all inside; up to ENDING_S after the first sign of it."""
        with suppress(subprocess.TimeoutExpired):
            self.holder.wait(ENDING_S)
        return self.holder.returncode is not None

    def command(self, number: int, words: Sequence[object]) -> list[str]:
        """The command line that runs `words` on host `number` (0 is h1), in this folder and environment."""
        user = ["-U", "--preserve-credentials"] if self.as_user else []
        enter = ["nsenter", "-t", str(self.pid), *user, "-n", "-m", "-p"]
        return [
            *enter,
            "nsenter",
            "-t",
            str(self.lab.pids[number]),
            *HOST_SPACES,
            "env",
            "-C",
            os.getcwd(),
            *map(str, words),
        ]


@contextmanager
def room(rates_bytes_per_s: Sequence[float | None], mtu: int = MTU) -> Iterator[Room]:
    """A lab with a host for each rate (bytes/s; None: unlimited). It ends with the context, or with this process.

    Raises LabError: a program is missing, no namespaces, a rate that tc refuses.
    """
    _refuse_missing_programs()
    as_user = _needs_user_namespace()
    command = ["unshare", *(USER_SPACE if as_user else ()), *ROOM_SPACES, "bash", "-c", SCRIPT, "lab", AGENT, str(mtu)]
    holder = subprocess.Popen(
        [*command, *(bucket(rate, mtu) for rate in rates_bytes_per_s)],
        env=with_system_programs(os.environ),
        preexec_fn=lambda: end_with_parent(KILL),
        stdin=subprocess.PIPE,  # the room ends when nobody can write to it any more
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the command in the lab
        text=True,
    )
    try:
        yield _built(holder, tuple(rates_bytes_per_s), as_user)
    finally:
        holder.communicate()  # closes its stdin


def why_no_lab() -> str:
    """Why no lab can be made here, in a sentence; empty: it can."""
    try:
        with room([None]):
            return ""
    except LabError as error:
        return str(error)


def _refuse_missing_programs() -> None:
    missing = [name for name in PROGRAMS if not shutil.which(name, path=with_system_programs(os.environ)["PATH"])]
    if missing:
        packages = " ".join(dict.fromkeys(PROGRAMS[name] for name in missing))
        raise LabError(f"virtual hosts need {' and '.join(missing)}: not found in PATH; install {packages}")


def _needs_user_namespace() -> bool:
    """Return whether the namespaces need a user namespace around them. Raises LabError where neither way is open."""
    for as_user in (False, True) if os.geteuid() == 0 else (True,):
        command = ["unshare", *(USER_SPACE if as_user else ()), *ROOM_SPACES, "bash", "-c", ":"]
        if (
            subprocess.run(command, env=with_system_programs(os.environ), capture_output=True, check=False).returncode
            == 0
        ):
            return as_user
    raise LabError(BOTH_WAYS_OUT)


def with_system_programs(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with a PATH in which `ip` and `tc` are found."""
    return {**environ, "PATH": os.pathsep.join([environ.get("PATH", os.defpath), *SYSTEM_PATHS])}


def _built(holder: subprocess.Popen, rates: tuple[float | None, ...], as_user: bool) -> Room:
    """The lab, when its script says so. Raises LabError with the last line that the script said."""
    assert holder.stdin and holder.stdout and holder.stderr
    lines: list[str] = []
    for line in holder.stdout:
        if line == "built\n":
            first = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())
            return Room(Lab(rates, tuple(map(int, lines))), first, as_user, holder)
        lines.append(line)
    said = [line.strip() for line in holder.stderr if line.strip()] or ["no reason given"]
    number = len(lines) + 1
    raise LabError(f"virtual host h{number} of {len(rates)} could not be made: {_cause(said)}")


def _cause(said: Sequence[str]) -> str:
    """Return what a program said first: later lines are consequences."""
    return next((line for line in said if not line.startswith("Usage")), said[0])
