"""`stragglers`: the rank or node that the others wait for, what it costs, or why nobody is named."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cli.sections import examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import OneLineError, errors_in_one_line, talk, tell_damages
from ..runs.files import refuse_given, write_atomically
from ..runs.folder import RunFolder
from ..units import printable, shell_word

if TYPE_CHECKING:
    from .sentences import JudgedArrivals


@click.command(
    epilog=examples(
        "stragglers results/today",
        "stragglers nccl-inspector-4711/ --communicator 0x7f8c496ae9f661",
        "stragglers traces/*.json.gz",
        "stragglers steps.jsonl --format json",
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path(path_type=Path))
@click.option(
    "--communicator",
    metavar="ID",
    help="Communicator of NCCL Inspector, by id or name, or process group of traces, if there are several.",
)
@click.option("--trace", type=click.Path(path_type=Path), help="Write how late each rank was in each step: a CSV.")
@click.option("--fail", is_flag=True, help="Exit with status 1 if a rank, a node or a group is named as a cause.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="Format of the result.",
)
@errors_in_one_line
def stragglers(sources, communicator, trace, fail, format_) -> None:
    """Name the rank, the node or the group of ranks that the others wait for, and what it costs.

    SOURCE: a run measured with --compute or --arrival, an imported run, the files of NCCL Inspector or torch.profiler
    of all processes or their folder, or the JSON lines of StepMonitor. What counts is when each rank is ready for the
    call, never how long it is in it: that is shortest for the rank that the others wait for. A cause explains at least
    80 % of the lasting wait, costs at least 1 % of the time, stands out from the differences that ranks have anyway,
    and ranks wait at least 10 % of a step. That nobody is named is a result, with its reason. --format json has the
    figures of every rank. Exit status 0, unless --fail is given.
    """
    from .document import json_text
    from .sentences import HOW_TO_MEASURE

    if trace:
        refuse_given(trace, sources)
    tell_damages(RunFolder(path) for path in sources if (path / "run.json").exists())
    judged = _judge_sources(sources, communicator)
    if not judged:
        raise OneLineError(f"{sources[0]}: nothing is known of who arrives late; {HOW_TO_MEASURE}")
    if trace:
        _write_trace(judged, trace)
    if format_ == "json":
        click.echo(json_text(judged), nl=False)
    else:
        _print_verdicts(judged)
    if fail and any(one.report.causes for one in judged):
        raise click.exceptions.Exit(1)


def _judge_sources(sources: tuple[Path, ...], communicator: str | None) -> "list[JudgedArrivals]":
    """Judge the arrivals of all sources; report omissions on stderr."""
    from ..importers import LogNote, LogWarning
    from .sentences import judge_arrivals
    from .sources import find_sources

    with warnings.catch_warnings(record=True) as log_warnings:
        warnings.simplefilter("always", LogWarning)
        found = find_sources(sources, communicator)
    for warning in log_warnings:
        kind = "note" if issubclass(warning.category, LogNote) else "warning"
        talk(f"{kind}: {printable(str(warning.message))}")
    return [judge_arrivals(*source) for source in found]


def _write_trace(judged: "list[JudgedArrivals]", path: Path) -> None:
    """Write how late each rank was. Raises OneLineError if there are several sources."""
    from .sources import trace_text

    if len(judged) != 1:
        raise OneLineError(f"--trace writes one source, found {len(judged)}; name one of them")
    write_atomically(path, trace_text(judged[0].arrivals))
    talk(f"{path}      next: allreduce-bench run -n {judged[0].report.ranks} --arrival {shell_word(path)}")


def _print_verdicts(judged: "list[JudgedArrivals]") -> None:
    """Print the table of suspects and the verdict of each source."""
    from .sentences import suspect_table, verdict_sentences

    for number, one in enumerate(judged):
        click.echo("\n" * bool(number) + printable(": ".join(filter(None, [one.path, one.what]))))
        click.echo("\n".join([*suspect_table(one, screen()), ""]))
        echo_wrapped(verdict_sentences(one))
