"""Tables of pairs of nodes that others measured: a CSV with a line per pair, and the pairs that failed.

The nodes stand in two columns (NODE_COLUMNS), or as a list of two in one (LIST_COLUMNS), such as `n[001,003]`. What is
higher the better (a rate) or lower the better (a time) is told by the column's name. Each combination of the columns
TEST_COLUMNS is a table of its own. A line without a value is a pair that failed.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, log
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from ..evaluation.node_pairs import PairTable
from ..runs.careful_reading import read_given
from ..runs.nodelist import expand
from ..runs.start import HOST
from .row import LogError
from .values import printable

LONGEST = 64 * 2**20  # bytes
MOST_NODES = 4096
MOST_VALUES = 20_000_000  # tests times the square of the nodes: a matrix of each test is held
SMALLEST, LARGEST = 1e-18, 1e18  # of a value in any unit: exponentials of differences of logarithms stay finite
NODE_COLUMNS = (
    *(("source", "dest"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2")),
    *(("node_a", "node_b"), ("nodea", "nodeb"), ("host1", "host2"), ("host_1", "host_2"), ("a", "b")),
)
LIST_COLUMNS = ("nodes", "pair", "hosts", "nodelist")
TEST_COLUMNS = ("test", "collective", "op", "g", "gpus", "nbytes", "size", "bytes", "alone")
RATE = re.compile(r"bw|bandwidth|throughput|rate|[kmgt]i?b(it)?_?p?/?s|[kmgt]bps", re.IGNORECASE)
TIME = re.compile(r"time|latency|(^|_)lat(_|$)|(^|_)[mun]?s(ec)?$|usec|duration", re.IGNORECASE)
MEAN = re.compile(r"avg|average|mean|median", re.IGNORECASE)
NOTHING = ("", "nan", "n/a", "na", "none", "-", "failed")
FAILED_PAIR = re.compile(r"\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)|nodes=([^\s)]+)")
Pair = tuple[str, str]


class PairTables(NamedTuple):
    """What a file says: a table for each test, and for each pair that failed in some test why."""

    tables: list[PairTable]
    tried: frozenset[frozenset[str]]
    failed: dict[frozenset[str], str]


class _Layout(NamedTuple):
    """Which columns hold what, by number."""

    nodes: tuple[int, ...]  # two, or one with a list
    value: int
    is_rate: bool
    tests: tuple[int, ...]
    failure: int | None


class _Failure(NamedTuple):
    """A line of a pair that has no value, or a reason."""

    test: tuple[str, ...]
    line: int
    why: str  # as the file says it; empty: it has no value


def read_pair_tables(path: Path, value: str = "", kind: str = "") -> PairTables:
    """The tables of a file. `value` names its column of values, `kind` says what they are: rate, time, or not told.

    Raises LogError, which names the line; OSError.
    """
    text = read_given(path, LONGEST).decode("utf-8-sig", errors="replace")
    try:
        lines = [(number, line) for number, line in enumerate(csv.reader(io.StringIO(text)), start=1) if any(line)]
    except csv.Error as error:
        raise LogError(f"{path}: expected a CSV of pairs of nodes: {error}") from error
    if len(lines) < 2:
        raise LogError(f"{path}: expected a CSV with a header and a line per pair of nodes; found {len(lines)} lines")
    head = [printable(name.strip()) for name in lines[0][1]]
    layout = _layout(head, path, value, kind)
    values: dict[tuple[str, ...], dict[Pair, list[float]]] = {}
    tried, failures = set(), dict[frozenset[str], list[_Failure]]()
    for number, line in lines[1:]:
        place = f"{path}, line {number}"
        if len(line) != len(head):
            raise LogError(f"{place}: expected {len(head)} fields as in the header, found {len(line)}")
        pair = _pair([line[at] for at in layout.nodes], place)
        test = tuple(line[at].strip() for at in layout.tests)
        tried.add(frozenset(pair))
        of_test, found = values.setdefault(test, {}), line[layout.value].strip()
        why = printable(line[layout.failure].strip()) if layout.failure is not None else ""
        if why or found.lower() in NOTHING:
            failures.setdefault(frozenset(pair), []).append(_Failure(test, number, why))
        else:
            of_test.setdefault(pair, []).append(_number(found, head[layout.value], place))
    names = _names_of_tests(values, head, layout)
    failed = {pair: _reason(found, names) for pair, found in failures.items()}
    return PairTables(_tables(values, names, head, layout, tried, path), frozenset(tried), failed)


def read_failed_pairs(path: Path, known: Sequence[frozenset[str]] | frozenset[frozenset[str]]) -> dict:
    """The pairs that a list of failures names, as `(n1, n2)` or `nodes=n[1,2]`, each with the line that names it.

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


def _layout(head: Sequence[str], path: Path, value: str, kind: str) -> _Layout:
    lower = [name.lower() for name in head]
    two = next(((lower.index(a), lower.index(b)) for a, b in NODE_COLUMNS if {a, b} <= {*lower}), None)
    one = next(((lower.index(name),) for name in LIST_COLUMNS if name in lower), None)
    nodes = two or one
    if nodes is None:
        raise LogError(
            f"{path}, line 1: expected two columns of nodes such as source and dest, or one such as nodes; "
            f"found {', '.join(head)[:80]}"
        )
    if value and value not in head:
        raise LogError(f"{path}: --value {value}: no such column; it has: {', '.join(head)[:80]}")
    tests = tuple(number for number, name in enumerate(lower) if name in TEST_COLUMNS and name != value.lower())
    free = [number for number in range(len(head)) if number not in (*nodes, *tests)]
    chosen = head.index(value) if value else _column_of_values(head, free, path)
    is_rate = kind == "rate" if kind else bool(RATE.search(head[chosen]))
    if not kind and is_rate == bool(TIME.search(head[chosen])) and not is_rate:
        raise LogError(f"{path}: column '{head[chosen]}' may be a rate or a time; say which with --value-is")
    failure = lower.index("failure") if "failure" in lower else None
    return _Layout(nodes, chosen, is_rate, tests, failure)


def _column_of_values(head: Sequence[str], free: Sequence[int], path: Path) -> int:
    """The column that is a rate or a time by its name; of several the first mean."""
    named = [number for number in free if RATE.search(head[number]) or TIME.search(head[number])]
    if not named:
        raise LogError(f"{path}, line 1: no column of rates or times; name it with --value and --value-is")
    return next((number for number in named if MEAN.search(head[number])), named[0])


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
    values: Mapping[tuple[str, ...], Mapping[Pair, Sequence[float]]],
    names: Mapping[tuple[str, ...], str],
    head: Sequence[str],
    layout: _Layout,
    tried: set[frozenset[str]],
    path: Path,
) -> list[PairTable]:
    nodes = sorted({name for pair in tried for name in pair})
    if len(nodes) > MOST_NODES:
        raise LogError(f"{path}: {len(nodes)} nodes; expected at most {MOST_NODES}: cut the file in parts")
    if (size := len(values) * len(nodes) ** 2) > MOST_VALUES:
        raise LogError(
            f"{path}: {len(values)} tests of {len(nodes)} nodes make {size} values; "
            f"expected at most {MOST_VALUES}: cut the file in parts"
        )
    number = {name: place for place, name in enumerate(nodes)}
    tables = []
    for test, of_test in values.items():
        log_time = np.full((len(nodes), len(nodes)), np.nan)
        for (source, dest), found in of_test.items():
            time = log(median(found))
            log_time[number[source], number[dest]] = -time if layout.is_rate else time
        tables.append(PairTable(names[test], tuple(nodes), log_time, head[layout.value], layout.is_rate))
    return [table for table in tables if not np.isnan(table.log_time).all()]


def _names_of_tests(
    tests: Iterable[tuple[str, ...]], head: Sequence[str], layout: _Layout
) -> dict[tuple[str, ...], str]:
    """What each test is called: the words that differ between tests, or the column of values where nothing does."""
    found = [*tests]
    varying = [at for at in range(len(layout.tests)) if len({test[at] for test in found}) > 1]
    words = {test: [_named(head[layout.tests[at]], test[at]) for at in varying] for test in found}
    return {test: ", ".join(words[test]) or head[layout.value] for test in found}


def _reason(failures: Sequence[_Failure], names: Mapping[tuple[str, ...], str]) -> str:
    """`in alltoall_perf, G=4 (1 of 6 tests), line 140`, of a file of one test `no value, line 2`."""
    first, tests = failures[0], list(dict.fromkeys(names[failure.test] for failure in failures))
    where = f"line {first.line}" + (f" and {len(failures) - 1} more" if len(failures) > 1 else "")
    if len(names) == 1:
        return f"{first.why or 'no value'}, {where}"
    why = f"{first.why}, " if first.why else ""
    return f"{why}in {'; '.join(tests)} ({len(tests)} of {len(names)} tests), {where}"


def _named(column: str, value: str) -> str:
    """`sendrecv_perf`, or `G=8`."""
    value = printable(value)
    return value if re.search(r"[A-Za-z]", value) else f"{column}={value}"
