"""`lab`: commands over virtual hosts in this machine; and the part of the demo that measures their links."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from ..cli.sections import examples
from ..cli.types import RATES, OneLineError, errors_in_one_line, talk
from ..machine.virtual_hosts import describe
from ..models.alpha_beta import BETA, BETWEEN
from ..models.model import Model, price_of
from ..runs.folder import RunFolder
from .lab import (
    DEFAULT_RATE,
    MOST_HOSTS,
    PAYLOAD_SHARE,
    enter_lab,
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
