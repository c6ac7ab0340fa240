"""Reading of logs: any log to its rows, recognised by content and completed by options, and to the points of a fit."""

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..runs.competitor import NATIVE
from ..units import few, printable, shell_word
from ..wings import load_offers
from .contents import LogFile, contents, is_archive, is_run, runs_below
from .lines import (
    Log,
    digest_of,
    dtype_of,
    itemsize_of,
    library_of,
    lines_of,
    listed,
    op_of,
    read_text,
    shown,
    text_of_file,
    texts_in_json,
)
from .row import NOTHING, OF_OPTION, Asked, Imported, LogError, LogUnread, collect_refusal
from .tools import Importer, importers, tidy
from .tools.nccl_inspector import is_of_inspector
from .tools.tidy import warn_of_ignored

PEEKED = 100_000  # characters of a text, to recognise it
OTHERS = (  # texts that are mistaken for a log of all-reduce times -> their names
    (r"\A\s*(?:<\?xml[^>]*>\s*)?<algo\b", "an algorithm of MSCCL, which has no times"),
    (r'(?s)\A\s*\{.*"pg_(?:config|status)"', "a record of Flight Recorder, which torchfrtrace reads"),
    (r'(?s)\A\s*\{.*"nccl_version".*"communicators', "a report of NCCL RAS, which has no times"),
    (r"\A\s*<(?:\?(?i:xml)|!(?i:doctype)|(?i:html))\b", "XML or HTML"),
    (r"\blatency\(us\)\s+min_lat\(us\)", "a log of NVSHMEM's perftest, which has no column time"),
    (r"(?m)^Options: +processes=\d+, inputs=", "a log of Gloo's benchmark, which is not read"),
    (r"\bCOMMS-RES-", "a log of PARAM's benchmarks, which is not read"),
    (
        r"#elem_count\b|# Benchmarking: \w+|\A#ranks,collective,reduction,",
        "a log of oneCCL's benchmark, which is not read",
    ),
    (r"data_size\(Bytes\):", "a log of hccl_test, which is not read"),
    (r"(?m)^# SKaMPI Version", "a log of SKaMPI, which is not read"),
    (r"(?m)^Network Tests v\d", "a log of GPCNeT, which is not read"),
    (r"Results \(avg ms across \d+ ranks", "a log of SGLang's benchmark, which is not read"),
    (r"\Ahierarchical_allreduce,", "a log of Horovod's autotuning, which has no times"),
)
TROUBLE = re.compile(  # a line that may explain why a log has no times
    r"(?i)\b(?:error|fail(?:ed|ure)?|unable|could not|cannot|not found|no such|denied|refused|abort|killed)"
)
MOST_RUNS = 3  # named of those below a folder
OWN_RUN = (
    "printed by allreduce-bench, whose runs need no import; read the run's folder itself: allreduce-bench report RUN, "
    "or allreduce-bench compare RUN RUN"
)
OWN_BANNER = re.compile(r"#\s*allreduce-bench \S+, in the layout of ")
WHERE = (  # fields of Imported that --where may name
    *("competitor", "ranks", "nodes", "dtype", "op"),
    *("count", "size_bytes", "launch", "system", "cache", "file", "tool", "library", "ranks_per_node"),
)


def read(
    path: Path, asked: Asked = NOTHING, more: Sequence[Path] = (), copied: dict[str, Path] | None = None
) -> list[Imported]:
    """Return the rows of a log, of a folder or of an archive: its all-reduces only, in order.

    `more` are its other parts, see `parts_of_logs`. Raises LogError. Warns with LogWarning of what was left out:
    truncated lines, tables of groups. Of a folder or an archive the files of PICO and of NCCL Inspector are read
    together, each other file by its own tool; unreadable ones are left out with LogUnread, unless all are. Copies of
    files in `copied`, by digests, are left out so, too; what is read is added there.
    """
    if is_run(path):
        raise LogError(f"{path}: {OWN_RUN}")
    if path.is_dir() or is_archive(path):
        rows = _read_each(path, asked, {} if copied is None else copied)
    else:
        rows = _complete_rows(path, _read_text(path, read_text(path), asked, more), asked)
    return _select_rows(path, rows, asked)


def _complete_rows(path: Path, rows: Sequence[Imported], asked: Asked) -> list[Imported]:
    """Return the rows of a log, completed. Raises LogError if there is none."""
    if not rows:
        raise LogError(f"{path}: no whole row of an all-reduce, of a size and a time")
    return _fill_in(rows, asked)


def _read_text(path: Path, text: str, asked: Asked, more: Sequence[Path] = ()) -> list[Imported]:
    """Return the rows of a text. Raises LogError for an unknown log, and for options that do not fit it."""
    _refuse_own(path, text)
    if texts := [(place, inner) for place, inner in texts_in_json(text) if _importer_of(inner)]:
        return _read_texts(path, texts, asked)
    importer = _importer_of(text) or (tidy.IMPORTER if asked.columns and tidy.looks_tidy(text) else None)
    if importer is None:
        raise _unknown_log_error(path, text)
    if importer.allreduce:
        _refuse_several(path, text)
    _refuse_options(path, importer, asked)
    if more and importer.read_together:
        return importer.read_together([Log(path, text), *(Log(part, read_text(part)) for part in more)], asked)
    return _add_library(importer.read(Log(path, text), asked), text)


def _unknown_log_error(path: Path, text: str) -> LogError:
    """Return the error of a text that no importer reads: what it is, or its first line that may say why."""
    lines = [line for line in lines_of(text, str(path)) if line.text.strip()]
    if other := other_text(text):
        return LogError(f"{lines[0].place}: found {other}; {_expected()}")
    if trouble := next((line for line in lines if TROUBLE.search(line.text)), None):
        said = f"no all-reduce in this file, which says {shown(trouble.text, 100)}"
        return LogError(f"{trouble.place}: {said}; {_expected()}")
    return LogError(f"{lines[0].place}: unknown log format; {_expected()}; found {shown(lines[0].text)}")


def _read_texts(path: Path, texts: Sequence[tuple[str, str]], asked: Asked) -> list[Imported]:
    """Return the rows of the logs that a JSON document holds as strings; what cannot be read is left out of several."""
    rows, refused = list[Imported](), list[LogError]()
    for place, text in texts:
        try:
            found = _read_text(path / place, text, asked)
            rows += [replace(row, files=(str(path),)) for row in found]
        except LogError as error:
            refused.append(error)
    if not rows:
        raise refused[0]
    for refusal in refused:
        warnings.warn(LogUnread(str(path), str(refusal)), stacklevel=2)
    return rows


def _add_library(rows: list[Imported], text: str) -> list[Imported]:
    """Return rows with the library that their log states, where it states one and they have none."""
    if not rows or any(row.library or row.fields for row in rows) or not (library := library_of(text)):
        return rows
    return [replace(row, facts={**row.facts, "mpi": {**row.facts.get("mpi", {}), "library": library}}) for row in rows]


def _read_each(folder: Path, asked: Asked, copied: dict[str, Path]) -> list[Imported]:
    """Return the rows of every log of a folder or an archive. Raises LogError if there is none.

    `copied` are the digests of files that were read.
    """
    rows, unread, taken, tried = list[Imported](), list[LogUnread](), set[Path](), 0
    for importer in importers():
        if importer.files_of and (files := importer.files_of(folder)):
            taken.update(files)
            tried += 1
            with collect_refusal(folder, unread):
                rows += _read_together(importer, folder, asked, unread)
    for file in contents(folder) if folder not in taken else ():
        if file.path not in taken:
            tried += 1
            with collect_refusal(file.path, unread):
                rows += _read_member(file, asked, copied, bool(taken))
    if runs := runs_below(folder):
        tried += 1
        words = f"{folder}: runs of allreduce-bench below it need no import: {few(runs, MOST_RUNS)}"
        unread.append(LogUnread(str(folder), words))
    if not tried:
        raise LogError(f"{folder}: holds no file; {_expected()}")
    if not rows:
        first = unread[0]
        is_own = first.path == str(folder)
        refused = f"{folder}: no file of it could be read, the first of {tried}: {first.reason}"
        raise LogError(first.reason if is_own else refused)
    for one in unread:
        warnings.warn(one, stacklevel=3)
    return rows


def _read_together(importer: Importer, folder: Path, asked: Asked, unread: list[LogUnread]) -> list[Imported]:
    """Return the rows of the files of a tool whose results are folders; files that are refused join `unread`.

    Raises LogError if none can be read.
    """
    _refuse_options(folder, importer, asked)
    rows = list[Imported]()
    for file, of_file in groupby(importer.read(Log(folder, ""), asked), attrgetter("file")):
        with collect_refusal(Path(file), unread):
            rows += _complete_rows(folder, list(of_file), asked)
    return rows


def _read_member(file: LogFile, asked: Asked, copied: dict[str, Path], is_beside: bool) -> list[Imported]:
    """Return the rows of a file, or an archive, of a folder. Raises LogError.

    `is_beside`: the folder holds results of a tool whose results are folders, beside which lie files that are no logs:
    of those nothing is said.
    """
    if is_archive(file.path):
        refuse_copy(file.path, copied)
        return _read_each(file.path, asked, copied)
    content = cache(file.read)  # a member can be read only once
    try:
        text = text_of_file(file.path, content)
    except LogError:
        if is_beside:
            return []
        raise
    if is_beside and recognise(text) is None:
        return []
    _refuse_digest(hashlib.sha256(content()).hexdigest(), file.path, copied)
    rows = _complete_rows(file.path, _read_text(file.path, text, asked), asked)
    return [replace(row, files=(str(file.archive),)) for row in rows] if file.archive else rows


def recognise(text: str) -> str | None:
    """Return the name of the importer that reads a text, such as osu; None for no log."""
    importer = _importer_of(text)
    return importer.name if importer else None


def _importer_of(text: str) -> Importer | None:
    """Return the first importer that recognises a text and finds an all-reduce, else the first that recognises it."""
    candidates = [importer for importer in importers() if importer.recognises(text)]
    with_allreduce = (importer for importer in candidates if re.search(importer.allreduce, text))
    return next(with_allreduce, candidates[0] if candidates else None)


def other_text(text: str) -> str:
    """Return the kind of a text that no importer reads; empty: unknown."""
    head = text[:PEEKED]
    for described in load_offers("log_of_job"):
        if description := described(head):
            return description
    return next((name for pattern, name in OTHERS if re.search(pattern, head)), "")


def parts_of_logs(paths: Sequence[Path]) -> list[list[Path]]:
    """Group the paths that are parts of one log: the files of NCCL Inspector, one per process."""
    parts = [path for path in paths if is_of_inspector(path)]
    if len(parts) < 2:
        return [[path] for path in paths]
    return [parts if path == parts[0] else [path] for path in paths if path not in parts[1:]]


def refuse_copy(file: Path, seen: dict[str, Path]) -> None:
    """Raise LogError if a file holds the same bytes as one of `seen`, by digests; else add it there.

    Two copies of a log are one launch: taken for two, they would agree perfectly, and so would any interval.
    """
    if digest := digest_of(file):
        _refuse_digest(digest, file, seen)


def _refuse_digest(digest: str, file: Path, seen: dict[str, Path]) -> None:
    if digest in seen:
        first = seen[digest]
        if first.resolve() == file.resolve():
            raise LogError(f"{file}: named twice; name each log once")
        raise LogError(f"{file}: a copy of {first}, the same bytes, so no launch of its own")
    seen[digest] = file


def _refuse_options(path: Path, importer: Importer, asked: Asked) -> None:
    """Raise LogError for options of another tool."""
    said = {
        "--column names columns of a CSV": asked.columns and not importer.has_columns,
        "--in-place chooses a half of nccl-tests": asked.in_place and not importer.has_halves,
        "--communicator chooses one of NCCL Inspector": asked.communicator and not importer.has_communicators,
    }
    for what, is_other in said.items():
        if is_other:
            raise LogError(f"{path}: {what}, but this is a log of {importer.name}; leave it out")


def _expected() -> str:
    *titles, last = filter(None, (importer.title for importer in importers()))
    return f"expected a log of {', '.join(titles)} or {last}, or a CSV with a header"


def _refuse_own(path: Path, text: str) -> None:
    """Raise LogError for the output of `run --format`, which holds less than its run."""
    if OWN_BANNER.search(text) or tidy.is_summary(text):
        raise LogError(f"{path}: {OWN_RUN}")


def _refuse_several(path: Path, text: str) -> None:
    """Raise LogError for all-reduces of two tools in one file: a reader would take the other's rows for its own."""
    candidates = [importer for importer in importers() if importer.allreduce and importer.recognises(text)]
    matches = ((importer.name, re.search(importer.allreduce, text)) for importer in candidates)
    begins = sorted((match.start(), name) for name, match in matches if match)
    if len(begins) > 1:
        (_, first), (start, second) = begins[:2]
        number = text.count("\n", 0, start) + 1
        raise LogError(f"{path}, line {number}: an all-reduce of {second} below one of {first}; cut the file in two")


def _fill_in(rows: Sequence[Imported], asked: Asked) -> list[Imported]:
    """Fill in what the user states and the log does not. Raises LogError if the log states another value.

    Where options only fill gaps (`asked.fills`), a log may state another value.
    """
    given = {
        "ranks": asked.ranks,
        "nodes": asked.nodes,
        "dtype": dtype_of(asked.dtype or ""),
        "op": op_of(asked.op or ""),
    }
    completed = []
    for row in rows:
        more: dict[str, Any] = {}
        for name, value in given.items():
            in_log = getattr(row, name)
            if not asked.fills and value is not None and in_log not in (None, value):
                raise LogError(f"{row.place}: --{name} {value}, but the log states {in_log}; leave --{name} out")
            if value is not None and in_log is None:
                more[name] = value
        if "ranks" in more:
            more["facts"] = {**row.facts, "ranks_from": OF_OPTION}
        if asked.algorithm and row.competitor == NATIVE:
            more["competitor"] = printable(asked.algorithm)
        completed.append(replace(row, **more) if more else row)
    return completed


def _with_count(row: Imported) -> Imported:
    """Return the row with its number of elements; an element of unknown type counts as a byte. Raises LogError."""
    if row.ranks and row.nodes and row.nodes > row.ranks:
        raise LogError(f"{row.place}: {row.ranks} ranks on {row.nodes} nodes; a node has at least one rank")
    if row.count is not None:
        return row
    count, rest = divmod(row.size_bytes, itemsize_of(row.dtype))
    if rest:
        raise LogError(f"{row.place}: {row.size_bytes} bytes are not a whole number of {row.dtype} elements")
    return replace(row, count=count)


def _select_rows(path: Path, rows: Sequence[Imported], asked: Asked) -> list[Imported]:
    """Return the rows that --where selects, with counts. Raises LogError: a column that no row has, or no such row."""
    options = {name: f"--where {shell_word(f'{name}={value}')}" for name, value in asked.where.items()}
    columns = list(dict.fromkeys([*(name for row in rows for name in row.fields), *WHERE]))
    for name, option in options.items():
        if name not in columns:
            raise LogError(f"{path}: {option}: no column '{name}'; it has: {listed(columns, 40)}")
    chosen = [row for row in rows if all(_fits(row, name, value) for name, value in asked.where.items())]
    if not chosen:
        raise LogError(f"{path}: {' '.join(options.values())}: none of the {len(rows)} rows has it")
    for _, of_file in groupby((row for row in chosen if row.fields), attrgetter("file")):
        warn_of_ignored(list(of_file), asked)
    return list(map(_with_count, chosen))


def _fits(row: Imported, name: str, wanted: str) -> bool:
    value = row.fields.get(name)
    text = str(getattr(row, name, None)) if value is None else value
    return text == wanted or fnmatchcase(text, wanted)
