"""`lab`: commands over virtual hosts in this machine."""

import os
from collections.abc import Callable

import click

from ..cli.sections import examples
from ..cli.types import RATES, OneLineError, errors_in_one_line, talk
from ..machine.node import describe
from .lab import DEFAULT_RATE, MOST_HOSTS, enter_lab, lab_around, rates_of_hosts, refuse_lab_in_lab, shell_in_lab

COMMANDS = ("run", "workload", "health", "doctor", "exec")  # that look at hosts


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
    from .ping import ping as measure
    from .ping import ping_sentence

    around = lab_around(os.environ)
    if around is None:
        context.exit(enter_lab(rates_of_hosts(2, rate), ["lab", "ping"]))
    else:
        slowest = min(each for each in around.rates_bytes_per_s[:2] if each)
        click.echo(ping_sentence(measure(), slowest))
