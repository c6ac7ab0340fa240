"""`lab`: commands over virtual hosts in this machine; and the part of the demo that measures their links."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from ..cli.sections import examples
from ..cli.types import RATES, OneLineError, errors_in_one_line, talk
from ..launching.find import find_launcher, mpirun_command
from ..launching.layout import ranks_on_same_cores
from ..machine.virtual_hosts import bucket_nbytes, describe
from ..measuring.startup import thread_level
from ..models.alpha_beta import BETA, BETWEEN
from ..models.model import Model, price_of
from ..runs.folder import RunFolder
from ..runs.start import Start
from ..units import format_time
from .lab import (
    DEFAULT_RATE,
    MOST_HOSTS,
    PAYLOAD_SHARE,
    add_lab,
    enter_lab,
    lab_around,
    rates_of_hosts,
    refuse_lab_in_lab,
    shell_in_lab,
    why_no_lab,
)

# The run of the demo
HOSTS, RATE = 4, "100mbit"
RUN_OPTIONS = ("-n", "2,4", "-a", "ring@pipelined,native", "--sizes", "8,1K,512K,2M")
REPETITIONS = ("--launches", "3", "--warmups", "1", "--iters", "3")
TIME_LIMIT = "80s"


def measure_lab(folder: Path) -> RunFolder | None:
    """Measure ring and native over virtual hosts into `folder`; print link costs beside those that models find.

    Return None, with the reason on stderr, if no virtual hosts can be made here or the run fails.
    """
    if reason := why_no_lab():
        talk(f"the demo leaves out virtual hosts: {reason}")
        return None
    talk(f"now over {HOSTS} virtual hosts of this machine, links of {RATE}")
    words = ["--virtual-hosts", str(HOSTS), "--link-rate", RATE, "--within", TIME_LIMIT, "--no-reference-times"]
    status = _run("run", *words, *RUN_OPTIONS, *REPETITIONS, "-o", str(folder))
    if status or not (folder / "run.json").exists():
        talk("the run over virtual hosts failed; the rest of the demo is complete")
        return None
    _run("lab", "ping", "--rate", RATE)
    _run("fit", str(folder))
    return RunFolder(folder)


def _run(*words: str) -> int:
    """Run a command of this program and return its exit status."""
    return subprocess.run([sys.executable, "-m", "allreduce_bench", *words], check=False).returncode


def lab_sentences(folders: Sequence[RunFolder], models: Sequence[Model]) -> list[str]:
    """Compare, for each run on virtual hosts, each fitted beta with the rate that was set."""
    sentences = []
    for folder in folders:
        rates = folder.plan().start.virtual_rates_bytes_per_s
        if not rates:
            continue
        set_s_per_byte = 1 / (min(rates) * PAYLOAD_SHARE)
        of_run = [model for model in models if model.run == folder.path.name or len(folders) == 1]
        found = [
            f"{_name(model)} {beta.value * 1e12:.0f} ({beta.value / set_s_per_byte - 1:+.1%})"
            for model in of_run
            if (beta := price_of(model, BETA, BETWEEN)) and beta.value
        ]
        sentences.append(
            f"{folder.path.name}: {describe(rates)}: they are set to a beta of {set_s_per_byte * 1000000000000.0:.0f} "
            f"ps/byte (headers take {1 - PAYLOAD_SHARE:.1%}); fitted: {', '.join(found) or 'none identified'}"
        )
    return sentences


def _name(model: Model) -> str:
    """Return `ring@pipelined`, or `native as tree` where the data chose the schedule."""
    return model.competitor + (f" as {model.priced_as}" if model.priced_as != model.algorithm else "")


# Commands `lab run`, `lab shell` and `lab ping`; `ping` measures the latency and the rate of a link


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
    start = add_lab(Start(ranks_per_node=1), os.environ)
    command = mpirun_command(find_launcher(start), 2, start, [sys.executable, "-m", "allreduce_bench.lab.pingpong"])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": thread_level("auto", ranks_on_same_cores(2, start))}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode or not lines:
        said = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise OneLineError(f"lab ping: the launcher failed: {said}", exit_code=1)
    found = json.loads(lines[-1])
    (_, short_s), (long_nbytes, long_s) = sorted(
        (int(size_bytes), time_s) for size_bytes, time_s in found["message"].items()
    )
    (exchange_s,) = found["exchange"].values()
    return Ping(short_s=short_s, exchange_s=exchange_s, long_s=long_s, long_nbytes=long_nbytes)


def ping_sentence(found: Ping, rate_bytes_per_s: float) -> str:
    """Return `ping-pong: 8 B take 31.0 us one way, …`; the rate excludes the token bucket's initial burst."""
    rate = (found.long_nbytes - bucket_nbytes(rate_bytes_per_s)) / found.long_s
    return (
        f"ping-pong: 8 B take {format_time(found.short_s)} one way, {format_time(found.exchange_s)} both ways at once "
        f"(a step, alpha); 1 MiB goes at {rate * 8e-06:.4g} Mbit/s, {rate / rate_bytes_per_s:.1%} of the link's rate "
        f"(headers leave {PAYLOAD_SHARE:.1%})"
    )


# Commands of the lab


COMMANDS = ("run", "workload", "health", "doctor", "exec", "survive", "which")  # that use hosts


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

    COMMAND is run, workload, health, doctor, exec or which, with its options. It finds the hosts by itself.
    """
    first = f"'{words[0]}'" if words else "none"
    if not words or words[0] not in COMMANDS:
        raise OneLineError(f"lab run: expected -- and one of the commands {', '.join(COMMANDS)}, found {first}")
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
    talk(f"a shell on h1 of {describe(rates)}; 'exit' ends them")
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
