"""`import`: logs of other tools as a run; and the options about logs that `compare` has, too."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..launching.tied_process import interrupt_when_asked_to_end
from ..runs.folder import RunFolder
from ..runs.recorder import is_taken
from ..runs.rows import RunError
from ..units import MAX_RANKS, counted, format_size, in_ranks, printable, shell_word
from .sections import examples
from .terminal import echo_result
from .types import PATH, OneLineError, errors_in_one_line, kept_command, talk, told_warnings

if TYPE_CHECKING:
    from ..importers import Imported, LogUnread


def _counts_of_logs(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Parse `64` or `2,4,8`: one number for all logs, or one per log in order."""
    numbers = [number.strip() for number in value.split(",")] if value else []
    if not all(number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MAX_RANKS for number in numbers):
        raise OneLineError(
            f"--{param.name} {value}: expected a whole number above 0, or one for each log such as 2,4,8"
        )
    return tuple(map(int, numbers))


def _named_values(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Return {NAME: VALUE} of every NAME=VALUE."""
    for value in values:
        if not all(value.partition("=")[::2]) and param.name == "columns" or not value.partition("=")[1]:
            raise OneLineError(f"{param.opts[-1]} {value}: expected {param.metavar}")
    pairs = [value.partition("=")[::2] for value in values]
    if len(dict(pairs)) < len(pairs):
        raise OneLineError(f"{param.opts[-1]}: a name is given twice")
    return dict(pairs)


def _known_type(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    from ..importers.lines import ITEMSIZES, SPELLINGS  # late: only if a type is given

    if name is not None and name.lower() not in (*ITEMSIZES, *SPELLINGS):
        raise OneLineError(f"--dtype {name}: unknown; known: {', '.join(ITEMSIZES)}")
    return name


OPTIONS = (
    click.option(
        "-n",
        "--ranks",
        callback=_counts_of_logs,
        metavar="N[,N...]",
        help="For all logs, or for each log, if they do not contain it.",
    ),
    click.option(
        "--nodes",
        callback=_counts_of_logs,
        metavar="N[,N...]",
        help="For all logs, or for each log, if they do not contain it.",
    ),
    click.option(
        "-d", "--dtype", callback=_known_type, help="Element type, e.g. float32, if the logs do not contain it."
    ),
    click.option(
        "--op",
        type=click.Choice(("sum", "avg", "prod", "max", "min")),
        help="Operation, if the logs do not contain it.",
    ),
    click.option("--in-place", is_flag=True, help="Use the in-place columns of nccl-tests [default: out of place]."),
    click.option(
        "--column",
        "columns",
        multiple=True,
        callback=_named_values,
        metavar="NAME=COLUMN",
        help="CSV column for ranks, size_bytes, time_us, busbw_GBps, ...; may be repeated.",
    ),
    click.option(
        "--where",
        multiple=True,
        callback=_named_values,
        metavar="COLUMN=VALUE",
        help="Use only rows with this value; * and ? are wildcards; may be repeated.",
    ),
    click.option(
        "--communicator", metavar="ID", help="Communicator of NCCL Inspector, by id or name, if there are several."
    ),
)


def log_options(command: Callable) -> Callable:
    """Add the OPTIONS to a command, as parameters of their names."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def given_option(options: Mapping[str, Any]) -> str:
    """Return the first of the OPTIONS that was given, such as --in-place; empty: none."""
    spelled = {"in_place": "--in-place", "columns": "--column"}
    return next((spelled.get(name, f"--{name}") for name, value in options.items() if value), "")


class ReadLogs(NamedTuple):
    """Logs that were read with the same options."""

    rows_of: list[tuple[Path, list["Imported"]]]  # of each log, in order
    said: dict[str, Any]  # the options that were given
    unread: list["LogUnread"]  # files of folders that could not be read

    @property
    def rows(self) -> list["Imported"]:
        """Return the rows of all logs."""
        return [row for _, rows in self.rows_of for row in rows]


def read_logs(parts: Sequence[Sequence[Path]], options: Mapping[str, Any]) -> ReadLogs:
    """Read logs, each with its parts (see `parts_of_logs`); print on stderr what was left out.

    `options`: values of OPTIONS, and perhaps `algorithm`. Raises LogError; OneLineError for numbers of ranks or nodes
    that do not match the number of logs.
    """
    from ..importers import Asked, LogUnread, read, refuse_copy  # late, as the others: they load pandas

    common = {name: value for name, value in options.items() if name not in ("ranks", "nodes")}
    counts = list(zip(*(_spread(name, options[name], parts) for name in ("ranks", "nodes"))))
    copied: dict[tuple, dict[str, Path]] = defaultdict(dict)  # number of ranks and of nodes -> digests
    for (log, *_), numbers in zip(parts, counts):
        refuse_copy(log, copied[numbers])
    with told_warnings() as log_warnings:
        rows_of = [
            (log, read(log, Asked(ranks=ranks, nodes=nodes, **common), more, copied[ranks, nodes]))
            for (log, *more), (ranks, nodes) in zip(parts, counts)
        ]
    said = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items() if value}
    return ReadLogs(
        rows_of, said, [warning.message for warning in log_warnings if isinstance(warning.message, LogUnread)]
    )


def _spread(name: str, values: Sequence[int], logs: Sequence) -> list[int | None]:
    """Return one value per log; None: not given. Raises OneLineError for another number of values."""
    if len(values) not in (0, 1, len(logs)):
        raise OneLineError(
            f"--{name}: {len(values)} numbers for {counted(len(logs), 'log')}; expected one, or one for each"
        )
    return [*values] * len(logs) if len(values) == 1 else [*values] or [None] * len(logs)


@contextmanager
def runs_of_logs(logs: Sequence[Path], options: Mapping[str, Any]) -> Iterator[dict[Path, Path]]:
    """Yield for each log, or folder of logs, a run folder of its times, which exists until the end of the block.

    Numbers of ranks and the like are given to the logs that do not state them, which are named.
    `options` as of `read_logs`. Raises LogError, OneLineError.
    """
    from ..importers import keep

    with TemporaryDirectory(prefix="allreduce-bench-") as place:
        found = read_logs([[log] for log in logs], {**options, "fills": True}) if logs else ReadLogs([], {}, [])
        kept = {log: Path(place) / str(number) for number, log in enumerate(logs)}
        for log, rows in found.rows_of:
            unread = [file for file in found.unread if log in Path(file.path).parents]
            keep(rows, RunFolder(kept[log]), kept_command(), found.said, unread)
        yield kept


def is_log(path: Path) -> bool:
    """Return whether a path is a log, or a folder of logs: it exists, and is neither a run nor a folder of runs."""
    if not path.is_dir():
        return path.exists()
    runs = (path, *path.glob("*/"), *path.glob("*/*/"))
    return not any((run / "run.json").exists() or (run / "launches").is_dir() for run in runs)


# `import`: convert logs of other tools to a run


@click.command(
    "import",
    epilog=examples(
        "import osu_allreduce.log -n 64",
        "import all_reduce_perf.txt -n 8 --in-place -o results/nccl",
        "import 2.log 4.log 8.log -n 2,4,8 -o results/imb",
    ),
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Folder of the run, new or empty [default: print the table].",
)
@log_options
@click.option(
    "--algorithm", metavar="NAME", help="Name of the library's algorithm, e.g. native:ring [default: native]."
)
@errors_in_one_line
def import_(logs, output, **options) -> None:
    """Print LOGS of other tools as the table of a run; with -o keep the run, which report, fit and compare read.

    OSU Micro-Benchmarks (C and Python), Intel MPI Benchmarks, nccl-tests and rccl-tests (text, JSON, CSV), NCCL
    Inspector (the files of all processes, or their folder), ucc_perftest, all_reduce_bench.py, ds_bench, results of
    PICO, and any CSV or Markdown table with a row a cell or a column a competitor; folders and archives of them,
    recognised by their content. Only all-reduces are read. Facts that a log does not contain stay unknown, except the
    number of ranks: add it with -n. A log that you name has to be readable; of a folder of logs, files that cannot be
    read are named and left out.
    """
    from ..importers import keep, mixed_libraries, parts_of_logs

    interrupt_when_asked_to_end()
    if output and is_taken(output):
        raise RunError(f"{output}: already exists; choose another folder with -o")
    found = read_logs(parts_of_logs(logs), options)
    with TemporaryDirectory(prefix="allreduce-bench-") as place:
        folder = RunFolder(output or Path(place) / "run")
        summary = keep(found.rows, folder, kept_command(), found.said, found.unread)
        for sentence in mixed_libraries(found.rows):
            talk(f"warning: {printable(sentence)}")
        click.echo("\n".join(_sentence_of_log(log, rows) for log, rows in found.rows_of))
        if any(row["time_s"] for row in summary):
            echo_result(folder, summary, "table")
        else:
            click.echo("no row has a time: nothing can be compared or fitted")
    if output:
        talk(f"written to {printable(str(output))}; next: allreduce-bench report {shell_word(output)}")
    else:
        talk("nothing was written; for report, fit and compare keep it with -o results/NAME")


def _nodes_in_words(nodes: Sequence[int]) -> str:
    """Format ` on 1 node`, ` on 2, 4 nodes`; empty if they are unknown."""
    return f" on {', '.join(map(str, nodes))} node{'s' if nodes != [1] else ''}" if nodes else ""


def _sentence_of_log(log: Path, rows: "Sequence[Imported]") -> str:
    """Format `19 rows, 64 ranks, 4 B to 1 MiB, OSU Micro-Benchmarks 5.6.3, dtype unknown: osu.txt`."""
    sizes = sorted({row.size_bytes for row in rows})
    smallest_and_largest = dict.fromkeys(map(format_size, (sizes[0], sizes[-1])))
    nodes = sorted({row.nodes for row in rows if row.nodes})
    versions = sorted({row.version for row in rows if row.version})
    launches = {(row.ranks, row.launch) for row in rows}
    missing = [name for name in ("nodes", "dtype", "op") if all(getattr(row, name) is None for row in rows)]
    untimed = sum(row.time_s is None for row in rows)
    facts = [
        counted(len(rows), "row"),
        *([f"{untimed} without a time"] if untimed else []),
        in_ranks(row.ranks for row in rows if row.ranks) + _nodes_in_words(nodes),
        *([f"{len(launches)} launches"] if len(launches) > 1 else []),
        " to ".join(smallest_and_largest),
        " ".join([rows[0].tool, *versions]),
        *([f"{', '.join(missing)} unknown"] if missing else []),
    ]
    return f"{', '.join(facts)}: {printable(str(log))}"
