"""`survive`: what the loss of a rank costs, by ULFM and by starting again."""

import os
from collections.abc import Iterator, Sequence
from itertools import product

import click

from ..algorithms import find
from ..cli.options import start_options
from ..cli.plan_of_options import place_on_hosts
from ..cli.sections import Sectioned, examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import DURATION, NAMES, SIZES, OneLineError, errors_in_one_line, parsed, talk
from ..cli.work_limit import refuse_many_ranks
from ..launching.find import find_launcher
from ..launching.tied_process import interrupt_when_asked_to_end
from ..measuring.startup import under_launcher
from ..runs.competitor import NATIVE
from ..runs.start import Start
from ..units import format_size
from ..watching.lifeline import LAB_VARIABLE
from . import HOST, KILL, LINK, ON_HOSTS, STOP, Failure, parse_failure
from .output import json_text, result_lines
from .ways import FAILED, RESTART, ULFM, UNAVAILABLE, WRONG, Outcome, Settings, measure

LEAST_NBYTES = 8
SHORTEST_S = 1.0  # of --notice-within and --timeout: ranks that share cores need it
DEFAULT_SIZES = (8, 65536, 2**20)
OF_SETTINGS = ("calls", "every", "notice_s", "timeout_s")
DEFAULT_ALGORITHMS = ("ring", "two_tree", "recursive_doubling", NATIVE)


def _failures(kind: str) -> click.ParamType:
    return parsed("failure", lambda text: parse_failure(kind, text))


@click.command(
    cls=Sectioned,
    first="ranks algorithms sizes kill kill_host way calls launches format_ hosts",
    epilog=examples(
        "survive -n 4 --kill 3@20",
        "survive -n 4 -a ring,native --stop 2@20 --sizes 64K --notice-within 4s",
        "survive -n 4 --kill 3@20 --kill 1@shrink --way ulfm",
    ),
)
@click.option("-n", "--ranks", type=click.IntRange(2), required=True, help="Ranks to start.")
@click.option("-a", "--algorithms", type=NAMES, help="Algorithms, native, files [default: ring, two_tree, …, native].")
@click.option("--sizes", type=SIZES, help="Bytes of the vectors, float32 [default: 8, 64K, 1M].")
@click.option("--kill", type=_failures(KILL), multiple=True, metavar="RANK@CALL", help="Kill a rank, e.g. 3@20.")
@click.option("--stop", type=_failures(STOP), multiple=True, metavar="RANK@CALL", help="Stop a rank, which stays.")
@click.option("--kill-host", type=_failures(HOST), multiple=True, metavar="HOST@CALL", help="Kill all of a host.")
@click.option("--link-down", type=_failures(LINK), multiple=True, metavar="HOST@CALL", help="Take its link down: labs.")
@click.option(
    "--way",
    type=click.Choice((ULFM, RESTART, "both")),
    default="both",
    show_default=True,
    help="Shrink by ULFM, or start again from the last checkpoint.",
)
@click.option("--calls", type=click.IntRange(2, 1_000_000), default=40, show_default=True, help="Of each launch.")
@click.option("--launches", type=click.IntRange(1, 1000), default=1, show_default=True, help="Of each way.")
@click.option(
    "--checkpoint-every", "every", type=click.IntRange(1), default=8, show_default=True, help="Calls between them."
)
@click.option(
    "--notice-within",
    "notice_s",
    type=DURATION,
    default="10s",
    show_default=True,
    help="What takes longer is started again.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    default="60s",
    show_default=True,
    help="Of a start, and of a recovery: then it failed.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="Of the result.",
)
@start_options
@errors_in_one_line
def survive(
    ranks, algorithms, sizes, kill, stop, kill_host, link_down, way, launches, format_, hosts, **others
) -> None:
    """Measure what the loss of a rank costs.

    Ranks do all-reduces of known results; at a call some are lost. By ULFM (Open MPI) the others notice it, revoke the
    communicator, agree, shrink it, make, verify and bind the schedule of those left, and do the call again. Without it
    (any MPI) the launch is ended, and started without what was lost from the last checkpoint. Each phase ends when the
    last survivor has ended it. Beside it: the time of a call before and after. Exit status 1 where a result was wrong,
    a loss was not survived, or no way is available.
    """
    if under_launcher(os.environ):
        raise OneLineError("survive starts the ranks itself; run it without mpirun or srun")
    own = {name: others.pop(name) for name in OF_SETTINGS}
    start = place_on_hosts(Start(hosts=hosts or (), **others))
    failures = (*kill, *stop, *kill_host, *link_down)
    _refuse(failures, ranks, start, own["calls"], own["timeout_s"])
    for option, given_s in (("--notice-within", own["notice_s"]), ("--timeout", own["timeout_s"])):
        if given_s < SHORTEST_S:
            raise OneLineError(
                f"{option}: {given_s:g} s is too short for ranks that are well; use at least {SHORTEST_S:g}s"
            )
    refuse_many_ranks(ranks)
    asked_sizes = sizes or DEFAULT_SIZES
    if odd := [size for size in asked_sizes if size < LEAST_NBYTES or size % 4]:
        raise OneLineError(f"--sizes: a vector of {odd[0]} bytes; expected a multiple of 4, at least 8")
    names = algorithms or DEFAULT_ALGORITHMS
    find([name for name in names if name != NATIVE], [NATIVE])
    interrupt_when_asked_to_end()
    settings = Settings(find_launcher(start), ranks, start, failures, **own)
    outcomes: list[Outcome] = []
    try:
        for one in _outcomes(settings, names, asked_sizes, (ULFM, RESTART) if way == "both" else (way,), launches):
            outcomes.append(one)
    finally:  # an interrupt, too, loses nothing that was measured
        if outcomes:
            _show(settings, outcomes, format_)
    if any(one.state in (FAILED, WRONG) for one in outcomes) or all(one.state == UNAVAILABLE for one in outcomes):
        raise click.exceptions.Exit(1)


def _outcomes(
    settings: Settings, names: Sequence[str], sizes: Sequence[int], ways: Sequence[str], launches: int
) -> Iterator[Outcome]:
    """Lose ranks in each way, for each algorithm and size; the ways take turns."""
    for name, size_bytes, _, way in product(names, sizes, range(launches), ways):
        talk(f"{name}, {format_size(size_bytes)}, {way}")
        yield measure(settings, name, size_bytes, way)


def _show(settings: Settings, outcomes: Sequence[Outcome], format_: str) -> None:
    if format_ == "table":
        lines, sentences = result_lines(settings, outcomes, screen())
        click.echo("\n".join(lines))
        echo_wrapped(sentences)
    else:
        click.echo(json_text(settings, outcomes), nl=False)


def _refuse(failures: Sequence[Failure], ranks: int, start: Start, calls: int, timeout_s: float) -> None:
    """Raise OneLineError for losses that make no sense on these ranks and hosts, or are long after their call."""
    if not failures:
        raise OneLineError("nothing is lost; name it with --kill RANK@CALL, --stop, --kill-host or --link-down")
    if all(one.phase for one in failures):
        raise OneLineError(f"{failures[0].words}: first name what is lost at a call, such as --kill 3@20")
    if len(at := {one.call for one in failures if one.call}) > 1:
        raise OneLineError(
            f"losses at the calls {' and '.join(map(str, sorted(at)))}; expected one call, and further losses at "
            "phases, such as --kill 1@shrink"
        )
    for one in failures:
        if one.rank is not None and one.rank >= ranks:
            raise OneLineError(f"{one.words}: no rank {one.rank} among {ranks} ranks")
        if one.call and one.call > calls:
            raise OneLineError(f"{one.words}: expected a call up to {calls}; --calls makes more")
        if one.phase and any(other.call and other.rank == one.rank for other in failures):
            raise OneLineError(f"{one.words}: rank {one.rank} is lost at the call already; name another rank")
        if one.kind in ON_HOSTS:
            _refuse_host(one, [host.partition(":")[0] for host in start.hosts])
        if one.delay_s > timeout_s:
            raise OneLineError(
                f"{one.words}: expected a delay up to --timeout, {timeout_s:g} s; name a later call instead"
            )
    left = ranks - len({one.rank for one in failures if one.rank is not None})
    if left < 2:
        raise OneLineError(
            f"of {ranks} ranks {left} would be left; expected at least 2: name fewer losses, or start more ranks with "
            "-n"
        )


def _refuse_host(failure: Failure, names: Sequence[str]) -> None:
    if failure.kind == LINK and LAB_VARIABLE not in os.environ:
        raise OneLineError(
            f"{failure.words}: links are taken down in a lab only: allreduce-bench lab run --hosts 4 -- survive …"
        )
    if not names:
        raise OneLineError(
            f"{failure.words}: name the hosts with --hosts, or run it inside a lab: allreduce-bench lab run --hosts 4 "
            "-- survive …"
        )
    if failure.whom not in names:
        raise OneLineError(f"no host {failure.whom}; expected one of {', '.join(names)}")
    if failure.whom == names[0]:
        raise OneLineError(
            f"{failure.whom} is the host of mpirun, with which the launch ends: lose another one of {', '.join(names)}"
        )
