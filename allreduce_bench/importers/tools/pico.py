"""PICO: a result folder with one CSV for each (count, algorithm, type), named `<count>_<algorithm>_<type>.csv`.

time_s are single calls, column `highest` in ns: the maximum over ranks. The first 20 % are warm-ups, as PICO's own
summary drops them; a file that ends with the average runtime of all its calls has none. Times stand in
`<allocation>/<test>/`, which PICO packs as `<allocation>.tar.gz`. Which collective, which nodes and library a test has,
its metadata say, `<system>_metadata.csv` beside or above, or its summary; which ranks ran where, `alloc.csv`, in the
folder of the test or above. Only all-reduces are taken.
"""

import csv
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ...units import MAX_RANKS, printable
from ..contents import LogFile, contents, files_below, is_archive, stem_of_archive
from ..lines import (
    ITEMSIZES,
    Log,
    LogLine,
    Place,
    dtype_of,
    itemsize_of,
    lines_of,
    op_of,
    shown,
    text_of_file,
    warn_of_row,
)
from ..row import Asked, Imported, LogError, LogNote, LogUnread, collect_refusal
from . import Importer

TOOL = "PICO"
NAME = re.compile(r"([0-9]{1,15})_(.+)\.csv", re.ASCII)
METADATA, SUMMARY, ALLOCATION = "_metadata.csv", "aggregated_results_summary.csv", "alloc.csv"
TRAILER = re.compile(r"\s*(?:->\s*)?[A-Za-z][A-Za-z ()_-]*:")  # `Average runtime: 0.000038`, `-> Buffer: 0.5 Gib`
WARMUPS = 0.2  # of the calls of a file
NS = 1e-9
ABOVE = 4  # folders above a file that are searched for what is said of it
Test = dict[str, str]  # what is said of a test, by column; empty: nothing


def recognises(text: str) -> bool:
    """Return whether this is one of the files with times."""
    first = text.lstrip("\ufeff").partition("\n")[0].strip().lower().split(",")
    return first[0] == "highest" and all(name.startswith("rank") for name in first[1:])


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the cells of a folder, of an archive, or of one file. Raises LogError: there is none, or all are damaged.

    Warns with LogUnread of damaged files and archives among others.
    """
    rows: list[Imported] = []
    unread: list[LogUnread] = []
    for place in _places(log.path, unread):
        with collect_refusal(place, unread):
            rows += _rows_of_place(place, unread)
    if not rows:
        nothing = f"{log.path}: the metadata name no all-reduce; expected a result folder of PICO"
        raise LogError(unread[0].reason if unread else nothing)
    for file_unread in unread:
        warnings.warn(file_unread, stacklevel=2)
    return rows


def files_of(folder: Path) -> list[Path]:
    """Return the files below a folder that are of PICO, sorted by name, or an archive that holds its times."""
    if is_archive(folder):
        return [folder] if _has_times(folder) else []
    files = files_below(folder)
    archives = [file for file in files if not _is_of_pico(file) and is_archive(file) and _has_times(file)]
    if archives or any(map(_is_named_for_times, files)):
        return sorted([*archives, *filter(_is_of_pico, files)])
    return []


IMPORTER = Importer(
    name="pico",
    title="PICO",
    turn=50,
    recognises=recognises,
    read=read,
    definitions={
        "pico_highest": "maximum over ranks of each call after an MPI_Barrier (PICO); the first 20 % are warm-ups, but"
        " none where the file ends with the average of all"
    },
    files_of=files_of,
)


def _is_of_pico(file: Path) -> bool:
    return _is_named_for_times(file) or _says(file)


def _is_named_for_times(file: Path) -> bool:
    """Return whether a file is named for its times."""
    match = NAME.fullmatch(file.name)
    return match is not None and _algorithm_and_dtype(match[2])[1] is not None


def _says(file: Path) -> bool:
    """Return whether a file says something of the tests."""
    return file.name in (SUMMARY, ALLOCATION) or file.name.endswith(METADATA)


def _has_times(archive: Path) -> bool:
    """Return whether some member of an archive is named as a file with times; True for one that cannot be read."""
    try:
        return any(NAME.fullmatch(file.path.name) for file in contents(archive))
    except LogError:
        return stem_of_archive(archive.name) != archive.name


def _places(path: Path, unread: list[LogUnread]) -> Iterator[Path]:
    """Yield a folder, if it holds times that are unpacked, and each archive below; another path as it is."""
    if not path.is_dir():
        yield path
        return
    files = files_of(path)
    if any(map(_is_named_for_times, files)):
        yield path
    for archive in files:
        if not _is_of_pico(archive):
            unpacked = archive.with_name(stem_of_archive(archive.name))
            if unpacked != archive and unpacked.is_dir():
                words = f"{archive}: unpacked beside it, in {unpacked}, which is read"
                unread.append(LogUnread(str(archive), words))
            else:
                yield archive


class _Said:
    """What stands beside the times of a place: metadata, summaries, and which ranks ran where."""

    def __init__(self, place: Path, unread: list[LogUnread]):
        self.place, self.unread = place, unread
        self.folders: dict[Path, None] = {}  # of times, in order
        self._allocations: dict[Path, str] = {}  # by folder
        self._tests: dict[tuple, list[Test]] = defaultdict(list)
        self._summarised: dict[tuple, Test] = {}
        for file in chain(contents(place), _files_above(place)):
            if NAME.fullmatch(file.path.name):
                self.folders[file.path.parent] = None
            elif _says(file.path):
                self._take(file)

    def _take(self, file: LogFile) -> None:
        with collect_refusal(file.path, self.unread):
            text = text_of_file(file.path, file.read)
            if file.path.name == ALLOCATION:
                self._allocations.setdefault(file.path.parent.resolve(), text)
            elif file.path.name == SUMMARY:
                for test in _rows_of_csv(file.path, text):
                    self._summarised.setdefault(_key(test), test)
            else:
                system = file.path.name.removesuffix(METADATA)
                for test in _rows_of_csv(file.path, text):
                    self._tests[_key(test)].append({**test, "system": system})

    def test_of(self, folder: Path) -> Test:
        """Return what the metadata say of a folder of times, else the summary; of several systems, that of its path."""
        path = folder.resolve()
        key = (stem_of_archive(path.parent.name), path.name)
        tests = self._tests.get(key, [])
        here = (test for test in tests if test["system"] in path.parts)
        return next(here, tests[0] if tests else self._summarised.get(key, {}))

    def ranks_on_nodes(self, folder: Path) -> tuple[int, int] | None:
        """Return the numbers of ranks and nodes that the nearest alloc.csv of a folder of times lists."""
        path = folder.resolve()
        text = next((self._allocations[at] for at in (path, path.parent) if at in self._allocations), None)
        lines = [line.text.split(",") for line in lines_of(text or "") if line.text.strip()]
        hosts = [words[1].strip() for words in lines[1:] if len(words) > 1]
        return (len(hosts), len(set(hosts))) if hosts else None


def _key(test: Test) -> tuple[str | None, str | None]:
    return test.get("timestamp"), test.get("test_id")


def _files_above(place: Path) -> Iterator[LogFile]:
    """Yield the files above a place, the nearest first, that say something of its tests."""
    for above in place.resolve().parents[:ABOVE]:
        files = [above / ALLOCATION, above / SUMMARY, *sorted(above.glob(f"*{METADATA}"))]
        for file in filter(Path.is_file, files):
            yield from contents(file)


def _rows_of_csv(file: Path, text: str) -> Iterator[Test]:
    reader = csv.DictReader(text.replace("\r", "").splitlines())
    try:
        for test in reader:
            yield {
                name: value or ""
                for name, value in test.items()
                if isinstance(name, str) and not isinstance(value, list)
            }
    except csv.Error as error:
        raise LogError(
            f"{file}, line {reader.line_num}: damaged CSV, such as a quote that is not closed; copy it again"
        ) from error


def _rows_of_place(place: Path, unread: list[LogUnread]) -> list[Imported]:
    """Return the cells of an archive, of a folder without the archives in it, or of a file."""
    said = _Said(place, unread)
    tests = {folder: said.test_of(folder) for folder in said.folders}
    unknown = [folder for folder, test in tests.items() if not test]
    if unknown and (len(tests) > 1 or is_archive(place)):  # a folder of one test is that of whoever names it
        if len(unknown) == len(tests):
            raise LogError(
                f"{place}: neither metadata nor a summary say which of its tests ({len(tests)}) are all-reduces; put "
                "<system>_metadata.csv beside or above it, or name the unpacked folder of one test"
            )
        for folder in unknown:
            words = f"{folder}: neither metadata nor a summary say of which collective its times are"
            unread.append(LogUnread(str(folder), words))
            del tests[folder]
    layouts: dict[Path, _Layout] = {}
    for folder, test in tests.items():
        if _is_allreduce(test):
            with collect_refusal(folder, unread):
                layouts[folder] = _layout(folder, test, said)
    rows = []
    for file in contents(place):
        folder = file.path.parent
        if folder in layouts and NAME.fullmatch(file.path.name):
            with collect_refusal(file.path, unread):
                rows.append(_row_of_file(file, tests[folder], layouts[folder]))
    return rows


def _is_allreduce(test: Test) -> bool:
    return test.get("collective_type", "ALLREDUCE").strip().upper() == "ALLREDUCE"


class _Layout(NamedTuple):
    """Ranks and nodes of a test; None: unknown."""

    ranks: int | None = None
    nodes: int | None = None


def _layout(folder: Path, test: Test, said: _Said) -> _Layout:
    """Return ranks and nodes of a test: those that alloc.csv lists on as many nodes were there, metadata are asked for.

    A torus has nodes 8x8x8. Raises LogError.
    """
    listed = said.ranks_on_nodes(folder)
    if not test.get("nnodes"):
        return _Layout(*listed) if listed else _Layout()
    place = Place(folder)
    nodes = prod(place.whole(side.strip(), "nnodes", 1, MAX_RANKS) for side in test["nnodes"].lower().split("x"))
    each = place.whole(test.get("tasks_per_node") or "1", "tasks_per_node", 1, MAX_RANKS)
    ranks = place.whole(str(nodes * each), "nnodes x tasks_per_node", 1, MAX_RANKS)
    if listed and listed[1] == nodes and listed[0] != ranks:
        words = (
            f"{folder}: alloc.csv lists {listed[0]} ranks on {nodes} nodes, the metadata ask for {nodes} x {each} = "
            f"{ranks}; taken: {listed[0]}"
        )
        warnings.warn(LogNote(words), stacklevel=2)
        ranks = listed[0]
    return _Layout(ranks, nodes)


def _row_of_file(file: LogFile, test: Test, layout: _Layout) -> Imported:
    """Return the row of one file, with its calls."""
    path = file.path
    match = NAME.fullmatch(path.name)
    algorithm, dtype = _algorithm_and_dtype(match[2] if match else "")
    if match is None or dtype is None:
        raise LogError(
            f"{path}: the name of a PICO file says count, algorithm and type: expected 512_ring_over_int32.csv; "
            "rename it"
        )
    lines = lines_of(text_of_file(path, file.read), str(path))
    header = lines[0].text.strip().lower().split(",")
    if not recognises(lines[0].text):
        raise LogError(f"{path}, line 1: the header is {shown(lines[0].text)}, expected highest[,rank0,...]")
    calls, has_trailer = _calls_and_trailer(lines[1:])
    times_s = tuple(_times_s(calls, len(header)))
    if not times_s:
        raise LogError(f"{lines[-1].place}: no calls; expected one time a line")
    count = Place(path).whole(match[1], "the count in its name")
    state: dict[str, Any] = {"state": "left out", "reason": "the log has times of 0"}
    return Imported(
        file=str(path),
        line=2,
        tool=TOOL,
        launch=_launch(path, test),
        competitor=printable(algorithm),
        dtype=dtype,
        op=op_of(test.get("MPI_Op", "")),
        count=count,
        size_bytes=count * itemsize_of(dtype),
        ranks=layout.ranks or len(header) - 1 or None,
        nodes=layout.nodes,
        system=test.get("system") or None,
        warmups=0 if has_trailer else int(WARMUPS * len(times_s)),
        iterations=1,
        time_definition="pico_highest",
        files=(str(file.archive),) if file.archive else (),
        facts=_facts(test),
        **({"times_s": times_s} if all(times_s) else state),
    )


def _algorithm_and_dtype(name: str) -> tuple[str, str | None]:
    """Split `ring_over_int32` at its type; None: the name ends in no type."""
    begin, _, end = name.rpartition("_")
    dtype = dtype_of(end)
    return (begin, dtype) if begin and dtype in ITEMSIZES else (name, None)


def _calls_and_trailer(lines: Sequence[LogLine]) -> tuple[Sequence[LogLine], bool]:
    """Return the lines of calls, and whether words such as the average runtime end them."""
    end = next((at for at, line in enumerate(lines) if TRAILER.match(line.text)), len(lines))
    return lines[:end], end < len(lines)


def _times_s(lines: Sequence[LogLine], columns: int) -> Iterator[float]:
    """Yield the first column in seconds; a truncated row is dropped with a warning."""
    for line in lines:
        if not line.text.strip():
            continue
        words = line.text.split(",")
        if len(words) < columns or not line.ended:
            warn_of_row(line.file, line, f"{shown(line.text)} may be cut off")
            continue
        yield line.place.seconds(words[0].strip(), NS)


def _launch(path: Path, test: Test) -> str:
    """Return the allocation, and the test in it."""
    if test:
        return f"{test['timestamp']}, test {test['test_id']}"
    return "/".join(path.resolve().parent.parts[-2:])


def _facts(test: Test) -> dict[str, Any]:
    """Return the library of MPI, and those that a test used beside it."""
    libraries = [(test.get("mpi_lib", ""), test.get("mpi_lib_version", ""))]
    if test.get("gpu_awareness", "").strip().lower() == "yes":
        libraries.append((test.get("gpu_lib", ""), test.get("gpu_lib_version", "")))
    if version := test.get("libbine_version", test.get("libswing_version", "")).strip():
        libraries.append(("libbine" if "libbine_version" in test else "libswing", version))
    named = [" ".join(filter(None, (name.strip(), version.strip()))) for name, version in libraries if name.strip()]
    return {"mpi": {"library": ", ".join(named)}} if named else {}
