"""Systems told apart by the folders of logs: for a table that holds the path of each log, but no system.

What differs in the names of folders beyond numbers is another system, down to the folder that holds the number of
ranks or nodes (`size32`). Below it (`results/final`) folders are of one system unless they meet at a number of ranks:
why else would launches with equal ranks lie apart? Words that number launches (`run`, `first`) tell nothing, nor do
those that a series has anyway (its algorithm, type or operation), nor a folder with a single log, which may be named
after a job.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..units import printable
from .lines import listed
from .row import Imported, LogNote, LogWarning

PATHS = ("source_path", "file", "path", "file_path", "filename", "log", "log_file", "logfile", "source_file")  # of logs
FEWEST_OF_COPY = 3  # rows of a log; fewer may be equal by chance
SEPARATORS = re.compile(r"[/\\]+")
OF_LAUNCHES = re.compile(
    r"runs?|iter(ation)?|rep(eat|etition)?|round|trial|try|attempt|launch|sample|job|test|part|first|second|third|last"
    r"|final|old|new|retry|again|copy|backup|results?|outputs?|logs?"
)
MOSTLY = 0.9  # of the logs below folders of one name: those whose number of ranks or nodes it holds


class LogFacts(NamedTuple):
    """What the rows of a log say."""

    ranks: frozenset[int]
    nodes: frozenset[int]
    series: frozenset[str] = frozenset()  # values that divide its series anyway: algorithms, types, operations


@dataclass
class _Group:
    """Logs below folders of equal names."""

    names: tuple[str, ...]  # of folders, without numbers
    stem: int  # how many of these go down to the folder with the number of ranks or nodes; 0: none has one
    logs: list[str] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)

    def takes(self, other: "_Group") -> bool:
        """Return whether another group is of the same system: below the same folders, where it is a log or meets none.

        A log without a number of ranks in its path may lie in a folder of its own anywhere.
        """
        is_alone = len(other.logs) == 1
        if not other.stem:
            return is_alone
        is_beside = self.names[: self.stem] == other.names[: other.stem]
        return is_beside and (is_alone or not self.ranks & other.ranks)

    def shared(self, other: "_Group") -> int:
        """Return how many folders lead to both."""
        return _shared(self.names, other.names)


def folders_of(path: str) -> list[str]:
    """Return the names of the folders of a log."""
    return [name for name in SEPARATORS.split(path) if name][:-1]


def systems_of(logs: Mapping[str, LogFacts]) -> dict[str, str]:
    """Return the system of each log, by its path; empty: all may be of one system."""
    groups: list[_Group] = []
    for group in sorted(_groups(logs), key=lambda one: (-len(one.ranks), -len(one.logs), one.names)):
        into = max((one for one in groups if one.takes(group)), key=group.shared, default=None)
        if into is None:
            groups.append(group)
        else:
            into.logs += group.logs
            into.ranks |= group.ranks
    if len(groups) < 2 or max(len(group.ranks) for group in groups) < 2:  # the words may name numbers of ranks
        return {}
    labels = _labels([group.names for group in groups])
    return {path: label for group, label in zip(groups, labels) for path in group.logs}


def _groups(logs: Mapping[str, LogFacts]) -> list[_Group]:
    found: dict[tuple[str, ...], _Group] = {}
    at_count = _folders_with_counts(logs)
    for path, facts in logs.items():
        words = _words_of(path, facts)
        place = next((place for place, word in enumerate(words) if (place, word) in at_count), None)
        stem = 0 if place is None else sum(bool(word) for word in words[: place + 1])
        names = tuple(filter(None, words))
        group = found.setdefault(names, _Group(names, stem))
        group.logs.append(path)
        group.ranks |= facts.ranks
    return list(found.values())


def _folders_with_counts(logs: Mapping[str, LogFacts]) -> set[tuple[int, str]]:
    """Return place and words of the folders whose names hold the number of ranks or nodes of the logs below them."""
    holds: dict[tuple[int, str], list[bool]] = defaultdict(list)
    numbers: dict[tuple[int, str], set[int]] = defaultdict(set)
    for path, facts in logs.items():
        for folder, place in zip(folders_of(path), enumerate(_words_of(path, facts))):
            held = set(map(int, re.findall(r"\d+", folder))) & (facts.ranks | facts.nodes)
            holds[place].append(bool(held))
            numbers[place] |= held
    return {key for key, each in holds.items() if sum(each) >= MOSTLY * len(each) and len(numbers[key]) > 1}


def _words_of(path: str, facts: LogFacts) -> list[str]:
    """Return the words of each folder, without numbers and what tells no system: `size` of `size32`, no `run-a`."""
    told = {word for value in facts.series for word in _words(value)}
    return ["-".join(word for word in _words(folder) if word not in told) for folder in folders_of(path)]


def _words(name: str) -> list[str]:
    """Return the words of a name, without those that number launches."""
    tokens = [token for token in re.split(r"[\W_]+", name.lower()) if len(token) > 1]
    words = [re.sub(r"\d", "", token) for token in tokens]
    return [word for word in words if word and not OF_LAUNCHES.fullmatch(word)]


def _labels(names: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the folders that tell each apart: without those that lead to all, and as few as are not another's."""
    lead = min(_shared(names[0], other) for other in names)
    labels = []
    for own in names:
        others = [other for other in names if other is not own]
        number = max(_shared(own, other) for other in others) + 1
        labels.append("/".join(own[lead:number]) or "/".join(own) or "other")
    return labels


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many names both begin with."""
    place = 0
    for own, others in zip(one, other):
        if own != others:
            break
        place += 1
    return place


def add_systems(rows: Sequence[Imported]) -> list[Imported]:
    """Return the rows of a CSV with their systems, if a column holds the paths of their logs.

    Warns of systems, and of copies of logs that lie in two folders, which are left out.
    """
    column = _column_of_paths(rows)
    if column is None:
        return list(rows)
    rows_of: dict[str, list[Imported]] = defaultdict(list)
    for row in rows:
        rows_of[row.fields[column]].append(row)
    copied = _find_copies(rows_of, column)
    if copied:
        path, first = min(copied.items())
        sentence = (
            f"{rows[0].file}: {len(copied)} logs are copies, of the same name with the same rows, so no launches of "
            f"their own (first: {printable(path)} of {printable(first)}); left out"
        )
        warnings.warn(sentence, LogWarning, stacklevel=3)
    systems = systems_of({path: _log_facts(of_log) for path, of_log in rows_of.items() if path not in copied})
    if systems:
        names = sorted(set(systems.values()))
        words = (
            f"{rows[0].file}: {len(names)} systems, told apart by the folders in column '{column}': "
            f"{listed(names, 8)}; select with --where system=NAME, or take them as one with --column launch={column}"
        )
        warnings.warn(LogNote(words), stacklevel=3)
    kept = [row for row in rows if row.fields[column] not in copied]
    return [replace(row, system=systems[row.fields[column]]) for row in kept] if systems else kept


def _column_of_paths(rows: Sequence[Imported]) -> str | None:
    """Return the column that holds the paths of the logs, with their folders; None: there is none."""
    named = {name.lower(): name for name in reversed(list(rows[0].fields))}
    columns = (named[name] for name in PATHS if name in named)
    return next((column for column in columns if all(folders_of(row.fields[column]) for row in rows)), None)


def _log_facts(rows: Sequence[Imported]) -> LogFacts:
    series = {value for row in rows for value in (row.competitor, row.dtype, row.op) if value}
    return LogFacts(
        frozenset(row.ranks for row in rows if row.ranks),
        frozenset(row.nodes for row in rows if row.nodes),
        frozenset(series),
    )


def _find_copies(rows_of: Mapping[str, Sequence[Imported]], column: str) -> dict[str, str]:
    """Return the logs that have name and rows of another one, and that: the one with the shortest path."""
    first_of: dict[tuple, str] = {}
    copied = {}
    for path in sorted(rows_of, key=lambda path: (len(path), path)):
        rows = [[value for name, value in row.fields.items() if name != column] for row in rows_of[path]]
        if len(rows) < FEWEST_OF_COPY:
            continue
        first = first_of.setdefault((SEPARATORS.split(path)[-1], *map(tuple, rows)), path)
        if first != path:
            copied[path] = first
    return copied
