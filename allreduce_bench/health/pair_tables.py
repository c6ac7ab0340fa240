"""Tables of pairs of nodes from other tools: a CSV with a line per pair, and the pairs that failed.

The nodes are in two columns (NODE_COLUMNS), or a list of two in one (LIST_COLUMNS), such as `n[001,003]`. Whether a
value is a rate (higher is better) or a time (lower is better) follows from the column's name. Each such column is a
table of its own, and so is each combination of the columns TEST_COLUMNS, and of settings: other columns of few values
between which times differ. A line without a value is a pair that failed.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import exp, isfinite, log
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from ..importers.row import LogError
from ..runs.files import read_given
from ..runs.start import HOST, compress, expand
from ..units import counted, printable
from .judgement import PairTable, SettingColumn, tables_of_rows
from .pair_folder import PairFolder, PairRow, failed_pairs
from .polish import robust_sd

LONGEST = 64 * 2**20  # bytes
MOST_NODES = 4096
MOST_VALUES = 20_000_000  # tests times the square of the nodes: a matrix of each test is held in memory
SMALLEST, LARGEST = 1e-18, 1e18  # of a value in any unit: exponentials of differences of logarithms stay finite
NODE_COLUMNS = (
    *(("source", "dest"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2")),
    *(("node_a", "node_b"), ("nodea", "nodeb"), ("host1", "host2"), ("host_1", "host_2"), ("a", "b")),
)
LIST_COLUMNS = ("nodes", "pair", "hosts", "nodelist")
TEST_COLUMNS = ("test", "collective", "op", "g", "gpus", "size_bytes", "nbytes", "size", "bytes", "alone")
RATE = re.compile(r"bw|bandwidth|throughput|rate|[kmgt]i?b(it)?_?p?/?s|[kmgt]bps", re.IGNORECASE)
TIME = re.compile(r"time|latency|(^|_)lat(_|$)|(^|_)[mun]?s(ec)?$|usec|seconds?$|duration", re.IGNORECASE)
MEAN = re.compile(r"avg|average|mean|median", re.IGNORECASE)
STATISTIC = re.compile(MEAN.pattern + r"|min(imum)?|max(imum)?|peak|best|worst|p\d\d+|[^a-z]", re.IGNORECASE)
SPREAD = re.compile(r"std|dev(iation)?|variance|error|(^|_)(cv|sd|var)(_|$)", re.IGNORECASE)
UNIT = re.compile(
    r"[kmgt]i?b(it)?_?p?/?s|bps|(^|[^a-z])([munµ]?s(ec)?|(milli|micro|nano)?seconds?)([^a-z]|$)|bytes_per_s|b/s",
    re.IGNORECASE,
)
MOST_SETTINGS = 8  # values of a column that divides the lines
NO_SETTING = re.compile(  # counters of repetitions, and outcomes
    r"rep|iter|round|trial|run|index|attempt|err|fail|retr|drop|crc|status|state|result|count|warn|loss|lost|ok|time|date",
    re.IGNORECASE,
)
LEAST_STEP, CLEARLY = log(1.1), 4.0  # between the medians of two settings, and in its standard errors
NOTHING = ("", "nan", "n/a", "na", "none", "-", "failed")
FAILED_PAIR = re.compile(r"\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)|nodes=([^\s)]+)")
Pair = tuple[str, str]
Test = tuple["_Value", tuple[str, ...]]  # with the words of its columns


class PairTables(NamedTuple):
    """The contents of a file: a table for each test, and for each pair that failed in some test the reason."""

    tables: list[PairTable]
    tried: frozenset[frozenset[str]]
    failed: dict[frozenset[str], str]
    settings: tuple[SettingColumn, ...] = ()  # that divide the lines into tables
    without_unit: tuple[str, ...] = ()  # columns of values whose names lack a unit
    not_judged: tuple[str, ...] = ()  # columns of numbers that are neither values nor settings


class _Value(NamedTuple):
    """A column of values."""

    column: int
    is_rate: bool


class _TableLayout(NamedTuple):
    """The columns by their meaning, by number."""

    nodes: tuple[int, ...]  # two, or one with a list
    values: tuple[_Value, ...]
    tests: tuple[int, ...]
    failure: int | None


class _TableLine(NamedTuple):
    """A line of a file, its fields stripped."""

    number: int
    pair: Pair
    fields: list[str]


class _Failure(NamedTuple):
    """A line of a pair that has no value, or a reason."""

    test: Test
    line: int
    why: str  # as in the file; empty: no value


def read_pair_tables(path: Path, value: str = "", kind: str = "") -> PairTables:
    """Read the tables of a file; `value` names its column of values, `kind` is rate, time, or empty.

    Raises LogError, which names the line; OSError.
    """
    text = read_given(path, LONGEST).decode("utf-8-sig", errors="replace")
    try:
        lines = [(number, line) for number, line in enumerate(csv.reader(io.StringIO(text)), start=1) if any(line)]
    except csv.Error as error:
        raise LogError(f"{path}: expected a CSV of pairs of nodes: {error}") from error
    if len(lines) < 2:
        raise LogError(
            f"{path}: expected a CSV with a header and a line per pair of nodes; found {counted(len(lines), 'line')}"
        )
    head = [printable(name.strip()) for name in lines[0][1]]
    layout = _layout(head, path, value, kind)
    read = [_line(number, fields, head, layout, path) for number, fields in lines[1:]]
    settings, columns = _settings(read, head, layout, path)
    layout = layout._replace(tests=(*layout.tests, *columns))
    values: dict[Test, dict[Pair, list[float]]] = {}
    failures = dict[frozenset[str], list[_Failure]]()
    for line in read:
        why = printable(line.fields[layout.failure]) if layout.failure is not None else ""
        for of_column in layout.values:
            test = _test(line, of_column, layout)
            of_test, found = values.setdefault(test, {}), line.fields[of_column.column]
            if why or found.lower() in NOTHING:
                failures.setdefault(frozenset(line.pair), []).append(_Failure(test, line.number, why))
            else:
                place = f"{path}, line {line.number}"
                of_test.setdefault(line.pair, []).append(_number(found, head[of_column.column], place))
    names = _names_of_tests(values, head, layout)
    failed = {pair: _reason(found, names) for pair, found in failures.items()}
    tried = {frozenset(line.pair) for line in read}
    return PairTables(
        _tables(values, names, head, layout, tried, path),
        frozenset(tried),
        failed,
        tuple(settings),
        tuple(head[of.column] for of in layout.values if not UNIT.search(head[of.column])),
        () if value else tuple(head[column] for column in _numbers_beside(read, head, layout)),
    )


def _line(number: int, fields: Sequence[str], head: Sequence[str], layout: _TableLayout, path: Path) -> _TableLine:
    place = f"{path}, line {number}"
    if len(fields) != len(head):
        raise LogError(f"{place}: expected {len(head)} fields as in the header, found {len(fields)}")
    return _TableLine(number, _pair([fields[at] for at in layout.nodes], place), [field.strip() for field in fields])


def _test(line: _TableLine, value: _Value, layout: _TableLayout) -> Test:
    return value, tuple(line.fields[at] for at in layout.tests)


def _settings(
    lines: Sequence[_TableLine], head: Sequence[str], layout: _TableLayout, path: Path
) -> tuple[list[SettingColumn], list[int]]:
    """Return the columns of few values between which times differ, as settings, and their numbers."""
    taken = {*layout.nodes, *layout.tests, layout.failure, *(value.column for value in layout.values)}
    logs = _logs_over_tests(lines, head, layout, path)
    found, columns = [], []
    for column in range(len(head)):
        if column in taken or NO_SETTING.search(head[column]) or _is_value(head[column]) or SPREAD.search(head[column]):
            continue
        words = np.array([line.fields[column] for line in lines])
        different = np.unique(words)
        if 2 <= len(different) <= MOST_SETTINGS and (step := _largest_step(words, different, logs)):
            fast, slow, ratio = step
            pairs = [line.pair for line, word in zip(lines, words) if word == slow]
            common = set(pairs[0]).intersection(*pairs)
            found.append(SettingColumn(head[column], printable(slow), printable(fast), ratio, tuple(sorted(common))))
            columns.append(column)
    return found, columns


def _logs_over_tests(lines: Sequence[_TableLine], head: Sequence[str], layout: _TableLayout, path: Path) -> np.ndarray:
    """Return logarithms of times over the median of their test, float64 [line, column of values]; NaN: failed."""
    logs = np.full((len(lines), len(layout.values)), np.nan)
    rows_of: dict[tuple[str, ...], list[int]] = {}
    for row, line in enumerate(lines):
        rows_of.setdefault(tuple(line.fields[at] for at in layout.tests), []).append(row)
        for place, value in enumerate(layout.values):
            found = line.fields[value.column]
            if found.lower() not in NOTHING:
                time = log(_number(found, head[value.column], f"{path}, line {line.number}"))
                logs[row, place] = -time if value.is_rate else time
    for rows in rows_of.values():
        for place in range(len(layout.values)):
            of_test = logs[rows, place]
            if not np.isnan(of_test).all():
                logs[rows, place] -= np.nanmedian(of_test)
    return logs


def _largest_step(words: np.ndarray, different: np.ndarray, logs: np.ndarray) -> tuple[str, str, float] | None:
    """Return the fastest and slowest setting that differ clearly in some column of values, and their ratio, or None."""
    steps = []
    for of_column in logs.T:
        parts = {word: of_column[(words == word) & ~np.isnan(of_column)] for word in different.tolist()}
        for one, other in combinations([word for word, part in parts.items() if len(part) >= 2], 2):
            fast, slow = sorted((one, other), key=lambda word: float(np.median(parts[word])))
            step = float(np.median(parts[slow]) - np.median(parts[fast]))
            error = 1.2533 * sum(robust_sd(parts[word]) ** 2 / len(parts[word]) for word in (fast, slow)) ** 0.5
            if step >= LEAST_STEP and step > CLEARLY * error:
                steps.append((step, fast, slow))
    if not steps:
        return None
    step, fast, slow = max(steps)
    return fast, slow, exp(step)


def _numbers_beside(lines: Sequence[_TableLine], head: Sequence[str], layout: _TableLayout) -> list[int]:
    """Return columns of many different numbers whose names suggest neither a rate, a time, nor a statistic of one."""
    taken = {*layout.nodes, *layout.tests, layout.failure}
    return [
        column
        for column, name in enumerate(head)
        if column not in taken
        and not (_is_value(name) or SPREAD.search(name) or NO_SETTING.search(name))
        and len(words := {line.fields[column] for line in lines}) > MOST_SETTINGS
        and all(map(_is_number, words))
    ]


def _is_number(word: str) -> bool:
    try:
        return isfinite(float(word))
    except ValueError:
        return False


def read_failed_pairs(path: Path, known: Sequence[frozenset[str]] | frozenset[frozenset[str]]) -> dict:
    """Read a list of failed pairs, as `(n1, n2)` or `nodes=n[1,2]`, each with the line that names it.

    `known`: the pairs of the table. Raises LogError for a list without pairs, or of other nodes; OSError.
    """
    names, failed = {name for pair in known for name in pair}, dict[frozenset[str], str]()
    for number, line in enumerate(read_given(path, LONGEST).decode(errors="replace").splitlines(), start=1):
        for match in FAILED_PAIR.finditer(line):
            words = [match[1], match[2]] if match[1] else [match[3]]
            if match[1] and not set(words) <= names and not names & set(words):
                continue  # some other pair of words
            pair = frozenset(_pair(words, f"{path}, line {number}"))
            if not pair <= names:
                raise LogError(f"{path}, line {number}: node '{min(pair - names)}' is not in the table")
            failed.setdefault(pair, f"{printable(path.name)}, line {number}")
    if not failed:
        raise LogError(f"{path}: expected lines with pairs such as (n1, n2) or nodes=n[1,2]; found none of the table")
    return failed


def _layout(head: Sequence[str], path: Path, value: str, kind: str) -> _TableLayout:
    lower = [name.lower() for name in head]
    two = next(((lower.index(a), lower.index(b)) for a, b in NODE_COLUMNS if {a, b} <= {*lower}), None)
    one = next(((lower.index(name),) for name in LIST_COLUMNS if name in lower), None)
    nodes = two or one
    if nodes is None:
        raise LogError(
            f"{path}, line 1: expected two columns of nodes such as source and dest, or one such as nodes; found "
            f"{', '.join(head)[:80]}"
        )
    if value and value not in head:
        raise LogError(f"{path}: --value {value}: no such column; it has: {', '.join(head)[:80]}")
    tests = tuple(number for number, name in enumerate(lower) if name in TEST_COLUMNS and name != value.lower())
    free = [number for number in range(len(head)) if number not in (*nodes, *tests)]
    chosen = [head.index(value)] if value else _columns_of_values(head, free, path)
    if kind and len(chosen) > 1:
        names = ", ".join(head[column] for column in chosen)
        raise LogError(f"{path}: --value-is {kind}: expected one column of values, found {names}; add --value COLUMN")
    failure = lower.index("failure") if "failure" in lower else None
    values = tuple(_Value(column, _is_rate(head[column], kind, path)) for column in chosen)
    return _TableLayout(nodes, values, tests, failure)


def _is_rate(name: str, kind: str, path: Path) -> bool:
    if not kind and not _is_value(name):
        raise LogError(f"{path}: column '{name}' may be a rate or a time; say which with --value-is")
    return kind == "rate" if kind else bool(RATE.search(name))


def _is_value(name: str) -> bool:
    return bool(RATE.search(name) or TIME.search(name))


def _columns_of_values(head: Sequence[str], free: Sequence[int], path: Path) -> list[int]:
    """Return the columns that are rates or times by their names; of several statistics of one thing the first mean."""
    named = [number for number in free if _is_value(head[number]) and not SPREAD.search(head[number])]
    if not named:
        raise LogError(f"{path}, line 1: no column of rates or times; name it with --value and --value-is")
    of_thing: dict[str, list[int]] = {}
    for number in named:
        of_thing.setdefault(STATISTIC.sub("", head[number].lower()), []).append(number)
    return [next((number for number in of if MEAN.search(head[number])), of[0]) for of in of_thing.values()]


def _pair(words: Sequence[str], place: str) -> Pair:
    names = [word.strip() for word in words]
    if len(names) == 1:
        try:
            names = expand(names[0])
        except ValueError as error:
            raise LogError(f"{place}: {error}") from error
    if len(names) != 2 or names[0] == names[1]:
        raise LogError(f"{place}: expected two different nodes, found {' and '.join(names[:3]) or 'none'}")
    for name in names:
        if not (match := HOST.fullmatch(name)) or match[2]:
            raise LogError(f"{place}: '{name[:40]}' is not the name of a node")
    return names[0], names[1]


def _number(word: str, column: str, place: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0):
        raise LogError(f"{place}: expected a number above 0 in column {column}, found '{word[:40]}'")
    if not SMALLEST <= number <= LARGEST:
        expected = f"expected a number from {SMALLEST:g} to {LARGEST:g}"
        raise LogError(f"{place}: {expected} in column {column}, found '{word[:40]}'; correct or remove the line")
    return number


def _tables(
    values: Mapping[Test, Mapping[Pair, Sequence[float]]],
    names: Mapping[Test, str],
    head: Sequence[str],
    layout: _TableLayout,
    tried: set[frozenset[str]],
    path: Path,
) -> list[PairTable]:
    nodes = sorted({name for pair in tried for name in pair})
    if len(nodes) > MOST_NODES:
        raise LogError(f"{path}: {len(nodes)} nodes; expected at most {MOST_NODES}: cut the file in parts")
    if (size := len(values) * len(nodes) ** 2) > MOST_VALUES:
        raise LogError(
            f"{path}: {len(values)} tests of {len(nodes)} nodes make {size} values; expected at most {MOST_VALUES}: "
            "cut the file in parts"
        )
    number = {name: place for place, name in enumerate(nodes)}
    tables = []
    for (value, words), of_test in values.items():
        log_time = np.full((len(nodes), len(nodes)), np.nan)
        for (source, dest), found in of_test.items():
            time = log(median(found))
            log_time[number[source], number[dest]] = -time if value.is_rate else time
        tables.append(PairTable(names[value, words], tuple(nodes), log_time, head[value.column], value.is_rate))
    return [table for table in tables if not np.isnan(table.log_time).all()]


def _names_of_tests(tests: Iterable[Test], head: Sequence[str], layout: _TableLayout) -> dict[Test, str]:
    """Name each test: the words that differ between tests, then its column of values if there are several.

    If nothing differs, the column.
    """
    found = [*tests]
    varying = [at for at in range(len(layout.tests)) if len({words[at] for _, words in found}) > 1]
    names = {}
    for value, words in found:
        parts = [_named(head[layout.tests[at]], words[at]) for at in varying]
        is_one = len(layout.values) == 1 and parts
        names[value, words] = ", ".join([*parts, *([] if is_one else [head[value.column]])])
    return names


def _reason(failures: Sequence[_Failure], names: Mapping[Test, str]) -> str:
    """Format `in alltoall_perf, G=4 (1 of 6 tests), line 140`; for a file of one test `no value, line 2`."""
    first, tests = failures[0], list(dict.fromkeys(names[failure.test] for failure in failures))
    where = f"line {first.line}" + (f" and {len(failures) - 1} more" if len(failures) > 1 else "")
    if len(names) == 1:
        return f"{first.why or 'no value'}, {where}"
    why = f"{first.why}, " if first.why else ""
    return f"{why}in {'; '.join(tests)} ({len(tests)} of {len(names)} tests), {where}"


def _named(column: str, value: str) -> str:
    """Format `sendrecv_perf`, or `G=8`."""
    value = printable(value)
    return value if re.search(r"[A-Za-z]", value) else f"{column}={value}"


class PairTimes(NamedTuple):
    """What a message between two nodes took, by direction; NaN: not measured."""

    nodes: tuple[str, ...]
    latency_s: np.ndarray  # float64 [source, dest]; 0: only rates are known
    time_per_byte: np.ndarray  # float64 [source, dest]; 0: only latencies are known
    failed: frozenset[frozenset[str]]
    in_seconds: bool  # False: in a unit of the table, so that times can only be compared
    of: str  # the folder or file, and its column


def read_pair_times(path: Path, value: str = "", kind: str = "") -> PairTimes:
    """Return the times of a check's folder, of its pairs.csv, or of one column of another tool's table.

    `value` and `kind` are as of `read_pair_tables`; without them the column with the most pairs, rates first. Raises
    LogError, RunError, OSError.
    """
    in_check = path.is_dir() or _begins_as_of_a_check(path)
    if not in_check:
        return _times_of_table(path, value, kind)
    if value or kind:
        raise LogError(f"{path}: is the folder of a check; leave --failed, --value and --value-is out")
    folder = PairFolder(path if path.is_dir() else path.parent)
    folder.pairs_csv = folder.pairs_csv if path.is_dir() else path
    rows = folder.rows()
    sizes = sorted({row.size_bytes for row in rows if row.size_bytes is not None})
    if len(sizes) != 2:
        raise LogError(f"{path}: holds no check; expected the folder of a check, or a CSV of pairs")
    named = {name for row in rows for name in (row.source, row.dest)}
    asked = folder.read_settings().nodes if folder.asked_json.exists() else expand(compress(named))
    nodes = [name for name in asked if name in named]
    latency, bandwidth = tables_of_rows(nodes, rows, (sizes[0], sizes[1]))
    latency_s, large_s = np.exp(latency.either_way), np.exp(bandwidth.either_way)
    time_per_byte = np.maximum(large_s - latency_s, SMALLEST) / sizes[1]
    timed = {frozenset((row.source, row.dest)) for row in rows if row.size_bytes == sizes[1] and row.time_s is not None}
    failed = frozenset(failed_pairs(rows).keys() - timed)
    return PairTimes(tuple(nodes), latency_s, time_per_byte, failed, True, str(path))


def _begins_as_of_a_check(path: Path) -> bool:
    """Return whether a file has the columns of a check's pairs.csv."""
    return read_given(path, LONGEST).splitlines()[:1] == [",".join(PairRow._fields).encode()]


def _times_of_table(path: Path, value: str, kind: str) -> PairTimes:
    found = read_pair_tables(path, value, kind)
    if not found.tables:
        raise LogError(f"{path}, line 1: no column of rates or times; name it with --value and --value-is")
    table = max(found.tables, key=lambda each: (each.is_rate, np.count_nonzero(~np.isnan(each.log_time))))
    times, nothing = np.exp(table.either_way), np.zeros_like(table.log_time)
    of = f"{path}, {table.name}"
    if table.is_rate:
        return PairTimes(table.nodes, nothing, times, frozenset(found.failed), False, of)
    return PairTimes(table.nodes, times, nothing, frozenset(found.failed), False, of)
