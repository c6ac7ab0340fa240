"""`import`: convert logs of other tools to a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..message import say
from ..units import format_size, in_ranks
from .log_options import log_options, read_logs
from .sections import examples
from .types import errors_in_one_line, kept_command, no_limit, talk

if TYPE_CHECKING:
    from ..evaluation.summary_row import SummaryRow
    from ..importers import Imported
    from ..runs.folder import RunFolder


@click.command(
    "import",
    epilog=examples(
        "import osu_allreduce.log -n 64 --nodes 4 -o results/osu",
        "import all_reduce_perf.txt -n 8 --in-place -o results/nccl",
        "import 2.log 4.log 8.log -n 2,4,8 -o results/imb",
    ),
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the run: new or empty.")
@log_options
@click.option(
    "--algorithm", metavar="NAME", help="Name of the library's algorithm, e.g. native:ring [default: native]."
)
@no_limit
@errors_in_one_line
def import_(logs, output, no_limit, **options) -> None:
    """Make a run from LOGS of other tools, recognised by their content; report, fit and compare read it like any run.

    OSU Micro-Benchmarks (C and Python), Intel MPI Benchmarks, nccl-tests (text and JSON), NCCL Inspector (the files
    of all processes, or their folder), result folders of PICO, and any CSV with one row per cell. Only all-reduces are
    read. Facts that a log does not contain stay unknown, except the number of ranks: add it with -n. A log that you
    name has to be readable; of a folder of logs, files that cannot be read are named and left out.
    """
    from ..importers import keep, parts_of_logs
    from ..runs.folder import RunFolder
    from ..runs.recorder import is_taken
    from ..runs.rows import RunError
    from .work_limit import refuse_long_logs

    if is_taken(output):
        raise RunError("cli.already_exists_choose_another", output=output)
    refuse_long_logs("import", logs, no_limit)
    found = read_logs(parts_of_logs(logs), options)
    summary = keep(found.rows, RunFolder(output), kept_command(), found.said, found.unread)
    logs_in_words = [_sentence_of_log(log, rows) for log, rows in found.rows_of]
    click.echo("\n".join([*logs_in_words, *_said(summary, RunFolder(output)), *_doubts(summary)]))
    talk(say("cli.next_allreduce_bench_report_3", output=output))


def _said(rows: "Sequence[SummaryRow]", folder: "RunFolder") -> list[str]:
    """Return sentences about the times of a single algorithm, or that there are none; of several `report` says more."""
    from ..evaluation.verdict import verdicts
    from ..report.verdict_sentence import contrast_sentences, performance_words

    if not any(row["time_s"] for row in rows):
        return [say("cli.no_row_time_nothing")]
    alone = [verdict.alone for verdict in verdicts(rows) if verdict.alone]
    said = [f"{found.algorithm} on {in_ranks([found.ranks])}: {performance_words(found)}" for found in alone]
    return [*said, *contrast_sentences(rows, folder.attempts())] if said else []


def _doubts(rows: "Sequence[SummaryRow]") -> list[str]:
    """Return warnings about the imported times: wrong results, and launches in two states."""
    from ..report.caveats import cluster_sentences, suspicion_sentences, told_sentences

    return [*cluster_sentences(rows), *told_sentences(rows), *suspicion_sentences(rows)]


def _on_nodes(nodes: Sequence[int]) -> str:
    """Format ` on 1 node`, ` on 2, 4 nodes`; empty if they are unknown."""
    return f" on {', '.join(map(str, nodes))} node{'s' if nodes != [1] else ''}" if nodes else ""


def _sentence_of_log(log: Path, rows: "Sequence[Imported]") -> str:
    """Format `19 rows, 64 ranks, 4 B to 1 MiB, OSU Micro-Benchmarks 5.6.3, dtype unknown: osu.txt`."""
    from ..importers.lines import printable

    sizes = sorted({row.nbytes for row in rows})
    smallest_and_largest = dict.fromkeys(map(format_size, (sizes[0], sizes[-1])))
    nodes = sorted({row.nodes for row in rows if row.nodes})
    versions = sorted({row.version for row in rows if row.version})
    launches = {(row.ranks, row.launch) for row in rows}
    missing = [name for name in ("nodes", "dtype", "op") if all(getattr(row, name) is None for row in rows)]
    untimed = sum(row.time_s is None for row in rows)
    facts = [
        f"{len(rows)} row{'s' if len(rows) != 1 else ''}",
        *([f"{untimed} without a time"] if untimed else []),
        in_ranks(row.ranks for row in rows if row.ranks) + _on_nodes(nodes),
        *([f"{len(launches)} launches"] if len(launches) > 1 else []),
        " to ".join(smallest_and_largest),
        " ".join([rows[0].tool, *versions]),
        *([f"{', '.join(missing)} unknown"] if missing else []),
    ]
    return f"{', '.join(facts)}: {printable(str(log))}"
