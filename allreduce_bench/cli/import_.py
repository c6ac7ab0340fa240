"""`import`: logs of other tools as a run."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..units import MAX_RANKS, format_size, in_ranks
from .sections import examples
from .types import OneLineError, errors_in_one_line, kept_command, no_limit, talk

if TYPE_CHECKING:
    from ..evaluation.summary_row import SummaryRow
    from ..importers import Imported


def _counts_of_logs(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """The numbers of `64` or `2,4,8`: one for all logs, or one for each in their order."""
    numbers = [number.strip() for number in value.split(",")] if value else []
    if not all(number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MAX_RANKS for number in numbers):
        raise OneLineError(
            f"--{param.name} {value}: expected a whole number above 0, or one for each log such as 2,4,8"
        )
    return tuple(map(int, numbers))


def _named_values(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """{NAME: VALUE} of every NAME=VALUE."""
    for value in values:
        if not all(value.partition("=")[::2]) and param.name == "columns" or not value.partition("=")[1]:
            raise OneLineError(f"{param.opts[-1]} {value}: expected {param.metavar}")
    pairs = [value.partition("=")[::2] for value in values]
    if len(dict(pairs)) < len(pairs):
        raise OneLineError(f"{param.opts[-1]}: a name is given twice")
    return dict(pairs)


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
@click.option(
    "-n",
    "--ranks",
    callback=_counts_of_logs,
    metavar="N[,N...]",
    help="For all logs, or for each log, if they do not contain it.",
)
@click.option(
    "--nodes",
    callback=_counts_of_logs,
    metavar="N[,N...]",
    help="For all logs, or for each log, if they do not contain it.",
)
@click.option("-d", "--dtype", help="Element type, e.g. float32, if the logs do not contain it.")
@click.option(
    "--op", type=click.Choice(("sum", "avg", "prod", "max", "min")), help="Operation, if the logs do not contain it."
)
@click.option("--in-place", is_flag=True, help="Use the in-place columns of nccl-tests [default: out of place].")
@click.option(
    "--algorithm", metavar="NAME", help="Name of the library's algorithm, e.g. native:ring [default: native]."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_named_values,
    metavar="NAME=COLUMN",
    help="CSV column for ranks, nbytes, time_us, busbw_GBps, ...; may be repeated.",
)
@click.option(
    "--where",
    multiple=True,
    callback=_named_values,
    metavar="COLUMN=VALUE",
    help="Use only rows with this value; * and ? are wildcards; may be repeated.",
)
@click.option(
    "--communicator", metavar="ID", help="Communicator of NCCL Inspector, by id or name, if there are several."
)
@no_limit
@errors_in_one_line
def import_(logs, output, ranks, nodes, dtype, op, in_place, algorithm, columns, where, communicator, no_limit) -> None:
    """Make a run from LOGS of other tools, recognised by their content; report, fit and compare read it like any run.

    OSU Micro-Benchmarks (C and Python), Intel MPI Benchmarks, nccl-tests (text and JSON), NCCL Inspector (the files
    of all processes, or their folder), result folders of PICO, and any CSV with one row per cell. Only all-reduces are
    read. Facts that a log does not contain stay unknown, except the number of ranks: add it with -n.
    """
    from ..importers import Asked, LogWarning, keep, parts_of_logs, read
    from ..importers.values import ITEMSIZES, SPELLINGS
    from ..runs.folder import RunFolder
    from ..runs.recorder import is_taken
    from ..runs.rows import RunError
    from .work_limit import refuse_long_logs

    if is_taken(output):
        raise RunError(f"{output}: already exists; choose another folder with -o")
    refuse_long_logs("import", logs, no_limit)
    if dtype is not None and dtype.lower() not in (*ITEMSIZES, *SPELLINGS):
        raise OneLineError(f"--dtype {dtype}: unknown; known: {', '.join(ITEMSIZES)}")
    common = {"dtype": dtype, "op": op, "in_place": in_place, "algorithm": algorithm, "columns": columns}
    common |= {"where": where, "communicator": communicator}
    parts = parts_of_logs(logs)
    counts = zip(_for_each("ranks", ranks, parts), _for_each("nodes", nodes, parts))
    with warnings.catch_warnings(record=True) as log_warnings:
        warnings.simplefilter("always", LogWarning)
        rows_of_logs = [
            (log, read(log, Asked(ranks=r, nodes=n, **common), more)) for (log, *more), (r, n) in zip(parts, counts)
        ]
    options = {"ranks": list(ranks), "nodes": list(nodes), **common}
    logged = [row for _, rows in rows_of_logs for row in rows]
    summary = keep(logged, RunFolder(output), kept_command(), _without_empty(options))
    for warning in log_warnings:
        talk(f"warning: {warning.message}")
    click.echo("\n".join([*(_sentence_of_log(log, rows) for log, rows in rows_of_logs), *_doubts(summary)]))
    talk(f"{output}      next: allreduce-bench report {output}")


def _doubts(rows: "Sequence[SummaryRow]") -> list[str]:
    """Warnings about the imported times: wrong results, and launches in two states."""
    from ..report.launch_states_sentence import suspicion_sentences, told_sentences
    from ..report.wrong_clusters_sentence import cluster_sentences

    return [*cluster_sentences(rows), *told_sentences(rows), *suspicion_sentences(rows)]


def _for_each(name: str, values: Sequence[int], logs: Sequence) -> list[int | None]:
    """One value for each log; None: not given. Raises OneLineError for another number of values."""
    if len(values) not in (0, 1, len(logs)):
        raise OneLineError(f"--{name}: {len(values)} numbers for {len(logs)} logs; expected one, or one for each")
    return [*values] * len(logs) if len(values) == 1 else [*values] or [None] * len(logs)


def _without_empty(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value}


def _on_nodes(nodes: Sequence[int]) -> str:
    """` on 1 node`, ` on 2, 4 nodes`; empty if they are unknown."""
    return f" on {', '.join(map(str, nodes))} node{'s' if nodes != [1] else ''}" if nodes else ""


def _sentence_of_log(log: Path, rows: "Sequence[Imported]") -> str:
    """`19 rows, 64 ranks, 4 B to 1 MiB, OSU Micro-Benchmarks 5.6.3, dtype unknown: osu.txt`."""
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
    return f"{', '.join(facts)}: {log}"
