"""PICO: a result folder with one CSV for each (count, algorithm, type), named `<count>_<algorithm>_<type>.csv`.

time_s are single calls, column `highest` in ns: the maximum over ranks. The first 20 % are warm-ups, as PICO's own
summary drops them. Its metadata, `<system>_metadata.csv` beside or above the folder, give nodes and ranks of each test
of an allocation; only all-reduces are taken.
"""

import csv
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...message import say
from ...runs.cell import IMPORTED
from ...units import MAX_RANKS, printable
from ..lines import Log, LogLine, dropped, dtype_of, itemsize_of, lines_of, op_of, read_text, seconds, shown, whole
from ..row import Asked, Imported, LogError, LogUnread
from . import Importer

TOOL = "PICO"
NAME = re.compile(r"([0-9]{1,15})_(.+)_([^_]+)\.csv", re.ASCII)
WARMUPS = 0.2  # of the calls of a file
NS = 1e-9
ABOVE = 3  # folders above a result that are searched for its metadata


def recognises(text: str) -> bool:
    """Return whether this is one of the files with times."""
    first = text.lstrip("\ufeff").partition("\n")[0].strip().lower().split(",")
    return first[0] == "highest" and all(name.startswith("rank") for name in first[1:])


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the cells below a folder, or of one of its files. Raises LogError: there is none, or all are damaged.

    Warns with LogUnread of damaged files among others.
    """
    path = log.path
    files = files_of(path) if path.is_dir() else [path]
    metadata_of = {folder: _metadata(folder) for folder in dict.fromkeys(file.parent for file in files)}
    rows: list[Imported] = []
    unread: list[LogUnread] = []
    for file in files:
        test = metadata_of[file.parent] or {}
        try:
            rows += [_row_of_file(file, test)] if _is_allreduce(test) else []
        except LogError as error:
            unread.append(LogUnread(str(file), str(error)))
    if not rows:
        nothing = say("importers.metadata_name_no_reduce", path=path)
        raise LogError("as_said", words=unread[0].reason if unread else nothing)
    for file_unread in unread:
        warnings.warn(file_unread, stacklevel=2)
    return rows


def files_of(folder: Path) -> list[Path]:
    """Return the files with times below a folder, sorted by name."""
    return sorted(file for file in folder.rglob("*.csv") if NAME.fullmatch(file.name))


IMPORTER = Importer(name="pico", title="PICO", turn=50, recognises=recognises, read=read, files_of=files_of)


def _is_allreduce(test: dict[str, str]) -> bool:
    return test.get("collective_type", "ALLREDUCE").strip().upper() == "ALLREDUCE"


def _metadata(folder: Path) -> dict[str, str] | None:
    """Return the line of the metadata about a folder of times, <allocation>/<test>; None if there is none."""
    folder = folder.resolve()
    for above in [folder, *folder.parents][: ABOVE + 1]:
        for file in sorted(above.glob("*_metadata.csv")):
            for test in _read_metadata(file):
                if (test.get("timestamp"), test.get("test_id")) == (folder.parent.name, folder.name):
                    return {**test, "system": file.name.removesuffix("_metadata.csv"), "file": str(file)}
    return None


def _read_metadata(file: Path) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(read_text(file).replace("\r", "").splitlines())
    try:
        for test in reader:
            yield {
                name: value or ""
                for name, value in test.items()
                if isinstance(name, str) and not isinstance(value, list)
            }
    except csv.Error as error:
        raise LogError("importers.line_damaged", file=file, line_num=reader.line_num, error=error) from error


def _row_of_file(path: Path, test: dict[str, str]) -> Imported:
    """Return the row of one file, with its calls."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise LogError("importers.name_pico_file_says", path=path)
    lines = lines_of(read_text(path))
    header = lines[0].text.strip().lower().split(",")
    if not recognises(lines[0].text):
        raise LogError("importers.line_header_expected_highest", path=path, lines=shown(lines[0].text))
    times_s = tuple(_times_s(path, lines[1:], len(header)))
    if not times_s:
        raise LogError("importers.line_no_calls_expected", path=path, number=lines[-1].number)
    dtype = dtype_of(match[3])
    count = whole(match[1], say("importers.count_name"), str(path))
    state: dict[str, Any] = {"state": "left out", "reason": say("importers.log_times")}
    return Imported(
        file=str(path),
        line=2,
        tool=TOOL,
        launch=_launch(path, test),
        algorithm=printable(match[2]),
        executor=IMPORTED,
        dtype=dtype,
        op=op_of(test.get("MPI_Op", "")),
        count=count,
        nbytes=count * itemsize_of(dtype),
        system=test.get("system"),
        warmups=int(WARMUPS * len(times_s)),
        iterations=1,
        time_definition="pico_highest",
        facts=_facts(test),
        **_layout(path, test, len(header) - 1),
        **({"times_s": times_s} if all(times_s) else state),
    )


def _times_s(path: Path, lines: list[LogLine], columns: int) -> Iterator[float]:
    """Yield the first column in seconds; a truncated row is dropped with a warning."""
    for line in lines:
        if not line.text.strip():
            continue
        words = line.text.split(",")
        if len(words) < columns or not line.ended:
            dropped(str(path), line, say("importers.may_cut_off", line=shown(line.text)))
            continue
        yield seconds(words[0].strip(), NS, "the time", f"{path}, line {line.number}")


def _layout(path: Path, test: dict[str, str], columns: int) -> dict[str, Any]:
    """Return ranks and nodes: of the metadata, where a torus has nodes 8x8x8, else of columns of ranks or alloc.csv."""
    place = test.get("file", str(path))
    if test.get("nnodes"):
        nodes = 1
        for side in test["nnodes"].lower().split("x"):
            nodes *= whole(side.strip(), "nnodes", place, 1, MAX_RANKS)
        each = whole(test.get("tasks_per_node") or "1", "tasks_per_node", place, 1, MAX_RANKS)
        return {"nodes": nodes, "ranks": whole(str(nodes * each), "nnodes x tasks_per_node", place, 1, MAX_RANKS)}
    allocation = path.with_name("alloc.csv")
    if columns > 0 or not allocation.is_file():
        return {"nodes": None, "ranks": columns or None}
    hosts = [line.text.split(",")[-1] for line in lines_of(read_text(allocation))[1:] if line.text.strip()]
    return {"nodes": len(set(hosts)) or None, "ranks": len(hosts) or None}


def _launch(path: Path, test: dict[str, str]) -> str:
    """Return the allocation, and the test in it."""
    if test:
        return f"{test['timestamp']}, test {test['test_id']}"
    return "/".join(path.resolve().parent.parts[-2:])


def _facts(test: dict[str, str]) -> dict[str, Any]:
    words = [test.get(name, "").strip() for name in ("mpi_lib", "mpi_lib_version")]
    return {"mpi": {"library": " ".join(filter(None, words))}} if words[0] else {}
