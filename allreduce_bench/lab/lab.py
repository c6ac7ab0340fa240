"""What a lab is: names, rates and processes of its hosts; and how a process finds out that it runs in one."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..machine.node import ETHERNET, MTU, bucket_nbytes, describe
from ..message import Refused, say
from ..runs.folder import RunFolder
from ..runs.recorder import is_taken
from ..runs.start import SSH, Start, slots_of
from ..units import format_rate, parse_rates
from ..watching.lifeline import KILL, LAB_VARIABLE, end_with_parent

INTERFACE = "e0"  # of every host
MOST_HOSTS = 32
LEAST_RATE, MOST_RATE = 64e3 / 8, 100e9 / 8  # bytes/s
TEMPORARY = "/dev/shm"  # each host has its own, which ends with it: nothing of an MPI stays in /tmp
AGENT = f"{TEMPORARY}/agent"  # on every host: the program that reaches the others, called like ssh
HOST = re.compile(r"\bh\d+=(\d+):(none|[\d.e+]+)")  # in the variable of the lab


class LabError(Refused, RuntimeError):
    """Error: no such lab, or none on this machine; the sentence says why and what to do."""


class Lab(NamedTuple):
    """The hosts h1, h2, … with the addresses 10.77.0.1, 10.77.0.2, …"""

    rates_bytes_per_s: tuple[float | None, ...]  # of each host's link in either direction; None: unlimited
    pids: tuple[int, ...]  # the process that holds each host, as numbered inside the lab

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hosts."""
        return host_names(len(self.pids))

    def variables(self) -> dict[str, str]:
        """The environment of a command in the lab, for `lab_around` and the agent."""
        hosts = zip(self.names, self.pids, self.rates_bytes_per_s)
        words = [f"{name}={pid}:{'none' if rate is None else repr(rate)}" for name, pid, rate in hosts]
        return {LAB_VARIABLE: " ".join(words), "TMPDIR": TEMPORARY}


def host_names(hosts: int) -> tuple[str, ...]:
    """The names of so many hosts."""
    return tuple(f"h{number + 1}" for number in range(hosts))


def lab_around(environ: Mapping[str, str]) -> Lab | None:
    """The lab in which a process with this environment runs; None: it runs in none."""
    hosts = HOST.findall(environ.get(LAB_VARIABLE, ""))
    rates = tuple(None if rate == "none" else float(rate) for _, rate in hosts)
    return Lab(rates, tuple(int(pid) for pid, _ in hosts)) if hosts else None


def rates_of_hosts(hosts: int, rates: Sequence[float]) -> tuple[float, ...]:
    """The rate of each host's link in bytes/s, from one rate for all of them or one for each. Raises LabError."""
    if hosts < 1:
        raise LabError("lab.virtual_hosts_expected_least", hosts=hosts)
    if hosts > MOST_HOSTS:
        raise LabError("lab.virtual_hosts_expected_most", hosts=hosts, most_hosts=MOST_HOSTS)
    for rate in rates:
        if not LEAST_RATE <= rate <= MOST_RATE:
            limits = f"{format_rate(LEAST_RATE)} to {format_rate(MOST_RATE)}"
            raise LabError("lab.link_bit_expected_tc", rate=rate * 8, limits=limits)
    if len(rates) not in (1, hosts):
        raise LabError("lab.rates_virtual_hosts_expected", rate_count=len(rates), hosts=hosts)
    return tuple(rates) * (hosts if len(rates) == 1 else 1)


# The room of a lab: one process whose namespaces hold all hosts. When it ends, the kernel ends what runs inside.
#
# A shell script makes the hosts and their network inside the room, another one reaches a host. Each rate limits both
# ends of a link by a token bucket (tbf): on the host's end what it sends, on the bridge's end what it receives. A
# bucket counts whole Ethernet frames, MTU bytes and 14 bytes of header at most, and gives its content for free after a
# pause. So it is kept small: one frame, and what comes in while the kernel's timer may be late. (With one frame alone a
# link of 100 Mbit/s carried 3 % less; with 64 KiB messages of 64 KiB cost nothing.)


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


AGENT_SCRIPT = rf"""#!/bin/bash
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
    command = [
        "unshare",
        *(USER_SPACE if as_user else ()),
        *ROOM_SPACES,
        "bash",
        "-c",
        SCRIPT,
        "lab",
        AGENT_SCRIPT,
        str(mtu),
    ]
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
        raise LabError("lab.virtual_hosts_need_not", missing=" and ".join(missing), packages=packages)


def _needs_user_namespace() -> bool:
    """Return whether the namespaces need a user namespace around them. Raises LabError where neither way is open."""
    for as_user in (False, True) if os.geteuid() == 0 else (True,):
        command = ["unshare", *(USER_SPACE if as_user else ()), *ROOM_SPACES, "bash", "-c", ":"]
        if (
            subprocess.run(command, env=with_system_programs(os.environ), capture_output=True, check=False).returncode
            == 0
        ):
            return as_user
    raise LabError("as_said", words=BOTH_WAYS_OUT)


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
    raise LabError("lab.virtual_host_could_not", number=number, rate_count=len(rates), said=_cause(said))


def _cause(said: Sequence[str]) -> str:
    """Return what a program said first: later lines are consequences."""
    return next((line for line in said if not line.startswith("Usage")), said[0])


# Commands inside a lab: what `lab` and `run --virtual-hosts` start there, and the lab around a command.
#
# A command runs on the first host and gets the signals of this process; its exit status is handed on.


DEFAULT_RATE = "100mbit"  # of each link
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # to the command
TCP_ONLY = {"UCX_TLS": "tcp,self"}  # else UCX finds that the hosts share memory, and leaves the links aside


class LabEnded(LabError):
    """Error: the command in a lab was killed, alone or with the lab; `exit_code` is that of the command."""

    def __init__(self, signal_name: str, lab_ended: bool, exit_code: int):
        what = say("lab.virtual_hosts_ended_outside") if lab_ended else "the command"
        super().__init__("lab.killed_run_resume_folder", what=what, signal_name=signal_name)
        self.exit_code = exit_code


def run_in_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `words` on host h1 of a lab of their own; the exit status.

    Signals of this process go on to the command. Raises LabError; LabEnded where the command or the lab was killed.
    """
    with room(rates_bytes_per_s) as made:
        command, variables = made.command(0, words), variables_in(made, environ)
        # In a group of its own: an interrupt of the terminal comes once, from here
        process = subprocess.Popen(command, env=variables, preexec_fn=os.setpgrp)
        with _handled(lambda number: _signal_command(process, number)):
            return _exit_status(process.wait(), made)


def shell_in_lab(rates_bytes_per_s: Sequence[float], shell: Sequence[str], environ: Mapping[str, str]) -> int:
    """An interactive shell on host h1 of a lab of its own; its exit status. Raises as `run_in_lab`."""
    with room(rates_bytes_per_s) as made, _handled(lambda number: None):  # the terminal interrupts the shell, too
        process = subprocess.Popen(made.command(0, shell), env=variables_in(made, environ))
        return _exit_status(process.wait(), made)


def variables_in(made: Room, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with what commands in this lab need."""
    return {**TCP_ONLY, **with_system_programs(environ), **made.lab.variables()}


@contextmanager
def _handled(handle: Callable[[int], None]) -> Iterator[None]:
    """FORWARDED go to `handle` within the context, but those that are ignored, as SIGHUP is behind nohup."""
    heeded = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, lambda number, frame: handle(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _signal_command(process: subprocess.Popen, number: int) -> None:
    """Send the signal to the command itself: nsenter, which waits for it, does not pass signals on."""
    with suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        for pid in map(int, children or [str(process.pid)]):
            os.kill(pid, number)


def _exit_status(status: int, made: Room) -> int:
    """The status of the command in this lab. Raises LabEnded: who is only asked to end has words of its own."""
    if status < 0:
        raise LabEnded(signal.Signals(-status).name, made.has_ended(), 128 - status)
    return status


def run_in_lab_of(options: Mapping[str, Any], words: Sequence[str]) -> int | None:
    """Run `allreduce-bench WORDS` in the lab that the options of `run` ask for; its exit status.

    None: they ask for none that is not there yet. Raises LabError, RunError.
    """
    rates = rates_to_enter(options)
    return enter_lab(rates, words) if rates else None


def enter_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str]) -> int:
    """Run `allreduce-bench WORDS` on the first of new virtual hosts; its exit status. Raises LabError."""
    refuse_lab_in_lab()
    return run_in_lab(rates_bytes_per_s, [sys.executable, "-m", "allreduce_bench", *words], os.environ)


def refuse_lab_in_lab() -> None:
    """Raise LabError where this process runs on a virtual host."""
    if lab_around(os.environ):
        raise LabError("lab.command_runs_virtual_host")


def rates_to_enter(options: Mapping[str, Any]) -> tuple[float, ...]:
    """The rates of the virtual hosts that `run` needs and that are not there yet; empty: none.

    They are those of the options, or of the run that is resumed. Raises LabError, RunError.
    """
    rates, lab = _rates_asked(options), lab_around(os.environ)
    _refuse_other_hosts(options, rates)
    if lab is None:
        return rates
    if rates and rates != lab.rates_bytes_per_s:
        raise LabError("lab.virtual_hosts_link_rate")
    return ()


def _refuse_other_hosts(options: Mapping[str, Any], rates: tuple[float, ...]) -> None:
    """Raise LabError where a run is to be continued on other virtual hosts than those that it was measured on."""
    if options["virtual_rates_bytes_per_s"] is None:
        return
    stored, name = _rates_of_run(options), options["output"]
    if stored is not None and rates != stored:
        where = describe(stored) if stored else "no virtual hosts"
        raise LabError("lab.measured_continue_allreduce_bench", name=name, where=where)


def _rates_of_run(options: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the rates of the run to be continued; None: there is none."""
    folder: Path | None = options["output"]
    if options["resume"] and folder and is_taken(folder):
        return RunFolder(folder).plan().start.virtual_rates_bytes_per_s
    return None


def _rates_asked(options: Mapping[str, Any]) -> tuple[float, ...]:
    if options["virtual_rates_bytes_per_s"] is not None:
        if given := [name for name in ("hosts", "hostfile") if options[name]]:
            raise LabError("lab.virtual_hosts_both_name", given=given[0])
        return rates_of_hosts(
            options["virtual_rates_bytes_per_s"], options["link_rate_bytes_per_s"] or parse_rates(DEFAULT_RATE)
        )
    return _rates_of_run(options) or ()


def with_lab(start: Start, environ: Mapping[str, str]) -> Start:
    """`start` on the hosts of the lab in which this process runs; as it is, where there is none. Raises LabError."""
    lab = lab_around(environ)
    if lab is None:
        return start
    rate_of_host = {name: rate for name, rate in zip(lab.names, lab.rates_bytes_per_s) if rate}
    hosts = start.hosts or lab.names
    if unknown := [name for name, _ in map(slots_of, hosts) if name not in rate_of_host]:
        raise LabError("lab.host_not_lab_hosts", unknown=unknown[0], names=", ".join(lab.names))
    if start.interface and start.interface != INTERFACE:
        raise LabError("lab.interface_virtual_hosts_interface", interface=start.interface, interface_2=INTERFACE)
    return replace(
        start,
        hosts=hosts,
        remote_shell=AGENT if start.remote_shell == SSH else start.remote_shell,
        interface=start.interface or INTERFACE,
        virtual_rates_bytes_per_s=tuple(rate_of_host[slots_of(host)[0]] for host in hosts),
    )
