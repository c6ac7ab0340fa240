"""Virtual hosts of a lab: detect one around a process, build one from Linux namespaces, run commands inside it."""

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

from ..machine.virtual_hosts import ETHERNET, MTU, bucket_nbytes, describe
from ..runs.hosts import slots_of
from ..runs.start import SSH, Start
from ..units import format_rate, parse_rates, shell_word
from ..watching.lifeline import KILL, LAB_VARIABLE, end_with_parent

INTERFACE = "e0"  # of every host
MOST_HOSTS = 32
LEAST_RATE, MOST_RATE = 64e3 / 8, 100e9 / 8  # bytes/s
TEMPORARY = "/dev/shm"  # private to each host and gone with it: MPI leaves nothing in /tmp
AGENT = f"{TEMPORARY}/agent"  # on every host: a replacement for ssh that reaches the others
HOST = re.compile(r"\bh\d+=(\d+):(none|[\d.e+]+)")  # as written into the environment variable of the lab


class LabError(RuntimeError):
    """Error: a lab is invalid or cannot be made here; the sentence says why and what to do."""


class Lab(NamedTuple):
    """Lab with hosts h1, h2, … at the addresses 10.77.0.1, 10.77.0.2, …"""

    rates_bytes_per_s: tuple[float | None, ...]  # per host, in either direction; None: unlimited
    pids: tuple[int, ...]  # the process that holds each host, in the lab's PID namespace

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the hosts."""
        return tuple(f"h{number}" for number in range(1, len(self.pids) + 1))

    def variables(self) -> dict[str, str]:
        """Return the environment of a command in the lab, for `lab_around` and the agent."""
        hosts = zip(self.names, self.pids, self.rates_bytes_per_s)
        words = [f"{name}={pid}:{'none' if rate is None else repr(rate)}" for name, pid, rate in hosts]
        return {LAB_VARIABLE: " ".join(words), "TMPDIR": TEMPORARY}


def lab_around(environ: Mapping[str, str]) -> Lab | None:
    """Return the lab in which a process with this environment runs, or None."""
    hosts = HOST.findall(environ.get(LAB_VARIABLE, ""))
    rates = tuple(None if rate == "none" else float(rate) for _, rate in hosts)
    return Lab(rates, tuple(int(pid) for pid, _ in hosts)) if hosts else None


def rates_of_hosts(hosts: int, rates: Sequence[float]) -> tuple[float, ...]:
    """Return each host's link rate in bytes/s, given one rate for all or one per host. Raises LabError."""
    if hosts < 1:
        raise LabError(f"{hosts} virtual hosts: expected at least 1")
    if hosts > MOST_HOSTS:
        raise LabError(f"{hosts} virtual hosts: expected at most {MOST_HOSTS}; they share the cores of one machine")
    for rate in rates:
        if not LEAST_RATE <= rate <= MOST_RATE:
            limits = f"{format_rate(LEAST_RATE)} to {format_rate(MOST_RATE)}"
            raise LabError(f"a link of {rate * 8:.4g} bit/s: expected {limits}, as tc takes it")
    if len(rates) not in (1, hosts):
        raise LabError(f"{len(rates)} rates for {hosts} virtual hosts: expected one rate, or one for each host")
    return tuple(rates) * (hosts if len(rates) == 1 else 1)


# Room of a lab: one process whose namespaces hold all hosts. When it ends, the kernel ends everything inside.
#
# A shell script makes the hosts and their network; the agent script reaches a host. A token bucket (tbf) limits each
# link at both ends: the host's end limits what it sends, the bridge's end what it receives. A bucket counts whole
# Ethernet frames (MTU and 14 bytes of header) and lets its content through at once after a pause. So it is small: one
# frame, plus what arrives while the kernel's timer may be late. (With one frame alone a link of 100 Mbit/s carried 3 %
# less; with 64 KiB, messages of 64 KiB cost nothing.)


# Links
IP_AND_TCP = 20 + 20 + 12  # bytes of header; TCP's with time stamps
PAYLOAD_SHARE = (MTU - IP_AND_TCP) / (MTU + ETHERNET)  # share of a link's rate left for messages; 99.3 %

# Options of unshare and nsenter
HOST_SPACES = ("-n", "-m", "-u", "-i")  # each host's own network, mounts, name, System V memory
ROOM_SPACES = ("-n", "-m", "-p", "-f", "--mount-proc", "--kill-child")  # of the room; its processes end with it
USER_SPACE = ("-U", "-r")  # a user namespace, in which an unprivileged user may make the others

# What a lab needs
PROGRAMS = {  # program -> package
    **{"bash": "bash", "hostname": "hostname", "mount": "mount"},
    **{"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2"},
}
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # hold `ip` and `tc`, often outside a user's PATH
BOTH_WAYS_OUT = (
    "virtual hosts need root, or user namespaces: run it as root, or allow them "
    "(sysctl user.max_user_namespaces=15000, and on Debian and Ubuntu kernel.unprivileged_userns_clone=1 or "
    "kernel.apparmor_restrict_unprivileged_userns=0)"
)


def bucket(rate_bytes_per_s: float | None, mtu: int = MTU) -> str:
    """Return `RATE:BURST` of a link for the script, in bit/s and bytes; `none` if the rate is unlimited."""
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
    """Running lab, seen from outside."""

    lab: Lab
    pid: int  # the first process of its namespaces
    as_user: bool  # in a user namespace

    def command(self, number: int, words: Sequence[object]) -> list[str]:
        """Return the command line that runs `words` on host `number` (0 is h1), in this folder and environment."""
        user = "-U --preserve-credentials" if self.as_user else ""
        room = f"nsenter -t {self.pid} {user} -n -m -p"
        host = f"nsenter -t {self.lab.pids[number]} {' '.join(HOST_SPACES)}"
        return [*room.split(), *host.split(), "env", "-C", os.getcwd(), *map(str, words)]


@contextmanager
def room(rates_bytes_per_s: Sequence[float | None], mtu: int = MTU) -> Iterator[Room]:
    """Make a lab with one host per rate (bytes/s; None: unlimited); it ends with the context or this process.

    Raises LabError if a program is missing, namespaces cannot be made, or tc refuses a rate.
    """
    _refuse_missing_programs()
    as_user = _needs_user_namespace()
    spaces = [*(USER_SPACE if as_user else ()), *ROOM_SPACES]
    buckets = [bucket(rate, mtu) for rate in rates_bytes_per_s]
    holder = subprocess.Popen(
        ["unshare", *spaces, "bash", "-c", SCRIPT, "lab", AGENT_SCRIPT, str(mtu), *buckets],
        env=add_system_programs(os.environ),
        preexec_fn=lambda: end_with_parent(KILL),
        stdin=subprocess.PIPE,  # the room ends when this pipe closes
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the command in the lab
        text=True,
    )
    try:
        yield _build_room(holder, tuple(rates_bytes_per_s), as_user)
    finally:
        holder.communicate()  # closes its stdin, which ends the room


def why_no_lab() -> str:
    """Return the reason why no lab can be made here, or an empty string."""
    try:
        with room([None]):
            return ""
    except LabError as error:
        return str(error)


def _refuse_missing_programs() -> None:
    missing = [name for name in PROGRAMS if not shutil.which(name, path=add_system_programs(os.environ)["PATH"])]
    if missing:
        packages = " ".join(dict.fromkeys(PROGRAMS[name] for name in missing))
        raise LabError(f"virtual hosts need {' and '.join(missing)}: not found in PATH; install {packages}")


def _needs_user_namespace() -> bool:
    """Return whether the namespaces need a user namespace around them. Raises LabError if neither way works."""
    for as_user in (False, True) if os.geteuid() == 0 else (True,):
        command = ["unshare", *(USER_SPACE if as_user else ()), *ROOM_SPACES, "bash", "-c", ":"]
        tried = subprocess.run(command, env=add_system_programs(os.environ), capture_output=True, check=False)
        if tried.returncode == 0:
            return as_user
    raise LabError(BOTH_WAYS_OUT)


def add_system_programs(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` with a PATH in which `ip` and `tc` are found."""
    return {**environ, "PATH": os.pathsep.join([environ.get("PATH", os.defpath), *SYSTEM_PATHS])}


def _build_room(holder: subprocess.Popen, rates: tuple[float | None, ...], as_user: bool) -> Room:
    """Return the lab once its script reports success. Raises LabError with the cause that the script printed."""
    assert holder.stdin and holder.stdout and holder.stderr
    lines: list[str] = []
    for line in holder.stdout:
        if line == "built\n":
            first = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())
            return Room(Lab(rates, tuple(map(int, lines))), first, as_user)
        lines.append(line)
    said = [line.strip() for line in holder.stderr if line.strip()] or ["no reason given"]
    cause = next((line for line in said if not line.startswith("Usage")), said[0])  # later ones are consequences
    raise LabError(f"virtual host h{len(lines) + 1} of {len(rates)} could not be made: {cause}")


# Commands inside a lab: `lab`, `run --virtual-hosts`, and the lab around a command.
#
# A command runs on the first host, receives the signals sent to this process, and passes its exit status on.


DEFAULT_RATE = "100mbit"  # of each link
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # to the command
TCP_ONLY = {"UCX_TLS": "tcp,self"}  # otherwise UCX sees shared memory, and bypasses the links


class LabEnded(LabError):
    """Error: the command in a lab was killed, alone or with the lab; `exit_code` is the command's."""

    def __init__(self, sentence: str, exit_code: int = 1):
        super().__init__(sentence)
        self.exit_code = exit_code


def run_in_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `words` on host h1 of a new lab and return the exit status.

    Forwards signals of this process. Raises LabError, and LabEnded if the command or the lab was killed.
    """
    with room(rates_bytes_per_s) as made:
        command, variables = made.command(0, words), variables_in(made, environ)
        early: list[int] = []  # signals that came while it was being started
        process = None
        with _handle_signals(lambda number: _signal_command(process, number) if process else early.append(number)):
            # In its own process group: an interrupt from the terminal arrives once, forwarded from here
            process = subprocess.Popen(command, env=variables, preexec_fn=os.setpgrp)
            for number in early:
                _signal_command(process, number)
            return _exit_status(process.wait())


def shell_in_lab(rates_bytes_per_s: Sequence[float], shell: Sequence[str], environ: Mapping[str, str]) -> int:
    """Open an interactive shell on host h1 of a new lab and return its exit status. Raises as `run_in_lab`."""
    # the terminal also interrupts the shell
    with room(rates_bytes_per_s) as made, _handle_signals(lambda number: None):
        process = subprocess.Popen(made.command(0, shell), env=variables_in(made, environ))
        return _exit_status(process.wait())


def variables_in(made: Room, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` extended by what commands in this lab need."""
    return {**TCP_ONLY, **add_system_programs(environ), **made.lab.variables()}


@contextmanager
def _handle_signals(handle: Callable[[int], object]) -> Iterator[None]:
    """Call `handle` for FORWARDED signals within the context, except ignored ones (SIGHUP under nohup)."""
    heeded = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, lambda number, frame: handle(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _signal_command(process: subprocess.Popen, number: int) -> None:
    """Send a signal to the command itself: nsenter, its parent, does not pass signals on."""
    with suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        for pid in map(int, children or [str(process.pid)]):
            os.kill(pid, number)


def _exit_status(status: int) -> int:
    """Return the command's status. Raises LabEnded if a signal killed it, as such a command prints nothing itself."""
    if status < 0:
        raise LabEnded(
            f"the command on the virtual hosts was killed by {signal.Signals(-status).name}; "
            "'run --resume -o FOLDER' continues a run",
            exit_code=128 - status,
        )
    return status


def run_in_lab_of(options: Mapping[str, Any], words: Sequence[str]) -> int | None:
    """Run `allreduce-bench WORDS` in the lab that the options of `run` ask for and return its exit status.

    Return None if they ask for none, or it already runs. Raises LabError, RunError.
    """
    rates = rates_to_enter(options)
    return enter_lab(rates, words) if rates else None


def enter_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str]) -> int:
    """Run `allreduce-bench WORDS` on the first of new virtual hosts and return its exit status. Raises LabError."""
    refuse_lab_in_lab()
    return run_in_lab(rates_bytes_per_s, [sys.executable, "-m", "allreduce_bench", *words], os.environ)


def refuse_lab_in_lab() -> None:
    """Raise LabError if this process runs on a virtual host."""
    if lab_around(os.environ):
        raise LabError("this command runs on a virtual host already; leave the lab to start other virtual hosts")


def rates_to_enter(options: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the link rates of the virtual hosts that `run` still has to make; empty: none.

    They come from the options, or from the run to resume. Raises LabError, RunError.
    """
    asked, stored, lab = options["virtual_rates_bytes_per_s"], _rates_of_run(options), lab_around(os.environ)
    rates = stored or ()
    if asked is not None:
        if options["hosts"]:
            raise LabError("--virtual-hosts and --hosts both name hosts; use only one of them")
        rates = rates_of_hosts(asked, options["link_rate_bytes_per_s"] or parse_rates(DEFAULT_RATE))
        if stored is not None and rates != stored:
            where, name = describe(stored) if stored else "no virtual hosts", options["output"]
            raise LabError(
                f"{name}: was measured on {where}; to continue it: allreduce-bench run --resume -o {shell_word(name)}"
            )
    if lab is None:
        return rates
    if rates and rates != lab.rates_bytes_per_s:
        raise LabError("--virtual-hosts or --link-rate differ from the lab around this command; leave them out here")
    return ()


def _rates_of_run(options: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the rates of the run to resume, or None if there is none."""
    from ..runs.folder import RunFolder, alternated_names  # late: hosts are made without numpy, too
    from ..runs.recorder import is_taken

    folder: Path | None = options["output"]
    if options["resume"] and folder and is_taken(folder):
        name = next(iter(alternated_names(folder)), "")
        return RunFolder(folder / name).plan().start.virtual_rates_bytes_per_s
    return None


def add_lab(start: Start, environ: Mapping[str, str]) -> Start:
    """Return `start` on the hosts of the lab around this process, or unchanged outside a lab. Raises LabError."""
    lab = lab_around(environ)
    if lab is None:
        return start
    rate_of_host = {name: rate for name, rate in zip(lab.names, lab.rates_bytes_per_s) if rate}
    hosts = start.hosts or lab.names
    if unknown := [name for name, _ in map(slots_of, hosts) if name not in rate_of_host]:
        raise LabError(f"host '{unknown[0]}' is not in this lab; its hosts: {', '.join(lab.names)}")
    if start.interface and start.interface != INTERFACE:
        raise LabError(f"--interface {start.interface}: virtual hosts have one interface, {INTERFACE}; leave it out")
    return replace(
        start,
        hosts=hosts,
        remote_shell=AGENT if start.remote_shell == SSH else start.remote_shell,
        interface=start.interface or INTERFACE,
        virtual_rates_bytes_per_s=tuple(rate_of_host[slots_of(host)[0]] for host in hosts),
    )
