"""The schemas of the files of a run folder: run.json, launches/*.json, and the rows of its CSV files."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ...machine import LEVELS
from ...machine.interfaces import Interface
from ..dtypes import OPS
from ..identified import Identified
from ..option import meanings_of
from ..plan import LATER_FIELDS, Plan
from ..schema import CELLS, FORMER_SYNCS, KINDS, REPETITIONS, SCHEMA_VERSION, SUMMARY, SYNCS, Column
from ..start import Start
from .build import (
    Format,
    Schema,
    by_name,
    crc32,
    fields,
    fields_of,
    flag,
    items,
    kept_file,
    number,
    of_type,
    or_null,
    schema_id,
    text,
    whole,
)

MEANINGS = {
    **meanings_of(Plan),
    **meanings_of(Start),
    "Cut.ranks": "number of ranks",
    "Cut.nbytes": "length of the vector; unit: bytes",
    "Cut.segment_nbytes": "length of a segment; unit: bytes",
    "CutPrices.alpha_s": "of a message; unit: s",
    "CutPrices.beta_s_per_byte": "of a byte moved; unit: s/byte",
    "CutPrices.gamma_s_per_byte": "of a byte reduced; unit: s/byte",
    "CutPrices.source": "nominal, or the path of a machine file",
}
PLAN = {"description": "every choice that decides what is measured", **of_type(Plan, MEANINGS)}
PLAN["required"] = [name for name in PLAN["required"] if name not in LATER_FIELDS]
SAID = fields(
    {},
    {
        "ranks": items(whole("", 1), "numbers of ranks: of all logs, or of each"),
        "nodes": items(whole("", 1), "numbers of nodes: of all logs, or of each"),
        "dtype": text("type of an element"),
        "op": text("reduction", *OPS),
        "in_place": flag("whether the in-place half of nccl-tests was taken"),
        "algorithm": text("what the library's own all-reduce was called"),
        "columns": by_name(text(), "names of columns of a CSV"),
        "where": by_name(text(), "values that rows of a CSV were chosen by"),
    },
    "what options of import filled in",
)
IMPORTED_FROM = fields(
    {
        "tool": text("program that wrote the logs"),
        "version": or_null(text("its version")),
        "files": items(
            fields(
                {
                    "name": text("path as it was given"),
                    "sha256": or_null(text("SHA-256 of the content; null: a pipe, which can be read but once")),
                }
            )
        ),
        "said": SAID,
        "system": or_null(text("system that the logs name")),
        "in_place": or_null(flag("whether input and output were one buffer")),
    },
    {
        "launches": items(text(), "names of all launches; absent: of an earlier version of this program"),
        "unread": items(
            fields({"name": text("path of the file"), "reason": text("why it could not be read, in a sentence")}),
            "files of a folder of logs that were left out; absent: none",
        ),
    },
    meaning="where the times of an imported run are from; absent: they were measured here",
)
MERGED = items(
    fields(
        {
            "name": text("name of the run"),
            "sha256": text("SHA-256 over those of its run.json and of the files of its launches"),
            "created": or_null(text("when it was made, ISO 8601")),
            "seed": whole("its seed"),
            "launches": by_name(text(), "its names of launches, and their names here"),
        }
    ),
    "the runs that a merged run was made of; absent: it is none",
)
RUN = kept_file(
    {
        "program": text("program and version that made the run"),
        "created": text("when it was made, ISO 8601 with the zone"),
        "command": items(text(), "command that made it, word by word"),
        "plan": PLAN,
    },
    {
        "id": text("a random number in hexadecimal digits; absent: layout 3"),
        "alternated": items(text(), "the runs whose launches alternate with those of this one; absent: none"),
        "imported": IMPORTED_FROM,
        "merged": MERGED,
    },
)
RUN_SCHEMAS = (
    Format(schema_id("run", SCHEMA_VERSION), "run.json: what was planned, and by which command", RUN, ("run.json",)),
)


# The schema of launches/*.json: where and how a launch ran, and the findings there.
#
# Required are the fields of every launch, imported ones included; the others are in each launch that was measured here,
# unless they say otherwise.


FINDING = fields(
    {
        "code": text("which finding it is, such as oversubscribed"),
        "level": text("info: to know; caution: times vary more; severe: times mean something else", *LEVELS),
        "text": text("what was found, with its figures"),
        "effect": text("what that does to the numbers"),
        "advice": text("what to do"),
    },
    meaning="what to know before trusting the times",
)
MPI = fields(
    {},
    {
        "library": text("library and version, such as Open MPI 5.0.11; of an imported log what it names, such as NCCL"),
        "mpi_standard": text("version of the MPI standard, such as 3.1"),
        "thread_level": text("thread level of the ranks", "single", "funneled", "serialized", "multiple"),
        "path": or_null(text("file of the library")),
        "from_pypi": or_null(flag("whether the library came with the Python packages of this environment")),
    },
    "the MPI library; empty where a log does not name it",
)
INTERFACE = of_type(Interface)
HUGE_PAGES = fields(
    {
        "transparent": or_null(text("always, madvise or never")),
        "reserved": or_null(whole("number of reserved pages")),
    }
)
TIMER = fields(
    {
        "resolution_s": number("as the clock declares it; unit: s", 0),
        "cost_s": number("of one reading; unit: s", 0),
        "step_s": or_null(number("smallest step that was seen; unit: s", 0)),
    },
    meaning="the clock of Python, time.perf_counter",
)
COPYING = fields(
    {},
    {
        "libc": or_null(text("version of the C library, such as glibc 2.36")),
        "fsrm": or_null(flag("whether the processor says that its rep movsb is fast for short lengths")),
        "close_factor": number(
            "time of a copy of 64 KiB at a difference of 16 bytes modulo a page over that at none", 0
        ),
    },
    meaning="what decides how memory is copied",
)
MACHINE = fields(
    {},
    {
        "host": text("name of the node"),
        "processor": text("model of the processor"),
        "processor_family": or_null(text("family, model and stepping of an x86 processor")),
        "cores": whole("cores; hardware threads of one core count once", 1),
        "threads": or_null(whole("hardware threads", 1)),
        "governors": items(text(), "frequency governors, each once; empty: not known"),
        "load_1min": or_null(number("load average of the last minute before the launch", 0)),
        "cpu_quota": or_null(number("cores' worth of time that control groups allow; null: no limit", 0)),
        "container": or_null(text("kind of container, such as docker; null: no sign of one")),
        "memory_nbytes": or_null(whole("memory; unit: bytes")),
        "free_memory_nbytes": or_null(whole("memory that new buffers can take; unit: bytes")),
        "huge_pages": or_null(HUGE_PAGES),
        "copying": COPYING,
        "timer": TIMER,
        "port_rates_bytes_per_s": by_name(number(), "rate of each InfiniBand port, such as mlx5_0:1; unit: bytes/s"),
        "interfaces": items(INTERFACE, "network interfaces that have an address or a device"),
        "fabric_devices": items(text(), "InfiniBand, RoCE and Omni-Path devices, such as mlx5_0"),
        "kernel": text("operating system and version"),
        "python": text("version of Python"),
        "packages": by_name(or_null(text()), "versions of mpi4py and numpy"),
        "allreduce_bench": text("version of this program"),
        "cpus_of_ranks": or_null(whole("hardware threads that the ranks of the node may use", 1)),
    },
    "a node; of an imported log what it says",
)
PORT = fields(
    {},
    {
        "counted": by_name(whole(), "counters of errors and waits that grew, by their names in Linux"),
        "degraded": items(text(), "links below their width or rate, in words"),
    },
)
COUNTED = fields(
    {"host": text("name of the node"), "elapsed_s": number("how long the launch was watched; unit: s", 0)},
    {
        "cpus": whole("hardware threads that its ranks may use", 1),
        "worked_s": number("time that these threads worked, also for others; unit: s"),
        "stolen_s": number("time that the machine below a virtual one took from them; unit: s"),
        "own_s": number("processor time of the ranks; unit: s"),
        "throttled": whole("how often clocks were lowered, the most of a core", 1),
        "clock": number("clock of a core at work over its highest; unit: 1", 0),
        "ports": by_name(PORT, "ports and interfaces with errors, waits or slow links; only on several nodes"),
    },
    "what the kernel of a node counted while the launch ran; a field that it does not show is absent",
)
PHASES = {
    "python_s": "from exec to the first line of this program; absent: not known",
    "import_s": "importing mpi4py, numpy and this package",
    "init_s": "MPI_Init",
    "first_collective_s": "the first barrier",
}
STARTUP = fields(
    {"slowest_rank": by_name(whole(), "of each phase the rank that took longest")},
    {name: number(f"{meaning}; slowest rank; unit: s", 0) for name, meaning in PHASES.items()},
    "how long ranks took to start",
)
GROUPS = fields(
    {
        "ranks": items(items(whole()), "the ranks of each group"),
        "alone": items(or_null(whole()), "of each group the number of the one measured alone in its place, from 0"),
    },
    meaning="the groups of --groups; absent: none",
)
CLOCK = fields(
    {"method": text("how ranks came to a common clock")},
    {
        "error_start_s": or_null(number("bound of its error at the start of the launch; unit: s", 0)),
        "error_end_s": or_null(number("bound of its error at the end; absent: the launch did not end; unit: s", 0)),
        "drift_ppm": or_null(number("drift of the rank that drifted most; unit: ppm")),
        "drift_error_ppm": or_null(number("bound of the error of that; unit: ppm", 0)),
        "round_trip_s": or_null(number("least round trip of 8 bytes, between nodes if several; unit: s", 0)),
    },
    "the common clock of the ranks",
)
OF_WORST = "of the rank where it is largest; unit: s"
NOISE = fields(
    {
        "quantum_s": number("the shortest quantum of a rank, median over ranks; unit: s", 0),
        "quanta": whole("number of quanta, fewest of a rank", 1),
        "median_s": number(f"median quantum, {OF_WORST}", 0),
        "p99_s": number(f"99 % of the quanta took no longer, {OF_WORST}", 0),
        "p99_9_s": number(f"99.9 % of the quanta took no longer, {OF_WORST}", 0),
        "max_s": number(f"longest quantum, {OF_WORST}", 0),
        "lost": number("share of the time of its quanta that the rank lost that lost most; unit: 1", 0),
        "rank": whole("which rank that was"),
        "lost_median": number("the same of the median rank; unit: 1", 0),
    },
    {"additions": whole("additions of a quantum; absent: as many as took rank 0 about 50 us", 1)},
    "noise of the machine: a fixed work quantum that all ranks repeat for 50 ms before the first call; null: ranks "
    "share cores",
)
IMPORTED = {
    "source": fields(
        {
            "launch": text("what tells the launch from others in the logs: an allocation, a file, a table"),
            "files": items(text(), "the log files"),
        },
        meaning="of an imported launch: where it is from",
    ),
    "merged_from": fields(
        {"run": text("name of the run"), "launch": text("name of the launch there")},
        {"attempt": whole("its attempt there; absent: the same, of layout 3", 1)},
        "of a launch of a merged run: what it was before",
    ),
    "date": text("of an imported launch: when the log says that it ran, as written there"),
    "ranks_from": text("of an imported launch: what the number of ranks was computed from"),
}
REQUIRED = {
    "launch": text("name of the launch: ranks and number, such as 4r-2, and -forced or an algorithm: 4r-2-forced")
    | {"pattern": "^[1-9][0-9]*r-[1-9][0-9]*(-[a-z][A-Za-z0-9_]*)?$"},
    "attempt": whole("1, or more after --resume", 1),
    "started": text("when it began, ISO 8601 with the zone"),
    "ranks": whole("number of ranks", 1),
    "nodes": or_null(whole("number of nodes that share no memory", 1)),
    "nodes_declared": or_null(whole("nodes that --pretend-ranks-per-node declared; null: none", 1)),
    "mpi": MPI,
    "oversubscribed": or_null(flag("whether some node had more ranks than cores")),
    "findings": items(FINDING),
}
MEASURED = {
    "command": text("command line that started the ranks"),
    "layout": text("ranks on each node: 2x4 is two nodes of four, 1+2 unequal ones"),
    "hosts": items(text(), "of each rank its host"),
    "binding": items(or_null(text()), "of each rank the cores that it may use, such as 0-3"),
    "node_of": items(whole(), "of each rank the number of its node, from 0"),
    "switches": by_name(text(), "of each host the switches above it, topmost first, such as s0/s1; empty: not known"),
    "transport": or_null(text("what the MPI says that carries messages")),
    "variables": by_name(text(), "environment variables that steer an MPI or a scheduler's layout; no others are kept"),
    "machines": items(MACHINE, "each node"),
    "startup": STARTUP,
    "stage": or_null(by_name({}, "what run --stage did, a former option")),
    "groups": GROUPS,
    "order": items(
        whole(), "with --order the launcher's ranks in the order of the all-reduce: the first is its rank 0"
    ),
    "in_haste": flag("whether --within bounded the launch, so that sizes went set by set"),
    "size_sets": items(
        items(whole()), "with in_haste the sizes of each set, unit: bytes; absent: the launch did not end"
    ),
    "cold_nbytes": whole("bytes that a rank touches between two uses of a buffer; 0: no cold calls; unit: bytes"),
    "sync": fields(
        {"way": text("how ranks entered calls together", *SYNCS, *FORMER_SYNCS), "why": text("why that was chosen")},
        meaning="the common start of calls",
    ),
    "noise": or_null(NOISE),
    "clock": CLOCK,
    "counted": items(COUNTED, "each node while the launch ran; absent: the launch did not end"),
}
END = {
    "run_crc32": text("crc32 of run.json, which files of other runs do not have; empty or absent: it is of layout 3"),
    "marks": whole("cells in the .cells.csv of a launch that came to its end; absent: layout 3, or it did not"),
    "last_mark_crc32": crc32("crc32 of the last of these rows; absent likewise"),
}
LAUNCH_SCHEMAS = (
    Format(
        schema_id("launch", SCHEMA_VERSION),
        "launches/*.json: where and how a launch ran, and what was found",
        kept_file(REQUIRED, {**MEASURED, **IMPORTED, **END}),
        ("launches/*.json",),
    ),
)


# The schemas of the CSV files of a run folder: a row as an object, with the columns of `runs.schema`.
#
# An empty field of the CSV is null; a flag is 0 or 1.


def row_schema(columns: Sequence[Column], later_needed: bool = False) -> Schema:
    """Return the schema of a row with these columns; later ones may be absent, unless `later_needed`."""
    required = {column.name: _column_schema(column) for column in columns}
    later = [] if later_needed else [column.name for column in columns if column.later]
    optional = {name: required.pop(name) for name in later}
    return fields(required, optional)


def _column_schema(column: Column) -> Schema:
    meaning = column.meaning + (f"; unit: {column.unit}" if column.unit else "")
    kinds = {
        "text": lambda: text(meaning, *column.words),
        "whole": lambda: whole(meaning),
        "real": lambda: number(meaning, None if column.signed else 0),
        "flag": lambda: whole(meaning) | {"maximum": 1},
    }
    schema = kinds[column.kind]()
    return schema if column.never_empty else or_null(schema)


def _signed(schema: Schema) -> Schema:
    """Return the schema of calls that allows negative times if `valid` is 0: a clock ran backwards."""
    names = [column.name for column in REPETITIONS if column.kind == "real"]
    properties = {name: {k: v for k, v in schema["properties"][name].items() if k != "minimum"} for name in names}
    valid = {"properties": {"valid": {"const": 0}}}
    not_negative = {"properties": {name: {"minimum": 0} for name in names}}
    return {**schema, "properties": schema["properties"] | properties, "if": valid, "else": not_negative}


def typed_row(row: dict[str, str]) -> dict[str, Any]:
    """Return the values of a row of a CSV: numbers in columns of numbers, None for an empty field.

    Invalid numbers, and values of unknown columns, stay text.
    """
    return {name: _typed(KINDS.get(name, "text"), value) for name, value in row.items()}


def _typed(kind: str, value: str) -> Any:
    if not value or kind == "text":
        return value or None
    try:
        number = float(value) if kind == "real" else int(value)
    except ValueError:
        return value
    return number if isfinite(number) else value


ROW_SCHEMAS = (
    Format(
        schema_id("calls", SCHEMA_VERSION),
        "a row of launches/*.csv: one call, warm-ups marked",
        _signed(row_schema(REPETITIONS)),
        ("launches/*[0-9].csv",),
        is_csv=True,
    ),
    Format(
        schema_id("cells", SCHEMA_VERSION),
        "a row of launches/*.cells.csv: a cell that a launch has ended",
        row_schema(CELLS),
        ("launches/*.cells.csv",),
        is_csv=True,
    ),
    Format(
        schema_id("summary", SCHEMA_VERSION),
        "a row of summary.csv: a cell over all its launches",
        row_schema(SUMMARY),
        ("summary.csv",),
        is_csv=True,
    ),
)
IDENTIFIED_SCHEMAS = (
    Format(
        schema_id("identified", SCHEMA_VERSION),
        "identified/*.json: which algorithms of the library ran",
        kept_file(fields_of(Identified), {}),
        ("identified/*.json",),
    ),
)
SCHEMAS = (*RUN_SCHEMAS, *LAUNCH_SCHEMAS, *ROW_SCHEMAS, *IDENTIFIED_SCHEMAS)
