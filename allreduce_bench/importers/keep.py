"""Rows of logs as a run folder: the same files as a run measured here, by the same recorder."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..evaluation.cell_times import join_values
from ..evaluation.summary import record_summary
from ..evaluation.summary_row import SummaryRow
from ..message import say
from ..runs.folder import RunFolder
from ..runs.plan import ImportedPlan, Launch
from ..runs.recorder import Recorder, create_run, discard_run
from ..runs.schema import CACHES, UNKNOWN_PLACEMENT
from .lines import digest_of, listed
from .row import Imported, LogError, LogUnread

SAME = ("tool", "system", "dtype", "op", "in_place")  # columns with one value per folder
Cell = tuple  # the columns that distinguish a cell within its launch


def keep(
    rows: Sequence[Imported],
    folder: RunFolder,
    command: Sequence[str],
    said: dict[str, Any],
    unread: Sequence[LogUnread] = (),
) -> list[SummaryRow]:
    """Make a run of the rows of one or more logs, and summarise it.

    `said` (what options filled in) and `unread` (files of folders) are recorded. Raises LogError before anything is
    written: no ranks, or more than one system, type, operation, or layout for one number of ranks; RunError if the
    folder exists.
    """
    _refuse_missing(rows)
    for name in SAME:
        _refuse_several(rows, name)
    for ranks in _each_once(row.ranks for row in rows):
        rows_of_ranks = [row for row in rows if row.ranks == ranks]
        _refuse_several(rows_of_ranks, "nodes", f" at {ranks} ranks")
    launches = _launches(rows)
    facts = {**_imported_facts(rows, said, unread), "launches": [launch.name for launch in launches]}
    create_run(folder, _imported_plan(rows, launches), command, facts)
    try:
        for launch, rows_of_launch in launches.items():
            _record(folder, launch, rows_of_launch)
        return record_summary(folder)
    except BaseException as error:  # a partial import is discarded
        discard_run(folder)
        if isinstance(error, OSError) and not error.filename:  # of an open file
            error.filename = str(folder.path)
        raise


def _each_once(values: Iterable) -> list:
    return list(dict.fromkeys(values))


def _refuse_missing(rows: Sequence[Imported]) -> None:
    for row in rows:
        if row.ranks is None:
            raise LogError("importers.number_ranks_not_log", place=row.place)


def _refuse_several(rows: Sequence[Imported], name: str, where: str = "") -> None:
    """Raise LogError if rows differ in a column that has one value per folder."""
    value = attrgetter(name)
    values = _each_once(map(value, rows))
    if len(values) > 1:
        first, other = (next(row for row in rows if value(row) == wanted) for wanted in values[:2])
        words = listed("unknown" if named is None else named for named in values)
        choice = next((named for named in values if named is not None), "")
        way = {"tool": say("importers.import"), "in_place": say("importers.import")}
        added = f"add --{name}, " if None in values and name in ("dtype", "op", "nodes") else ""
        how = way.get(name, say("importers.select_import", added=added, name=name, choice=choice))
        raise LogError(
            "importers.first_run",
            place=other.place,
            name=name,
            words=words,
            where=where,
            first_place=first.place,
            how=how,
        )


def _launches(rows: Sequence[Imported]) -> dict[Launch, list[Imported]]:
    """Return the rows of each launch: those with equal ranks and launch name, numbered in the order of the logs."""
    numbers: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    rows_of: dict[Launch, list[Imported]] = defaultdict(list)
    for row in rows:
        ranks = int(row.ranks or 0)
        number_of = numbers[ranks]
        # launch names of a CSV are its own
        number = number_of.setdefault((row.launch, row.file if row.fields else ""), len(number_of) + 1)
        rows_of[Launch(ranks, number)].append(row)
    return dict(rows_of)


def _imported_plan(rows: Sequence[Imported], launches: Iterable[Launch]) -> ImportedPlan:
    caches = [cache for cache in CACHES if any(row.cache == cache for row in rows)]
    return ImportedPlan(
        algorithms=tuple(_each_once(row.algorithm for row in rows)),
        sizes=tuple(sorted({row.nbytes for row in rows})),
        ranks=tuple(sorted({int(row.ranks or 0) for row in rows})),
        launches=max(launch.number for launch in launches),
        seed=0,
        dtype=rows[0].dtype or "",
        op=rows[0].op or "",
        warmups=0,
        cache=caches[0] if len(caches) == 1 else "both",
        placement=(UNKNOWN_PLACEMENT,),
        floors=False,
    )


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
    cells: dict[Cell, list[Imported]] = defaultdict(list)
    for row in rows:
        cells[row.algorithm, row.executor, row.count, row.segment, row.cache].append(row)
    for rows_of_cell in cells.values():
        mark, calls = _cell(launch, rows_of_cell)
        if len(rows_of_cell) == 1 and rows_of_cell[0].stamps is not None:
            mark |= {"stamps": recorder.stamps(rows_of_cell[0].stamps), "clock_error_s": rows_of_cell[0].clock_error_s}
        recorder.cell(mark, calls)
    recorder.seal()


def _cell(launch: Launch, rows: Sequence[Imported]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the mark of a cell, and its times: those of rows that are done, none if one is wrong."""
    worst = next((row for row in rows if row.state == "wrong"), None)
    row = worst or next((row for row in rows if row.state == "done"), rows[0])
    timed = [row for row in rows if row.state == "done"] if row.state == "done" else []
    calls = [call for timed_row in timed for call in _calls(timed_row)]
    wrong = [counted.wrong for counted in rows if counted.wrong is not None]
    mark = {
        "algorithm": row.algorithm,
        "executor": row.executor,
        "segment": row.segment,
        "ranks": launch.ranks,
        "nodes": row.nodes,
        "dtype": row.dtype,
        "op": row.op,
        "count": row.count,
        "nbytes": row.nbytes,
        "cache": row.cache,
        "groups": "",
        "placement": UNKNOWN_PLACEMENT,
        "state": row.state,
        "reason": row.reason,
        "repetitions": sum(not call["warmup"] for call in calls),
        "wrong": sum(wrong) if wrong else None,
        "imb_t_max_s": _mean([timed_row.imb_t_max_s for timed_row in timed]),
        "nccl_tests_s": _mean([timed_row.nccl_tests_s for timed_row in timed]),
    }
    return mark, [{**mark, "in_place": row.in_place, **call} for call in calls]


def _calls(row: Imported) -> list[dict[str, Any]]:
    """Return one dict per time. Only single calls have a number: a mean is no repetition."""
    return [
        {
            "time_definition": row.time_definition,
            "iterations": row.iterations,
            "repetition": number if row.iterations == 1 else None,
            "warmup": number < row.warmups,
            "valid": True,
            "time_s": time_s,
            "shortest_s": row.shortest_s,
            "osu_avg_s": row.osu_avg_s,
        }
        for number, time_s in enumerate(row.times_s)
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
