"""Tables of pairs of nodes from other tools: a CSV with a line per pair, and the pairs that failed.

The nodes are in two columns (NODE_COLUMNS), or a list of two in one (LIST_COLUMNS), such as `n[001,003]`. Whether a
value is a rate (higher is better) or a time (lower is better) follows from the column's name. Each such column is a
table of its own, and so is each combination of the columns TEST_COLUMNS. A line without a value is a pair that failed.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import log, nan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..importers.row import LogError
from ..runs.files import read_given
from ..runs.hosts import HOST, expand
from ..units import counted, printable
from .judgement import PairTable

LONGEST = 64 * 2**20  # bytes
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
NOTHING = ("", "nan", "n/a", "na", "none", "-", "failed")
FAILED_PAIR = re.compile(r"\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)|nodes=([^\s)]+)")


class PairTables(NamedTuple):
    """The contents of a file: a table for each test, and for each pair that failed in some test the reason."""

    tables: list[PairTable]
    tried: frozenset[frozenset[str]]
    failed: dict[frozenset[str], str]


class _TableLayout(NamedTuple):
    """The columns by their meaning, by number."""

    nodes: tuple[int, ...]  # two, or one with a list
    values: dict[int, bool]  # whether it is a rate
    tests: list[int]
    failure: int | None


def read_pair_tables(path: Path, value: str = "", kind: str = "") -> PairTables:
    """Read the tables of a file; `value` names its column of values, `kind` is rate, time, or empty.

    Raises LogError, which names the line; OSError.
    """
    head, lines = _read_lines(path)
    layout = _layout(head, path, value, kind)
    values = _values_of_lines(head, lines, layout, path)
    groups = dict([*values.groupby(["column", *layout.tests], sort=False)])
    names = _names_of_tests([*groups], head, layout.tests)
    failed = values[values["value"].isna()].groupby("link", sort=False)
    tried = frozenset(values["link"])
    return PairTables(
        [*_tables(groups, names, head, layout, path)],
        tried,
        {link: _reason(lines_of_link, names, layout.tests) for link, lines_of_link in failed},  # type: ignore[misc]
    )


def _read_lines(path: Path) -> tuple[list[str], pd.DataFrame]:
    """Return the names of the columns, and the fields, by the numbers of lines and columns. Raises LogError, OSError"""
    text = read_given(path, LONGEST).decode("utf-8-sig", errors="replace")
    try:
        lines = {number: line for number, line in enumerate(csv.reader(io.StringIO(text)), start=1) if any(line)}
    except csv.Error:
        raise LogError(f"{path}: no CSV; expected a header and a line per pair of nodes") from None
    if len(lines) < 2:
        raise LogError(
            f"{path}: expected a CSV with a header and a line per pair of nodes; found {counted(len(lines), 'line')}"
        )
    (_, head), *fields = lines.items()
    frame = pd.DataFrame([[field.strip() for field in line] for _, line in fields], [number for number, _ in fields])
    return [printable(name.strip()) for name in head], frame


def _values_of_lines(head: Sequence[str], lines: pd.DataFrame, layout: _TableLayout, path: Path) -> pd.DataFrame:
    """Return a row for each line and column of values, in the order of lines. Raises LogError.

    Columns: the fields by their numbers, `line` (its number), `source`, `dest`, `link` (both nodes), `why` it failed
    (may be empty), `column` and `value` (NaN: it failed).
    """
    lengths = lines.notna().sum(axis=1)
    for number, length in lengths[lengths != len(head)].items():
        raise LogError(f"{path}, line {number}: expected {len(head)} fields as in the header, found {length}")
    pairs = [_pair(names, f"{path}, line {number}") for number, *names in lines[[*layout.nodes]].itertuples()]
    why = "" if layout.failure is None else lines[layout.failure].map(printable)
    links = pd.Series([frozenset(pair) for pair in pairs], lines.index)
    lines = lines.assign(source=[source for source, _ in pairs], dest=[dest for _, dest in pairs], link=links, why=why)
    parts = []
    for column in layout.values:
        is_known = ~lines[column].str.lower().isin(NOTHING) & (lines["why"] == "")
        numbers = lines[column].where(is_known).map(_as_number)
        if not (wrong := lines[column][is_known & ~numbers.between(SMALLEST, LARGEST)]).empty:
            raise LogError(
                f"{path}, line {wrong.index[0]}: expected a number from {SMALLEST:g} to {LARGEST:g} in column "
                f"{head[column]}, found '{wrong.iloc[0][:40]}'"
            )
        parts.append(lines.assign(column=column, value=numbers))
    return pd.concat(parts).sort_index(kind="stable").rename_axis("line").reset_index()


def _as_number(word: str) -> float:
    """Return the number; NaN: it is none."""
    try:
        return float(word)
    except ValueError:
        return nan


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
    tests = [number for number, name in enumerate(lower) if name in TEST_COLUMNS and name != value.lower()]
    free = [number for number in range(len(head)) if number not in (*nodes, *tests)]
    chosen = [head.index(value)] if value else _columns_of_values(head, free, path)
    if kind and len(chosen) > 1:
        names = ", ".join(head[column] for column in chosen)
        raise LogError(f"{path}: --value-is {kind}: expected one column of values, found {names}; add --value COLUMN")
    failure = lower.index("failure") if "failure" in lower else None
    values = {column: _is_rate(head[column], kind, path) for column in chosen}
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


def _pair(words: Sequence[str], place: str) -> tuple[str, str]:
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


def _tables(
    groups: Mapping[tuple, pd.DataFrame],
    names: Mapping[tuple, str],
    head: Sequence[str],
    layout: _TableLayout,
    path: Path,
) -> Iterator[PairTable]:
    """Yield the table of each test that has values. Raises LogError."""
    nodes = sorted({name for group in groups.values() for name in (*group["source"], *group["dest"])})
    if (size := len(groups) * len(nodes) ** 2) > MOST_VALUES:
        raise LogError(
            f"{path}: {len(groups)} tests of {len(nodes)} nodes make {size} values; expected at most {MOST_VALUES}: "
            "cut the file in parts"
        )
    number = {name: place for place, name in enumerate(nodes)}
    for test, group in groups.items():
        is_rate = layout.values[test[0]]
        log_time = np.full((len(nodes), len(nodes)), np.nan)
        middles = group.groupby(["source", "dest"])["value"].median().dropna().reset_index()
        for source, dest, middle in middles.itertuples(index=False):
            log_time[number[source], number[dest]] = -log(middle) if is_rate else log(middle)
        if not np.isnan(log_time).all():
            yield PairTable(names[test], tuple(nodes), log_time, head[test[0]], is_rate)


def _names_of_tests(tests: Sequence[tuple], head: Sequence[str], columns: Sequence[int]) -> dict[tuple, str]:
    """Name each test by the words in `columns` that differ between tests.

    Then by its column of values, if there are several or nothing else differs.
    """
    of_values, *words = (len({*each}) > 1 for each in zip(*tests))
    names = {}
    for test in tests:
        parts = [_named(head[column], word) for column, word, varies in zip(columns, test[1:], words) if varies]
        names[test] = ", ".join([*parts, *([head[test[0]]] if of_values or not parts else [])])
    return names


def _reason(failed: pd.DataFrame, names: Mapping[tuple, str], columns: Sequence[int]) -> str:
    """Format `in alltoall_perf, G=4 (1 of 6 tests), line 140`; for a file of one test `no value, line 2`."""
    first = failed["why"].iloc[0]
    where = f"line {failed['line'].iloc[0]}" + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
    if len(names) == 1:
        return f"{first or 'no value'}, {where}"
    tests = dict.fromkeys(names[test] for test in failed[["column", *columns]].itertuples(index=False, name=None))
    why = f"{first}, " if first else ""
    return f"{why}in {'; '.join(tests)} ({len(tests)} of {len(names)} tests), {where}"


def _named(column: str, value: str) -> str:
    """Format `sendrecv_perf`, or `G=8`."""
    value = printable(value)
    return value if re.search(r"[A-Za-z]", value) else f"{column}={value}"
