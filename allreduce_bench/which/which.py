"""`which`: which algorithm the library's own MPI_Allreduce runs, by evidence."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from ..cli.options import start_options
from ..cli.plan_of_options import place_on_hosts
from ..cli.request import refuse_short_timeout
from ..cli.sections import examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import DURATION, SIZES, OneLineError, errors_in_one_line, parsed, talk
from ..cli.work_limit import refuse_many_ranks
from ..identifying.evidence import Answer, is_asked
from ..identifying.known import library_of, names
from ..identifying.launch import LEVEL, Findings, Launches, ProbeFailed, findings, launches
from ..identifying.look import MONITORING, Asked
from ..identifying.order import LEAST_BYTES
from ..importers.nccl_log import read_nccl_logs
from ..machine import OPEN_MPI
from ..machine.mpi import library_name
from ..measuring.startup import hold_back_mpi, rank_of, refuse_lone_ranks, start_mpi, under_launcher
from ..runs.identified import NO
from ..runs.start import Start
from ..units import parse_size, unknown_word
from .effects import Effect, effect
from .nccl_output import nccl_json_text, nccl_lines, nccl_verdicts
from .output import Result, Verdict, json_text, result_lines
from .settings import (
    COMMAND_LINE,
    ENVIRONMENT,
    IN_RANK,
    Setting,
    UnknownValue,
    judged,
    names_to_read,
    settings,
    without,
)

DEFAULT_SIZES = (8, 1024, 8192, 65536, 2**20, 16 * 2**20)
MOST_EFFECTS = 3  # settings whose effect is looked at, each in launches of its own
OF_LOG = ("nccl_log", "expect", "format_")  # parameters
NOT_TRIED = ("pml", "mtl")  # without them messages take another way


def parse_expected(text: str) -> tuple[int, str]:
    """Parse `64K:ring`. Raises ValueError."""
    size, colon, name = text.partition(":")
    if not colon or not name:
        raise ValueError(f"{text!r}: expected SIZE:NAME, such as 64K:ring")
    return parse_size(size), name.strip()


@click.command(
    epilog=examples(
        "which -n 4 --sizes 8,64K,1M,16M",
        "which -n 4 --switches",
        "which -n 4 --expect 8:recursive_doubling",
        "which --nccl-log job.log",
    )
)
@click.option("-n", "--ranks", type=click.IntRange(2), help="Ranks to start; not under mpirun or srun.")
@click.option("--sizes", type=SIZES, help="Bytes of the vectors, e.g. 8,64K,16M [default: 8 B to 16 MiB].")
@click.option("--switches", is_flag=True, help="Find the sizes at which it changes, by bisection.")
@click.option(
    "--expect",
    type=parsed("expect", parse_expected),
    multiple=True,
    metavar="SIZE:NAME",
    help="End with status 1 if this algorithm did not run at this size.",
)
@click.option(
    "--nccl-log", type=click.Path(path_type=Path), multiple=True, help="Read what NCCL itself logged instead."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="Of the result.",
)
@click.option("--timeout", type=DURATION, default="60s", show_default=True, help="A launch that takes longer is ended.")
@start_options
@click.pass_context
@errors_in_one_line
def which(context, ranks, sizes, switches, expect, nccl_log, format_, timeout, hosts, **start_choices) -> None:
    """Say which algorithm the library's own all-reduce runs.

    Nothing is set: MPI_Allreduce is called with MPI_SUM as programs call it, on numbers whose sum tells in which order
    they were added. Order, and with Open MPI the messages counted in a second launch, are held against the algorithms
    of the library. What fits several stays open. What was set for the launch is listed with what it changes, seen by
    the same launch without it. Under mpirun or srun the started ranks are looked at.
    """
    if nccl_log:
        _refuse_beside_log(context)
        verdicts = _from_log(nccl_log, expect, format_) if rank_of(os.environ) == 0 else []
        context.exit(_status(verdicts))
    asked_sizes = tuple(sorted({*(sizes or DEFAULT_SIZES), *(size for size, _ in expect)}))
    if small := [size for size in asked_sizes if size < LEAST_BYTES or size % LEAST_BYTES]:
        raise OneLineError(f"{small[0]} B: expected a multiple of {LEAST_BYTES} B, since floats are added")
    if under_launcher(os.environ):
        if ranks:
            raise OneLineError("-n starts ranks, but this runs under mpirun or srun; leave it out")
        result = _as_rank(asked_sizes, switches, expect)
        if result is None:
            return
    else:
        if not ranks:
            raise OneLineError("expected the ranks to start, such as -n 4, or a start under mpirun or srun")
        refuse_short_timeout(timeout)
        refuse_many_ranks(ranks)
        start = place_on_hosts(Start(hosts=hosts or (), **start_choices))
        result = _from_outside(launches(ranks, start, timeout), asked_sizes, switches, expect)
    if format_ == "json":
        click.echo(json_text(result), nl=False)
    else:
        _echo_lines(*result_lines(result, screen()))
    context.exit(_status(result.verdicts))


def _refuse_beside_log(context: click.Context) -> None:
    """Raise OneLineError where options for launches are given beside a log."""
    of_launches = [
        max(one.opts, key=len)
        for one in context.command.params
        if one.name not in OF_LOG and context.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE
    ]
    if of_launches:
        raise OneLineError(
            f"--nccl-log reads what NCCL logged, and starts no ranks; leave out {', '.join(of_launches)}"
        )


def _from_log(paths: Sequence[Path], expect: Sequence[tuple[int, str]], format_: str) -> list[Verdict]:
    """Print what NCCL logged. Raises LogError, ValueError."""
    log = read_nccl_logs(paths)
    verdicts = nccl_verdicts(log, expect)
    if format_ == "json":
        click.echo(nccl_json_text(log, verdicts), nl=False)
    else:
        _echo_lines(*nccl_lines(log, verdicts, screen()))
    return verdicts


def _echo_lines(tables: Sequence[str], sentences: Sequence[str]) -> None:
    """Print the tables, then sentences."""
    click.echo("\n".join(tables))
    echo_wrapped(sentences)


def _status(verdicts: Sequence[Verdict]) -> int:
    return 1 if any(verdict.state == NO for verdict in verdicts) else 0


def _from_outside(found: Launches, sizes: Sequence[int], bisects: bool, expect: Sequence[tuple[int, str]]) -> Result:
    """Start ranks, once more for each setting. Raises OneLineError."""
    library, environ, command = found.launcher.library, dict(os.environ), found.command
    _refuse_unknown(library, expect)
    prefix = Path(found.launcher.program).resolve().parent.parent
    given = settings(environ, command, library, prefix)
    try:
        seen = found.find(Asked(sizes, names_to_read(given, library), bisects=bisects), environ, command)
    except ProbeFailed as error:
        raise _with_settings(error, given, library) from error
    given = _judged(given, seen, library)
    effects = _effects(found, given, seen, sizes, environ, command)
    return Result(library, seen, sizes, given, effects, _verdicts(seen.answers, expect), bisects)


def _with_settings(error: ProbeFailed, given: Sequence[Setting], library: str) -> ProbeFailed:
    """Return why a launch failed, with the settings of the library that may be the reason."""
    unknown = [str(one.problem) for one in given if isinstance(one.problem, UnknownValue)]
    if unknown:
        return ProbeFailed(f"{error}; {'; '.join(unknown)}")
    own = names_to_read(given, library)
    words = [f"{one.name}={one.value}" for one in given if one.name in own]
    return ProbeFailed(f"{error}; set for it: {', '.join(words)}") if words else error


def _judged(given: Sequence[Setting], seen: Findings, library: str) -> list[Setting]:
    return [judged(one, seen.readings[one.name], library) if one.name in seen.readings else one for one in given]


def _effects(
    found: Launches,
    given: Sequence[Setting],
    seen: Findings,
    sizes: Sequence[int],
    environ: Mapping[str, str],
    command: Sequence[str],
) -> dict[str, Effect | ProbeFailed]:
    """Launch without each setting, and compare."""
    effects: dict[str, Effect | ProbeFailed] = {}
    for one in [one for one in given if _is_tried(one)][:MOST_EFFECTS]:
        try:
            other = found.find(Asked(sizes), *without(environ, command, one))
        except ProbeFailed as error:
            effects[one.name] = error
            continue
        effects[one.name] = effect(*({size: side.answers[size].names for size in sizes} for side in (seen, other)))
    return effects


def _is_tried(one: Setting) -> bool:
    """Return whether a setting can be left out, and may have an effect: an unknown value may, if it was taken."""
    may_act = one.problem is None or (isinstance(one.problem, UnknownValue) and one.read is not False)
    return may_act and one.source in (ENVIRONMENT, COMMAND_LINE) and one.name not in NOT_TRIED


def _as_rank(sizes: Sequence[int], bisects: bool, expect: Sequence[tuple[int, str]]) -> Result | None:
    """Look at the ranks that were started; rank 0 gets the result."""
    hold_back_mpi()
    from ..identifying.probe import MPI, look  # late: it imports MPI

    start_mpi(os.environ.get(LEVEL, "multiple"))
    refuse_lone_ranks(MPI.COMM_WORLD.size, os.environ)
    comm, library = MPI.COMM_WORLD, library_name(MPI.Get_library_version())
    if comm.size == 1:
        raise OneLineError("expected 2 ranks or more, found 1: one rank exchanges nothing; start more")
    _refuse_unknown(library, expect)
    counts = all(os.environ.get(name) == value for name, value in MONITORING.items())
    own = {name: value for name, value in os.environ.items() if not (counts and name in MONITORING)}
    given = settings(own, [], library, of_environ=IN_RANK)
    try:
        seen = look(comm, Asked(sizes, names_to_read(given, library), counts, bisects))
    except Exception as error:  # the other ranks must not wait for this one
        talk(f"error: {' '.join(str(error).split())}")
        comm.Abort(ProbeFailed.exit_code)
        raise
    if seen is None:
        return None
    put = findings(seen, None)
    if not counts and library.startswith(OPEN_MPI) and any(len(one.names) > 1 for one in put.answers.values()):
        variables = " ".join(f"{name}={value}" for name, value in MONITORING.items())
        put = put._replace(not_counted=f"no messages were counted; to see bytes, start the ranks with {variables}")
    return Result(library, put, sizes, _judged(given, put, library), {}, _verdicts(put.answers, expect), bisects)


def _refuse_unknown(library: str, expect: Sequence[tuple[int, str]]) -> None:
    """Raise OneLineError for an expected name that the library does not have."""
    name_of_library = library_of(library)
    if expect and name_of_library is None:
        raise OneLineError(f"the algorithms of {library} are not known; leave out --expect")
    for _, name in expect:
        if name_of_library and name.split(" k=")[0] not in names(name_of_library):
            words = unknown_word(f"algorithm of {library}", name, names(name_of_library))
            raise OneLineError(words)


def _verdicts(answers: Mapping[int, Answer], expect: Sequence[tuple[int, str]]) -> list[Verdict]:
    return [Verdict(size, name, _state(answers[size], name)) for size, name in expect]


def _state(found: Answer, name: str) -> str:
    """Return yes, open (it fits with others, or no order was seen) or no."""
    return NO if found.by_order and not found.names else is_asked(found, name)
