"""Any log to its rows: told by its content, read by its tool's reader, completed by what the user says."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .imb import is_imb, read_imb
from .lines import lines_of, read_text
from .nccl import is_nccl, read_nccl
from .nccl_json import is_nccl_json, read_nccl_json
from .osu import is_osu, read_osu
from .pico import is_pico, read_pico
from .row import NATIVE, NOTHING, OTHER, Asked, Imported, LogError
from .tidy import is_summary, is_tidy, looks_tidy, read_tidy, warn_of_ignored
from .values import dtype_of, itemsize_of, listed, op_of, printable, shown

TELL: dict[str, Callable[[str], bool]] = {  # in this order: a CSV may hold anything
    "nccl-tests-json": is_nccl_json,
    "osu": is_osu,
    "imb": is_imb,
    "nccl-tests": is_nccl,
    "pico": is_pico,
    "csv": is_tidy,
}
OURS = {  # what says that there is an all-reduce
    "osu": r"# *O\w+ .*\bAllreduce\b",
    "imb": r"# Benchmarking Allreduce",
    "nccl-tests": r"all_reduce",
}
OWN_BANNER = re.compile(r"#\s*allreduce-bench \S+, in the layout of ")
EXPECTED = "expected a log of OSU, Intel MPI Benchmarks, nccl-tests or PICO, or a CSV with a header"
WHERE = (
    "algorithm",
    "executor",
    "ranks",
    "nodes",
    "dtype",
    "op",
    "count",
    "nbytes",
    "launch",
    "system",
    "cache",
    "file",
)


def recognise(text: str) -> str | None:
    """The tool that wrote a text: a key of TELL; None for no log. Of several the first one with an all-reduce."""
    tools = [tool for tool, tells in TELL.items() if tells(text)]
    return next((tool for tool in tools if re.search(OURS.get(tool, ""), text)), tools[0] if tools else None)


def read(path: Path, asked: Asked = NOTHING) -> list[Imported]:
    """The rows of a log, or of a folder of PICO: its all-reduces only, in the order of the log.

    Raises LogError. Warns with LogWarning of what was left out: lines that were cut off, tables of groups.
    """
    rows = _completed(_read(path, asked), asked)
    chosen = [_counted(row) for row in _chosen(rows, asked)]
    if not chosen:
        said = ", ".join(f"{name}={value}" for name, value in asked.where.items())
        raise LogError(f"{path}: none of its {len(rows)} rows has {said}")
    if chosen[0].fields:
        warn_of_ignored(chosen, asked)
    return chosen


def _read(path: Path, asked: Asked) -> list[Imported]:
    if path.is_dir():
        return read_pico(path)
    text, file = read_text(path), str(path)
    _refuse_own(path, text)
    tool = recognise(text) or ("csv" if asked.columns and looks_tidy(text) else None)
    if tool is None:
        first = next(line for line in lines_of(text) if line.text.strip())
        raise LogError(f"{path}, line {first.number}: no log that is known; {EXPECTED}; found {shown(first.text)}")
    if tool in OURS:
        _refuse_several(path, text)
    if asked.columns and tool != "csv":
        raise LogError(f"{path}: --column names columns of a CSV, but this is a log of {tool}; leave it out")
    if asked.in_place and not tool.startswith("nccl-tests"):
        raise LogError(f"{path}: --in-place chooses a half of nccl-tests, but this is a log of {tool}; leave it out")
    if tool == "nccl-tests-json":
        return read_nccl_json(file, text, asked.in_place)
    if tool == "pico":
        return read_pico(path)
    if tool == "csv":
        return read_tidy(file, text, asked)
    if tool == "nccl-tests":
        return read_nccl(file, lines_of(text), asked.in_place)
    return {"osu": read_osu, "imb": read_imb}[tool](file, lines_of(text))


def _refuse_own(path: Path, text: str) -> None:
    """Raises LogError for what `run --format` prints: it holds less than the run that it is of."""
    if OWN_BANNER.search(text) or is_summary(text):
        raise LogError(
            f"{path}: printed by allreduce-bench, whose runs need no import; read the run's folder itself: "
            "allreduce-bench report RUN, or allreduce-bench compare RUN RUN"
        )


def _refuse_several(path: Path, text: str) -> None:
    """Raises LogError for all-reduces of two tools in one file: a reader would take the other's rows for its own."""
    begins = {tool: re.search(ours, text) for tool, ours in OURS.items() if TELL[tool](text)}
    found = {tool: match.start() for tool, match in begins.items() if match}
    if len(found) > 1:
        first, second = sorted(found, key=lambda tool: found[tool])[:2]
        number = text.count("\n", 0, found[second]) + 1
        raise LogError(f"{path}, line {number}: an all-reduce of {second} below one of {first}; cut the file in two")


def _completed(rows: Sequence[Imported], asked: Asked) -> list[Imported]:
    """The rows with what the user says where the log says nothing. Raises LogError where it says something else."""
    found = []
    given = {
        "ranks": asked.ranks,
        "nodes": asked.nodes,
        "dtype": dtype_of(asked.dtype or ""),
        "op": op_of(asked.op or ""),
    }
    for row in rows:
        more: dict[str, Any] = {}
        for name, value in given.items():
            said = getattr(row, name)
            if value is not None and said not in (None, value):
                raise LogError(f"{row.place}: --{name} {value}, but the log says {said}; leave --{name} out")
            if value is not None and said is None:
                more[name] = value
        if asked.algorithm and row.executor == NATIVE:
            native = asked.algorithm.split(":")[0] == NATIVE
            more |= {"algorithm": printable(asked.algorithm), "executor": NATIVE if native else OTHER}
        found.append(replace(row, **more) if more else row)
    return found


def _counted(row: Imported) -> Imported:
    """The row with its number of elements; of an unknown type an element is a byte. Raises LogError."""
    if row.ranks and row.nodes and row.nodes > row.ranks:
        raise LogError(f"{row.place}: {row.ranks} ranks on {row.nodes} nodes; a node has at least one rank")
    if row.count is not None:
        return row
    count, rest = divmod(row.nbytes, itemsize_of(row.dtype))
    if rest:
        raise LogError(f"{row.place}: {row.nbytes} bytes are no whole number of elements of {row.dtype}")
    return replace(row, count=count)


def _chosen(rows: Sequence[Imported], asked: Asked) -> list[Imported]:
    """The rows that --where names. Raises LogError for a column that they do not have."""
    chosen = list(rows)
    for name, wanted in asked.where.items():
        known = [*rows[0].fields, *(other for other in WHERE if other not in rows[0].fields)] if rows else []
        if name not in known:
            raise LogError(f"{rows[0].file}: --where {name}={wanted}: no column '{name}'; it has: {listed(known, 40)}")
        chosen = [row for row in chosen if _fits(row, name, wanted)]
    return chosen


def _fits(row: Imported, name: str, wanted: str) -> bool:
    value = row.fields.get(name)
    text = str(getattr(row, name)) if value is None else value
    return text == wanted or fnmatchcase(text, wanted)
