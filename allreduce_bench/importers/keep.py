"""Run folders of rows of logs, written by the same recorder as measured runs."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..evaluation.summary_row import SummaryRow
from ..runs.folder import RunFolder
from ..runs.identified import Identified, Ran, keep_identified
from ..runs.plan import MOST_LAUNCHES, ImportedPlan, Launch
from ..runs.recorder import Recorder, create_run, is_taken
from ..runs.rows import RunError
from ..runs.schema import QUANTILES, QUANTILES_OF_LOGS, UNKNOWN_PLACEMENT, join_values
from ..units import few, in_ranks, shell_word
from .lines import digest_of, listed
from .row import Imported, LogError, LogUnread, named_by_cache
from .tools import importers

SAME = ("tool", "system", "dtype", "op", "in_place")  # columns with one value per folder


def keep(
    rows: Sequence[Imported],
    folder: RunFolder,
    command: Sequence[str],
    said: dict[str, Any],
    unread: Sequence[LogUnread] = (),
) -> list[SummaryRow]:
    """Make a run of the rows of one or more logs, and summarise it. It appears whole, under its name, or not at all.

    `said` (what options filled in) and `unread` (files of folders) are recorded. Raises LogError before anything is
    written: no ranks, or more than one system, type, operation, or layout for one number of ranks; RunError if the
    folder exists.
    """
    from ..evaluation.summary import record_summary  # late: it loads pandas

    rows = named_by_cache(rows)
    if without := next((row for row in rows if row.ranks is None), None):
        raise LogError(f"{without.place}: the number of ranks is not in the log; add --ranks N")
    for name in SAME:
        _refuse_several(rows, name)
    _refuse_several_of_ranks(rows, "nodes")
    launches = _launches(rows)
    if (most := max(launch.number for launch in launches)) > MOST_LAUNCHES:
        raise LogError(f"{rows[0].file}: {most:,} launches of one number of ranks, a run has at most {MOST_LAUNCHES:,}")
    facts = {**_imported_facts(rows, said, unread), "launches": [launch.name for launch in launches]}
    if is_taken(folder.path):
        raise RunError(f"{folder.path}: already exists; choose another folder with -o")
    try:
        folder.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.path.name}.", dir=folder.path.parent) as beside:
            draft = RunFolder(Path(beside) / "run")
            create_run(draft, _imported_plan(rows, launches), command, facts)
            for launch, rows_of_launch in launches.items():
                _record(draft, launch, rows_of_launch)
            _keep_ran(draft, rows)
            summary = record_summary(draft)
            draft.path.rename(folder.path)
    except OSError as error:
        error.filename = str(folder.path)  # the name that the user knows
        raise
    return summary


def _each_once(values: Iterable) -> list:
    return list(dict.fromkeys(values))


def refuse_mixed(rows: Sequence[Imported], advice: str) -> None:
    """Raise LogError for times that are not of one system, type and, at each number of ranks, nodes and library.

    What some rows do not say may be as in the others. `advice` says what to do instead.
    """
    for name in ("system", "dtype"):
        _refuse_several([row for row in rows if getattr(row, name) is not None], name, advice=advice)
    for name in ("nodes", "library"):
        _refuse_several_of_ranks([row for row in rows if getattr(row, name) is not None], name, advice)


def _refuse_several_of_ranks(rows: Sequence[Imported], name: str, advice: str = "") -> None:
    for ranks in _each_once(row.ranks for row in rows):
        _refuse_several([row for row in rows if row.ranks == ranks], name, f" at {ranks} ranks", advice)


def _refuse_several(rows: Sequence[Imported], name: str, where: str = "", advice: str = "") -> None:
    """Raise LogError if rows differ in a column that has one value per folder."""
    value = attrgetter(name)
    values = _each_once(map(value, rows))
    if len(values) > 1:
        first, other = (next(row for row in rows if value(row) == wanted) for wanted in values[:2])
        words = listed("unknown" if named is None else named for named in values)
        choices = [f"--where {shell_word(f'{name}={named}')}" for named in values if named is not None]
        added = f"add --{name}, " if None in values and name in ("dtype", "op", "nodes") else ""
        by_layout = " (or --where ranks_per_node=N)" if name == "nodes" else ""
        how = f"{added}select with {few(choices, 8, ' or ')}{by_layout}, or import them one by one"
        how = advice or ("import them one by one" if name == "in_place" else how)
        raise LogError(f"{other.place}: {name} is {words}{where} (the first in {first.place}); a run has one: {how}")


def mixed_libraries(rows: Sequence[Imported]) -> list[str]:
    """Return a sentence if rows are of several libraries: which, and at which numbers of ranks."""
    ranks_of: dict[str | None, set[int]] = defaultdict(set)
    for row in rows:
        ranks_of[row.library].add(int(row.ranks or 0))
    if len(ranks_of) < 2:
        return []
    unknown = "library unknown"
    words = listed(f"{library or unknown} ({in_ranks(ranks)})" for library, ranks in ranks_of.items())
    choice = shell_word(f"library={next(filter(None, ranks_of))}")
    return [
        (
            f"{len(ranks_of)} libraries in one run: {words}; 'fit' takes each as a series of its own; for one of "
            f"them, add --where {choice}"
        )
    ]


def _launches(rows: Sequence[Imported]) -> dict[Launch, list[Imported]]:
    """Return the rows of each launch: of equal ranks, launch name and library, numbered in the order of the logs."""
    numbers: dict[int, dict[tuple[str, str, str | None], int]] = defaultdict(dict)
    rows_of: dict[Launch, list[Imported]] = defaultdict(list)
    for row in rows:
        ranks = int(row.ranks or 0)
        number_of = numbers[ranks]
        # launch names of a CSV are its own
        key = row.launch, row.file if row.fields else "", row.library
        number = number_of.setdefault(key, len(number_of) + 1)
        rows_of[Launch(ranks, number)].append(row)
    return dict(rows_of)


def _imported_plan(rows: Sequence[Imported], launches: Iterable[Launch]) -> ImportedPlan:
    return ImportedPlan(
        competitors=tuple(_each_once(row.competitor for row in rows)),
        sizes=tuple(sorted({row.size_bytes for row in rows})),
        ranks=tuple(sorted({int(row.ranks or 0) for row in rows})),
        launches=max(launch.number for launch in launches),
        seed=0,
        dtype=rows[0].dtype or "",
        op=rows[0].op or "",
        warmups=0,
        cache=rows[0].cache,
        placement=UNKNOWN_PLACEMENT,
        floors=False,
        definitions=_definitions(rows),
    )


def _definitions(rows: Sequence[Imported]) -> dict[str, str]:
    """Return what the times of the rows are, in words, by time_definition."""
    known = {name: words for importer in importers() for name, words in importer.definitions.items()}
    return {
        name: words.format(name.removeprefix(begin))
        for name in sorted({row.time_definition for row in rows})
        for begin, words in known.items()
        if name == begin or begin.endswith("_") and name.startswith(begin)
    }


def _imported_facts(rows: Sequence[Imported], said: dict[str, Any], unread: Sequence[LogUnread]) -> dict[str, Any]:
    """Return the facts of the logs for run.json."""
    files = _files(rows)
    versions = sorted({row.version for row in rows if row.version})
    return {
        "tool": rows[0].tool,
        "version": join_values(versions) or None,
        "files": [{"name": name, "sha256": digest_of(Path(name))} for name in files],
        "said": said,
        "system": rows[0].system,
        "in_place": rows[0].in_place,
        **({"unread": [{"name": each.path, "reason": each.reason} for each in unread]} if unread else {}),
    }


def _files(rows: Sequence[Imported]) -> list[str]:
    return _each_once(file for row in rows for file in row.files or (row.file,))


def _record(folder: RunFolder, launch: Launch, rows: Sequence[Imported]) -> None:
    """Record one launch: its facts, then its cells. Rows of one cell are further times of it."""
    nodes = rows[0].nodes
    facts: dict[str, Any] = {"ranks": launch.ranks, "nodes": nodes, "nodes_declared": None}
    if nodes and launch.ranks % nodes == 0:
        facts["layout"] = f"{nodes}x{launch.ranks // nodes}"
    facts |= {"mpi": {}, "oversubscribed": None, "findings": [], **rows[0].facts}
    facts["source"] = {"launch": rows[0].launch, "files": _files(rows)}
    recorder = Recorder(folder, launch.name, facts, sync=False)
    cells: dict[tuple[str, int], list[Imported]] = defaultdict(list)
    for row in rows:
        cells[row.competitor, row.size_bytes].append(row)
    for rows_of_cell in cells.values():
        mark, calls = _cell(launch, rows_of_cell)
        if len(rows_of_cell) == 1 and rows_of_cell[0].stamps is not None:
            mark |= {"stamps": recorder.stamps(rows_of_cell[0].stamps), "clock_error_s": rows_of_cell[0].clock_error_s}
        recorder.cell(mark, calls)
    recorder.seal()


def _keep_ran(folder: RunFolder, rows: Sequence[Imported]) -> None:
    """Keep what the library ran at each size, as its own lines in the logs say."""
    for ranks in _each_once(row.ranks for row in rows if row.ran):
        told = [row for row in rows if row.ran and row.ranks == ranks]
        by_place: dict[tuple[str, int], list[str]] = defaultdict(list)
        for row in told:
            by_place[row.competitor, row.size_bytes] += row.ran
        ran = tuple(
            Ran(name, size, tuple(_each_once(names)), "", by_order=False, by_messages=False, asked=None)
            for (name, size), names in sorted(by_place.items())
        )
        first = told[0]
        facts = first.library or "", first.dtype or "", first.op or "", ""
        keep_identified(folder, Identified(ranks, first.nodes or 1, *facts, ran))


def _cell(launch: Launch, rows: Sequence[Imported]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the mark of a cell, and its times: those of rows that are done, none if one is wrong."""
    worst = next((row for row in rows if row.state == "wrong"), None)
    row = worst or next((row for row in rows if row.state == "done"), rows[0])
    timed = [row for row in rows if row.state == "done"] if row.state == "done" else []
    calls = [call for timed_row in timed for call in _calls(timed_row)]
    wrong = [counted.wrong for counted in rows if counted.wrong is not None]
    mark: dict[str, Any] = {
        "competitor": row.competitor,
        "segment": None,
        "ranks": launch.ranks,
        "nodes": row.nodes,
        "size_bytes": row.size_bytes,
        "state": row.state,
        "reason": row.reason,
        "time_definition": join_values(sorted({timed_row.time_definition for timed_row in timed or rows})),
        "iterations": row.iterations if len({timed_row.iterations for timed_row in timed or rows}) == 1 else None,
        "wrong": sum(wrong) if wrong else None,
        "imb_t_max_s": _mean([timed_row.imb_t_max_s for timed_row in timed]),
        "nccl_tests_s": _mean([timed_row.nccl_tests_s for timed_row in timed]),
    }
    for name in QUANTILES_OF_LOGS:
        mark[name] = _mean([timed_row.quantiles_s.get(int(QUANTILES[name])) for timed_row in timed])
    return mark, calls


def _calls(row: Imported) -> list[dict[str, Any]]:
    """Return one dict per time. Only single calls have a number: a mean is no repetition."""
    return [
        {
            "call": number if row.iterations == 1 else None,
            "warmup": number < row.warmups,
            "valid": True,
            "time_s": time_s,
            "osu_avg_s": row.osu_avg_s,
        }
        for number, time_s in enumerate(row.times_s)
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
