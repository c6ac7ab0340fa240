"""Commands `lab run`, `lab shell` and `lab ping`; `ping` measures the latency and the rate of a link."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import click

from ..cli.sections import examples
from ..cli.types import RATES, OneLineError, errors_in_one_line, talk
from ..machine.node import bucket_nbytes, describe
from ..measuring.startup import thread_level
from ..message import say
from ..runs.start import Start
from ..units import format_time
from .lab import (
    DEFAULT_RATE,
    MOST_HOSTS,
    PAYLOAD_SHARE,
    enter_lab,
    lab_around,
    rates_of_hosts,
    refuse_lab_in_lab,
    shell_in_lab,
    with_lab,
)

PATIENCE_S = 120.0


class Ping(NamedTuple):
    """Times of a ping-pong in seconds: half the round trip of a short and of a long message, and a short exchange."""

    short_s: float
    exchange_s: float
    long_s: float
    long_nbytes: int


def measure() -> Ping:
    """Send messages to and fro between the first two hosts of the lab around this process.

    Raises LaunchError, OneLineError where the launcher fails.
    """
    from ..launching.find import find_launcher, mpirun_command
    from ..launching.layout import ranks_on_same_cores

    start = with_lab(Start(ranks_per_node=1), os.environ)
    command = mpirun_command(find_launcher(start), 2, start, [sys.executable, "-m", "allreduce_bench.lab.pingpong"])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": thread_level("auto", ranks_on_same_cores(2, start))}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode or not lines:
        said = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise OneLineError("lab.lab_ping_launcher_failed", exit_code=1, said=said)
    found = json.loads(lines[-1])
    (_, short_s), (long_nbytes, long_s) = sorted((int(nbytes), time_s) for nbytes, time_s in found["message"].items())
    (exchange_s,) = found["exchange"].values()
    return Ping(short_s=short_s, exchange_s=exchange_s, long_s=long_s, long_nbytes=long_nbytes)


def ping_sentence(found: Ping, rate_bytes_per_s: float) -> str:
    """Return `ping-pong: 8 B take 31.0 us one way, …`; the rate excludes the token bucket's initial burst."""
    rate = (found.long_nbytes - bucket_nbytes(rate_bytes_per_s)) / found.long_s
    return say(
        "lab.ping_pong_take_way",
        short_s=format_time(found.short_s),
        exchange_s=format_time(found.exchange_s),
        rate=rate * 8e-06,
        rate_2=rate / rate_bytes_per_s,
        payload_share=PAYLOAD_SHARE,
    )


# Commands of the lab


COMMANDS = ("run", "workload", "health", "doctor", "exec")  # that use hosts


def _host_options(command: Callable) -> Callable:
    hosts = click.option(
        "--hosts", type=int, default=4, show_default=True, metavar="N", help=f"Virtual hosts, at most {MOST_HOSTS}."
    )
    rate = click.option(
        "--rate",
        type=RATES,
        default=DEFAULT_RATE,
        show_default=True,
        help="Rate of each host's link, e.g. 100mbit; or one for each host: 100mbit,100mbit,50mbit,100mbit.",
    )
    return hosts(rate(command))


@click.group(
    epilog=examples(
        "lab run -- run -a ring,native --sizes 8,64K,8M",
        "lab shell --hosts 3 --rate 50mbit",
        "lab ping --rate 100mbit",
    )
)
def lab() -> None:
    """Run commands over virtual hosts in this machine, whose links have a known rate.

    Each host is a set of Linux namespaces, with one link to a common bridge. The hosts end with the command; the
    network of the machine is not touched. This needs root, or a kernel that allows user namespaces.
    """


@lab.command(
    epilog=examples(
        "lab run -- run -a ring,native --sizes 8,64K,8M",
        "lab run --hosts 2 --rate 200mbit -- run --ranks-per-node 2",
        "lab run --hosts 4 --rate 100mbit,100mbit,50mbit,100mbit -- health",
    ),
    context_settings={"allow_interspersed_args": False},  # what follows COMMAND is its own
)
@_host_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND [OPTIONS]...")
@click.pass_context
@errors_in_one_line
def run(context: click.Context, hosts: int, rate: tuple[float, ...], words: tuple[str, ...]) -> None:
    """Start virtual hosts, run COMMAND on the first of them, and end them.

    COMMAND is run, workload, health, doctor or exec, with its options. It finds the hosts by itself.
    """
    first = f"'{words[0]}'" if words else "none"
    if not words or words[0] not in COMMANDS:
        raise OneLineError("lab.lab_run_expected_commands", commands=", ".join(COMMANDS), first=first)
    rates = rates_of_hosts(hosts, rate)
    said = ["--virtual-hosts", str(hosts), "--link-rate", ",".join(f"{each * 8 / 1e6:.12g}Mbit" for each in rate)]
    context.exit(enter_lab(rates, [words[0], *(said if words[0] == "run" else ()), *words[1:]]))


@lab.command(epilog=examples("lab shell --hosts 3 --rate 50mbit"))
@_host_options
@click.pass_context
@errors_in_one_line
def shell(context: click.Context, hosts: int, rate: tuple[float, ...]) -> None:
    """Start virtual hosts, open a shell on the first of them, and end them when the shell ends.

    There `allreduce-bench run` measures over the hosts h1, h2, …; `ip`, `tc -s qdisc` and `ping` show the network.
    """
    rates = rates_of_hosts(hosts, rate)
    refuse_lab_in_lab()
    talk(say("lab.shell_exit_ends", describe=describe(rates)))
    context.exit(shell_in_lab(rates, [os.environ.get("SHELL", "bash")], os.environ))


@lab.command(epilog=examples("lab ping --rate 100mbit"))
@click.option("--rate", type=RATES, default=DEFAULT_RATE, show_default=True, help="Rate of each host's link.")
@click.pass_context
@errors_in_one_line
def ping(context: click.Context, rate: tuple[float, ...]) -> None:
    """Measure the time of a message between two virtual hosts by a ping-pong over MPI.

    8 B are sent one way (half a round trip) and both ways at once, as in a step of an algorithm: the latency alpha to
    compare with that of `fit`. 1 MiB shows the rate of the link.
    """

    around = lab_around(os.environ)
    if around is None:
        context.exit(enter_lab(rates_of_hosts(2, rate), ["lab", "ping"]))
    else:
        slowest = min(each for each in around.rates_bytes_per_s[:2] if each)
        click.echo(ping_sentence(measure(), slowest))
