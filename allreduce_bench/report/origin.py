"""When, where and how a run was measured, as a page says it.

Of a run of ours `how_measured` says it. Of an imported run it is said here: the tool, its logs, what they state and
what they leave out, from `RunFolder.imported`, the summary rows and the launches.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..evaluation.cell_times import MIN_LAUNCHES, split_values
from ..evaluation.summary_row import SummaryRow
from ..runs.command_of_plan import repeat_command
from ..runs.folder import RunFolder, merged_sources, merged_sources_sentence
from ..runs.plan import Plan
from . import how_measured

CSV = "csv_"  # the name of a column follows
MOST_FILES = 20  # listed by name
DEFINITIONS = {  # the timing method of each tool
    "osu_avg": "mean over ranks of each rank's mean over its calls (osu_allreduce, Avg Latency)",
    "omb_py_avg": "mean over ranks of each rank's mean over a loop of calls without a common start (OMB-Py)",
    "imb_t_max": "maximum over ranks of each rank's mean over its calls (Intel MPI Benchmarks, t_max)",
    "nccl_tests": "a loop of calls without a common start, divided by its length; mean over ranks unless -a was given",
    "nccl_tests_cputime": "CPU time of a loop of calls, divided by its length (nccl-tests -C)",
    "nccl_inspector": "maximum over ranks of the time of a call on the GPU, waits included (coll_exec_time_us)",
    "pico_highest": "maximum over ranks of each call after an MPI_Barrier (PICO); the first 20 % are warm-ups",
    # of runs that were imported from what `run` printed
    "max_local": "the maximum over ranks of exit - entry after a common start, median of calls and launches",
    "none": "unknown: no cell has a time",
}


def origin(folder: RunFolder, plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> dict[str, Any]:
    """When, where and how the run was measured, and the command that repeats it. Raises RunError."""
    run, imported = folder.open(), folder.imported()
    libraries = (library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    return {
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(dict.fromkeys(libraries)),
        **_how_measured(plan, imported, rows, attempts, merged_sources(folder)),
        "environment": how_measured.environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else repeat_command(plan)),
    }


def _how_measured(
    plan: Plan, imported: dict | None, rows: Sequence[SummaryRow], attempts: Sequence[dict], merged: Sequence[dict]
) -> dict[str, Any]:
    """What was measured and how: by this program, or by another tool as far as its logs state it."""
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        return {
            "imported": source(imported),
            "operation": operation(plan, imported),
            "times": f"times are {definition(done)}; median over launches",
            "method": method(plan, imported, rows, attempts),
        }
    return {
        "imported": "",
        "operation": f"{plan.dtype} {plan.op}, out of place",
        "times": "times are the maximum over ranks, median over calls and launches",
        "method": how_measured.method(plan, rows, attempts)
        + ([("merged from", merged_sources_sentence(merged))] if merged else []),
    }


def source(imported: Mapping[str, Any]) -> str:
    """`OSU Micro-Benchmarks 7.4, osu.txt`."""
    names = [str(file["name"]) for file in imported["files"]]
    return f"{_tool_and_version(imported)}, {names[0]}" + (
        f" and {len(names) - 1} more files" if len(names) > 1 else ""
    )


def _tool_and_version(imported: Mapping[str, Any]) -> str:
    """`OSU Micro-Benchmarks 7.4`."""
    return " ".join(filter(None, (imported["tool"], imported.get("version"))))


def operation(plan: Plan, imported: Mapping[str, Any]) -> str:
    """`float32 sum, in place`; what the logs do not state is `unknown`."""
    place = {None: "in place or out of place unknown", True: "in place", False: "out of place"}
    return f"{plan.dtype or 'type unknown'}, {plan.op or 'operation unknown'}, {place[imported.get('in_place')]}"


def method(
    plan: Plan, imported: Mapping[str, Any], rows: Sequence[SummaryRow], attempts: Sequence[Mapping]
) -> list[tuple[str, str]]:
    """How an imported run was measured, as far as the logs state it: (label, text)."""
    tool, files = _tool_and_version(imported), imported["files"]
    done = [row for row in rows if row["time_s"] is not None]
    checked = sum(row.get("wrong") is not None for row in rows)
    names = [_file_in_words(file) for file in files[:MOST_FILES]]
    more = f" and {len(files) - MOST_FILES} more, see run.json" if len(files) > MOST_FILES else ""
    rows_with_interval = [row for row in done if row["launches"] >= MIN_LAUNCHES]
    checks = f"{checked} of {len(rows)} cells were checked, according to the logs" if checked else "unknown"
    return [
        ("imported from", f"{tool}: {', '.join(names)}{more}"),
        *_unread(imported.get("unread") or ()),
        *([("system", imported["system"])] if imported.get("system") else []),
        ("operation", f"all-reduce, {operation(plan, imported)}"),
        ("time of a call", definition(done)),
        ("time of a cell", "median over launches of the time in the log, or of the median over its calls"),
        ("launches", f"{len(attempts)}; a launch is an allocation, a file, or a table in a file"),
        (
            "interval",
            f"over launches for {len(rows_with_interval)} of {len(done)} cells ({MIN_LAUNCHES} launches or more), from"
            " order statistics; within launches for the others, where the logs have single calls",
        ),
        ("checks", checks),
        *_origins(imported, attempts),
        (
            "not in the logs",
            ", ".join(_missing(plan, imported, rows, attempts)) or "nothing listed here is missing",
        ),
    ]


def _file_in_words(file: Mapping[str, Any]) -> str:
    """Its name, and the digest of what can be read again."""
    return f"{file['name']} (sha256 {str(file['sha256'])[:16]})" if file.get("sha256") else str(file["name"])


def _unread(files: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The files of a folder of logs that could not be read, with the reasons."""
    more = f"; and {len(files) - MOST_FILES} more, see run.json" if len(files) > MOST_FILES else ""
    return [("not read", "; ".join(str(file["reason"]) for file in files[:MOST_FILES]) + more)] if files else []


def _origins(imported: Mapping[str, Any], attempts: Sequence[Mapping]) -> list[tuple[str, str]]:
    """The source of the rank counts, the dates of the logs, and what options stated; only what is known."""
    dates = list(dict.fromkeys(str(fact["date"]) for fact in attempts if fact.get("date")))[:MOST_FILES]
    rank_sources = [fact["ranks_from"] for fact in attempts if fact.get("ranks_from")]
    options = "; ".join(f"{name} {_option_text(value)}" for name, value in imported["said"].items())
    origins = {
        "ranks": f"from {rank_sources[0]}" if rank_sources else "",
        "date of the logs": ", ".join(dates),
        "set by option": options,
    }
    return [(what, text) for what, text in origins.items() if text]


def definition(done: Sequence[SummaryRow]) -> str:
    """The timing methods: the names in time_definition, with their text where they are known."""
    names = sorted({name for row in done for name in split_values(row["time_definition"])}) or ["none"]
    return "; ".join(f"{name}: {_definition_of(name)}" for name in names)


def _definition_of(name: str) -> str:
    if name.startswith(CSV):
        return f"the column {name.removeprefix(CSV)} of the CSV"
    return DEFINITIONS.get(name, "name as in the log")


def _option_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "yes" if value is True else str(value)


def _missing(
    plan: Plan, imported: Mapping[str, Any], rows: Sequence[SummaryRow], attempts: Sequence[Mapping]
) -> list[str]:
    """What a measured run records and this one does not."""
    absent = {
        "type of the elements": not plan.dtype,
        "operation": not plan.op,
        "in place or out of place": imported.get("in_place") is None,
        "nodes": not all(row.get("nodes") for row in rows),
        "hosts": not any(fact.get("hosts") for fact in attempts),
        "MPI library": not any(fact.get("mpi", {}).get("library") for fact in attempts),
        "binding": True,
        "oversubscription": True,
        "whether results were checked": all(row.get("wrong") is None for row in rows),
    }
    return [fact for fact, is_absent in absent.items() if is_absent]
