"""Options about logs of other tools, common to `import` and `compare`, and reading of logs with them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..units import MAX_RANKS
from .types import OneLineError, kept_command, talk

if TYPE_CHECKING:
    from ..importers import Imported, LogUnread


def _counts_of_logs(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Parse `64` or `2,4,8`: one number for all logs, or one per log in order."""
    numbers = [number.strip() for number in value.split(",")] if value else []
    if not all(number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MAX_RANKS for number in numbers):
        raise OneLineError("cli.expected_whole_number_above", param=param.name, value=value)
    return tuple(map(int, numbers))


def _named_values(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Return {NAME: VALUE} of every NAME=VALUE."""
    for value in values:
        if not all(value.partition("=")[::2]) and param.name == "columns" or not value.partition("=")[1]:
            raise OneLineError("cli.expected", opts=param.opts[-1], value=value, metavar=param.metavar)
    pairs = [value.partition("=")[::2] for value in values]
    if len(dict(pairs)) < len(pairs):
        raise OneLineError("cli.name_given_twice", opts=param.opts[-1])
    return dict(pairs)


def _known_type(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    from ..importers.lines import ITEMSIZES, SPELLINGS  # late: only if a type is given

    if name is not None and name.lower() not in (*ITEMSIZES, *SPELLINGS):
        raise OneLineError("cli.dtype_unknown_known", name=name, itemsizes=", ".join(ITEMSIZES))
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
        help="CSV column for ranks, nbytes, time_us, busbw_GBps, ...; may be repeated.",
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
    """Read logs, each with its parts (see `parts_of_logs`); print on stderr what was left out of them.

    `options`: values of OPTIONS, and perhaps `algorithm`. Raises LogError; OneLineError for numbers of ranks or nodes
    that do not match the number of logs.
    """
    import warnings

    from ..importers import Asked, LogUnread, LogWarning, read, refuse_copy
    from ..importers.lines import printable

    common = {name: value for name, value in options.items() if name not in ("ranks", "nodes")}
    counts = list(zip(*(_for_each(name, options[name], parts) for name in ("ranks", "nodes"))))
    copied: dict[tuple, dict[str, Path]] = defaultdict(dict)  # number of ranks and of nodes -> digests
    for (log, *_), numbers in zip(parts, counts):
        refuse_copy(log, copied[numbers])
    with warnings.catch_warnings(record=True) as log_warnings:
        warnings.simplefilter("always", LogWarning)
        rows_of = [
            (log, read(log, Asked(ranks=ranks, nodes=nodes, **common), more))
            for (log, *more), (ranks, nodes) in zip(parts, counts)
        ]
    for warning in log_warnings:
        talk(f"warning: {printable(str(warning.message))}")
    said = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items() if value}
    return ReadLogs(
        rows_of, said, [warning.message for warning in log_warnings if isinstance(warning.message, LogUnread)]
    )


def _for_each(name: str, values: Sequence[int], logs: Sequence) -> list[int | None]:
    """Return one value per log; None: not given. Raises OneLineError for another number of values."""
    if len(values) not in (0, 1, len(logs)):
        raise OneLineError("cli.numbers_logs_expected", name=name, count=len(values), log_count=len(logs))
    return [*values] * len(logs) if len(values) == 1 else [*values] or [None] * len(logs)


@contextmanager
def runs_of_logs(logs: Sequence[Path], options: Mapping[str, Any]) -> Iterator[dict[Path, Path]]:
    """Yield for each log, or folder of logs, a run folder of its times, which exists until the end of the block.

    `options` as of `read_logs`. Raises LogError, OneLineError.
    """
    from ..importers import keep
    from ..runs.folder import RunFolder

    with TemporaryDirectory(prefix="allreduce-bench-") as place:
        found = read_logs([[log] for log in logs], options) if logs else ReadLogs([], {}, [])
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
