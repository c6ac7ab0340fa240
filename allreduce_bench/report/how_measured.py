"""How, when and where a run was measured, as text: by this program, or by another tool as far as its logs tell.

All functions return text about one run, made from its plan, its summary rows and the facts of its launches.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..evaluation import environment as environment_facts
from ..evaluation.agreement import why_not_compared
from ..evaluation.environment import format_values, values_of
from ..evaluation.summary_row import SummaryRow
from ..machine.traffic import parse_traffic, total_traffic
from ..measuring.budget import MAX_REPETITIONS
from ..measuring.vectors import CALLS, EXPONENTS, chance
from ..runs.command_of_plan import repeat_command
from ..runs.conditions import SAID_IN_TABLES, conditions_text
from ..runs.dtypes import is_float
from ..runs.folder import RunFolder, merged_sources, merged_sources_sentence
from ..runs.groups import describe
from ..runs.injected import PATTERNS, late_by_of
from ..runs.plan import ImportedPlan, Plan
from ..runs.rank_order import BLOCK, CYCLIC
from ..runs.schema import NUMPY, PAGE, STAGGER, UNKNOWN_PLACEMENT, split_values
from ..stats import LEAST_FOR_INTERVAL, MIN_LAUNCHES
from ..units import counted, few, format_size, format_time, in_ranks
from .verdict_sentence import confidence

FLOORS_MEASURED = "an empty call, a local copy and a local reduction of the vector, measured the same way on every rank"
BEGUN = {  # how ranks enter a call -> as text
    "barrier": "after an MPI_Barrier",
    "round_time": "at a time on the common clock that rank 0 announces",
}
MOST_HOSTS = 32  # of an order of ranks, listed by name
LARGE = 1024**2  # bytes of a vector: below, other traffic distorts the counters too much


def describe_method(plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> list[tuple[str, str]]:
    """Return how it was measured: (label, text)."""
    done = [row for row in rows if row["time_s"] is not None]
    calls, launches = _range_text(row["repetitions"] for row in done), _range_text(row["launches"] for row in done)
    return [
        ("operation", f"all-reduce, {operation_sentence(plan)}"),
        ("time of a call", _definition_text(attempts)),
        *([("common start", words)] if (words := _common_start_text(attempts)) else []),
        *([("common clock", words)] if (words := _common_clock_text(attempts)) else []),
        ("time of a cell", "median over launches of the median over its timed calls"),
        ("launches", _launches_text(plan, launches)),
        ("timed calls", f"{calls} per cell over all launches"),
        ("stopping rule", _end_rule_text(plan, done)),
        ("warm-ups", f"{plan.warmups} per cell and launch, kept in the raw files, excluded from all statistics"),
        ("interval", _interval_text(done)),
        ("cache", _cache_text(plan, attempts)),
        *([("vectors", _placement_text(plan))] if plan.placement != UNKNOWN_PLACEMENT else []),
        *([("groups", _groups_text(plan))] if plan.groups else []),
        *([("order of ranks", order_sentence(plan))] if plan.order else []),
        *([("lateness of ranks", _lateness_text(plan))] if plan.arrival or plan.compute_s else []),
        ("reference times", FLOORS_MEASURED if plan.floors else "not measured (--no-reference-times)"),
        ("checks", _checks_text(plan, rows)),
        *([("bits", _bits_text(plan))] if plan.check == "bits" else []),
        ("order of cells", _order_text(plan, attempts)),
        *describe_network(rows),
    ]


def operation_sentence(plan: Plan) -> str:
    """Return the operation and the conditions that are not the default: `float32 sum, out of place, cache cold`."""
    conditions = conditions_text(plan, *SAID_IN_TABLES)
    return ", ".join(filter(None, [f"{plan.dtype} {plan.op}", plan.place, conditions]))


def _definition_text(attempts: Sequence[dict]) -> str:
    ways = {fact["sync"]["way"] for fact in attempts if "sync" in fact} or {"barrier"}
    begun = " or ".join(words for way, words in BEGUN.items() if way in ways)
    return f"the maximum over ranks of exit - entry; the entry is {begun}"


def _common_start_text(attempts: Sequence[dict]) -> str:
    """Name how calls began, and why; empty: no launch says."""
    synchronised = [fact for fact in attempts if "sync" in fact]
    return _values_text(synchronised, lambda fact: [f"{fact['sync']['way']}: {fact['sync']['why']}"])


def _common_clock_text(attempts: Sequence[dict]) -> str:
    """Describe the common clock and its largest error over the launches; empty without one."""
    known_clocks = [fact["clock"] for fact in attempts if fact["ranks"] > 1 and "clock" in fact]
    clocks = [clock for clock in known_clocks if clock.get("error_start_s") is not None]
    if not clocks:
        return ""
    errors_s = [clock[name] for clock in clocks for name in ("error_start_s", "error_end_s") if clock.get(name)]
    return f"{clocks[0]['method']}, error at most {format_time(max(errors_s, default=0.0))}"


def _end_rule_text(plan: Plan, done: Sequence[SummaryRow]) -> str:
    """Describe when the timing of a cell stops, and how often each condition applied."""
    if plan.iters is not None:
        return f"after {plan.iters} calls per launch"
    precision, most = f"{100 * plan.precision:.3g} %", f"{format_time(plan.cell_time_s)} or {MAX_REPETITIONS} calls"
    rule = f"when the 95 % interval of the median lies within {precision} of it, or after {most}"
    counts = Counter(reason for row in done for reason in split_values(row["stopped"]))
    ended = ", ".join(f"{reason} in {count}" for reason, count in counts.items())
    return f"{rule}; stopped by {ended} of {len(done)} cells, in some launch" if ended else rule


def _interval_text(done: Sequence[SummaryRow]) -> str:
    counts = sorted({row["launches"] for row in done if row.get("interval") == "launches"})
    over_launches = dict.fromkeys(map(confidence, counts))
    kinds = {
        "launches": (
            f"{' or '.join(over_launches)} of the median over launches, from order statistics: up to 8 launches their "
            "range"
        ),
        "repetitions": (
            "95 % within launches (too few launches): median over calls, from order statistics widened for the "
            "correlation between calls (self-normalised, Shao 2010); for two launches, the hull of both intervals"
        ),
        "range": f"none below {LEAST_FOR_INTERVAL} calls per launch: the range of the calls",
    }
    return "; ".join(text for kind, text in kinds.items() if any(row.get("interval") == kind for row in done)) or "none"


def _cache_text(plan: Plan, attempts: Sequence[dict]) -> str:
    """Return the state of the cache at the calls of a cell."""
    nbytes_touched = _values_text(
        attempts, lambda fact: [format_size(fact["cold_nbytes"])] if fact.get("cold_nbytes") else []
    )
    text_of = {
        "warm": "warm: every call uses the same buffers",
        "cold": (
            f"cold: between two uses of a buffer each rank touches {nbytes_touched}, twice its share of the node's "
            "caches"
        ),
    }
    return text_of[plan.cache]


def _placement_text(plan: Plan) -> str:
    """Describe the placement of vectors."""
    text_of = {
        PAGE: f"at pages, inputs, outputs and scratch {STAGGER} bytes apart",
        NUMPY: "where numpy puts them",
    }
    return text_of.get(plan.placement) or f"an output begins {plan.placement} bytes behind its input, modulo a page"


def _groups_text(plan: Plan) -> str:
    layouts = "; ".join(f"{in_ranks([ranks])}: {describe(plan.groups, ranks)}" for ranks in plan.ranks)
    return f"{layouts}; all at the same time from a common start"


def order_sentence(plan: Plan) -> str:
    """Return on which hosts the ranks of the all-reduce sit, of a run with --order."""
    words = {
        BLOCK: "The ranks of each host follow each other, host after host (--order block).",
        CYCLIC: "A rank of each host follows in turn (--order cyclic).",
    }
    return (
        words.get(plan.order[0])
        or f"The ranks sit on these hosts, in their order: {few(plan.order, MOST_HOSTS)} (--order)."
    )


def _late_by_text(plan: Plan) -> str:
    """Format `, by at most 1 times the median of the library's own all-reduce`; empty for a trace."""
    if plan.arrival not in PATTERNS:
        return ""
    late_by = late_by_of(plan.late_by)
    if late_by.seconds:
        return f", by at most {format_time(late_by.seconds)}"
    return f", by at most {late_by.factor:g} times the median of the library's own all-reduce"


def _lateness_text(plan: Plan) -> str:
    """Say how the run shows which rank is late, and what was injected."""
    if plan.arrival:
        return (
            f"injected: {plan.arrival_name}{_late_by_text(plan)}; a time is the completion, last exit - last "
            "entry; Python's loop makes all calls"
        )
    work = {"spin": "as many operations on each rank", "sleep": "each rank sleeps"}[plan.work]
    slower = "".join(f"; rank {word.replace(':', ' was slowed down by ')}" for word in plan.inject_slowdown)
    return (
        f"seen: before each call each rank has a phase of work of {format_time(plan.compute_s)} ({work}), and its end "
        f"is stamped before the common start{slower}; Python's loop makes all calls"
    )


def _checks_text(plan: Plan, rows: Sequence[SummaryRow]) -> str:
    """Describe the checks; where ranks that are missing, doubled or mixed up may not be detected, how probably."""
    wrong = [number for row in rows if (number := row.get("wrong")) is not None]
    found = f"{counted(len(wrong), 'cell')}: {counted(sum(wrong), 'wrong element')}"
    checks = sum(row.get("checks") or 0 for row in rows)
    if not checks:
        return f"exact vectors before and after the timed calls of {found}"
    counts = [size_bytes // plan.itemsize for size_bytes in plan.sizes if size_bytes]
    sizes = set(map(plan.group_size, plan.ranks))
    least = min((chance(size, count, plan.dtype, plan.op) for size in sizes for count in counts), default=1.0)
    text = (
        f"every bit of {checks} calls on exact vectors, before, between and after the timed calls of {found}; of each "
        "timed call one element of each rank's part"
    )
    doubt = f"; a missing, doubled or mixed-up rank is detected with a probability of at least {least:.0%}"
    return text if least == 1 else text + doubt


def _bits_text(plan: Plan) -> str:
    if not is_float(plan.dtype):
        return why_not_compared(plan)
    exponents, below = (2, 2) if plan.op == "prod" else (EXPONENTS[plan.dtype], 1)
    inputs = f"floats below {below} with random signs, significands and {exponents} exponents, seed {plan.seed}"
    return f"{inputs}; compared between ranks, between {CALLS} calls and between launches"


def _launches_text(plan: Plan, finished: str) -> str:
    """Return how many launches were planned and finished, and what is beside them."""
    words = f"separate mpiruns per rank count: {plan.launches} planned, {finished} finished per cell"
    number = len(plan.forced_launches)
    return f"{words}; beside each one {number} in which the library is told which algorithm to use" if number else words


def _order_text(plan: Plan, attempts: Sequence[dict]) -> str:
    """Describe the order of the cells of a launch."""
    limited = [fact.get("size_sets") or [] for fact in attempts if fact.get("in_haste")]
    most: list[list[int]] = max(limited, key=len, default=[])
    if len(most) > 1:
        sizes = "; then ".join(", ".join(map(format_size, sizes)) for sizes in most)
        return f"set by set of sizes, as far as --within allowed: {sizes}; random within a set, seed {plan.seed}"
    return f"random in every launch, seed {plan.seed}"


def describe_network(rows: Sequence[SummaryRow]) -> list[tuple[str, str]]:
    """Return the bytes on the network, and the links that the times are compared with: (label, sentence)."""
    ranks_of: dict[tuple[str, str], list[int]] = {}
    for ranks in sorted({row["ranks"] for row in rows}):
        rows_of_ranks = [row for row in rows if row["ranks"] == ranks]
        link = next((row["link"] for row in rows_of_ranks if row.get("link")), None)
        for label, sentence in (
            ("network traffic", traffic_sentence(rows_of_ranks)),
            ("link between nodes", link),
        ):
            if sentence:
                ranks_of.setdefault((label, sentence), []).append(ranks)
    return [(label, f"{sentence} ({in_ranks(rank_counts)})") for (label, sentence), rank_counts in ranks_of.items()]


def traffic_sentence(rows: Iterable[Mapping]) -> str | None:
    """Name the networks that carried the schedules' bytes, from summary rows of one rank count; None if not counted.

    Only rows of known schedules and of at least LARGE bytes count. Traffic that bypasses the kernel has no counter:
    bytes that no interface carried are called not counted, not 0.
    """
    counted = [
        row
        for row in rows
        if row.get("wire") and row.get("internode_nbytes") is not None and row["size_bytes"] >= LARGE
    ]
    required = sum(row["internode_nbytes"] for row in counted)
    counts = total_traffic(parse_traffic(row["wire"]) for row in counted)
    if not counted:
        return None
    if required and _ratio_text(sum(counts.values()) / required) == "0":
        names = ", ".join(name for name, _ in _sort_by_bytes(counts))
        return f"network traffic at {format_size(LARGE)} and above: not counted by {names}, which carried none of it"
    if required:
        busiest = _sort_by_bytes(counts)
        shares = ", ".join(f"{_ratio_text(size_bytes / required)} on {name}" for name, size_bytes in busiest)
        return (
            f"network traffic at {format_size(LARGE)} and above, relative to the schedules' inter-node bytes: {shares}"
        )
    moved = sum(row["size_bytes"] for row in counted)
    used = ", ".join(
        f"{_ratio_text(size_bytes / moved)} the vector size on {name}" for name, size_bytes in _sort_by_bytes(counts)
    )
    busy = [name for name, size_bytes in counts.items() if size_bytes > 0.01 * moved]
    if not busy:
        return f"no network traffic at {format_size(LARGE)} and above: one node, shared memory"
    return f"one node, but with network traffic at {format_size(LARGE)} and above: {used}"


def _sort_by_bytes(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _ratio_text(ratio: float) -> str:
    return "0" if ratio < 0.005 else f"{ratio:.2f} x"


def describe_environment(attempts: Sequence[dict]) -> list[tuple[str, str]]:
    """Return the environment of the launches: (label, text), every value, with its rank counts if they differ."""
    facts = environment_facts.environment(attempts)
    return [
        (field.label, format_values(facts[field.key], field.text))
        for field in environment_facts.FIELDS
        if field.key in facts
    ]


def _range_text(values: Iterable) -> str:
    numbers = sorted(value for value in values if value is not None)
    return "none" if not numbers else f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def _values_text(attempts: Sequence[Mapping], ask: Callable[[Mapping], Iterable]) -> str:
    """Return every value that `ask` finds, with the rank counts if launches differ."""
    return format_values(values_of(attempts, ask))


# When, where and how a run was measured, for a page.
#
# For our own runs from `describe_method`; for imported ones the tool, its logs, their content and omissions, from
# `RunFolder.imported`, the summary rows and the launches.


MOST_FILES = 20  # listed by name
DEFINITIONS = {
    # of runs imported from the output of `run`
    "max_local": "the maximum over ranks of exit - entry after a common start, median of calls and launches",
    "none": "unknown: no cell has a time",
}


def describe_origin(
    folder: RunFolder, plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]
) -> dict[str, Any]:
    """Return when, where and how the run was measured, and the command that repeats it. Raises RunError."""
    run, imported = folder.open(), folder.imported()
    libraries = (library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    return {
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(dict.fromkeys(libraries)),
        **_describe_measurement(plan, imported, rows, attempts, merged_sources(folder)),
        "environment": describe_environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else repeat_command(plan)),
    }


def _describe_measurement(
    plan: Plan, imported: dict | None, rows: Sequence[SummaryRow], attempts: Sequence[dict], merged: Sequence[dict]
) -> dict[str, Any]:
    """Return what was measured and how: by this program, or by another tool as far as its logs tell."""
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        return {
            "imported": _source_words(imported),
            "operation": _imported_operation_words(plan, imported),
            "times": f"times are {definition_words(plan, done)}; median over launches",
            "method": describe_imported_method(plan, imported, rows, attempts),
        }
    return {
        "imported": "",
        "operation": operation_sentence(plan),
        "times": "times are the maximum over ranks, median over calls and launches",
        "method": [
            *describe_method(plan, rows, attempts),
            *([("merged from", merged_sources_sentence(merged))] if merged else []),
        ],
    }


def _source_words(imported: Mapping[str, Any]) -> str:
    """Return `OSU Micro-Benchmarks 7.4, osu.txt`."""
    names = [str(file["name"]) for file in imported["files"]]
    return f"{_tool_and_version(imported)}, {names[0]}" + (
        f" and {counted(len(names) - 1, 'more file')}" if len(names) > 1 else ""
    )


def _tool_and_version(imported: Mapping[str, Any]) -> str:
    """Return `OSU Micro-Benchmarks 7.4`."""
    return " ".join(filter(None, (imported["tool"], imported.get("version"))))


def _imported_operation_words(plan: Plan, imported: Mapping[str, Any]) -> str:
    """Return `float32 sum, in place`; `unknown` for what the logs omit."""
    place = {None: "in place or out of place unknown", True: "in place", False: "out of place"}
    return f"{plan.dtype or 'type unknown'}, {plan.op or 'operation unknown'}, {place[imported.get('in_place')]}"


def describe_imported_method(
    plan: Plan, imported: Mapping[str, Any], rows: Sequence[SummaryRow], attempts: Sequence[Mapping]
) -> list[tuple[str, str]]:
    """Return how an imported run was measured, as far as the logs state it: (label, text)."""
    tool, files = _tool_and_version(imported), imported["files"]
    done = [row for row in rows if row["time_s"] is not None]
    checked = sum(row.get("wrong") is not None for row in rows)
    named = few(map(_file_in_words, files), MOST_FILES, more=" and {more} more, see run.json")
    rows_with_interval = [row for row in done if row["launches"] >= MIN_LAUNCHES]
    checks = f"{checked} of {len(rows)} cells were checked, according to the logs" if checked else "unknown"
    return [
        ("imported from", f"{tool}: {named}"),
        *_describe_unread(imported.get("unread") or ()),
        *([("system", imported["system"])] if imported.get("system") else []),
        ("operation", f"all-reduce, {_imported_operation_words(plan, imported)}"),
        ("time of a call", definition_words(plan, done)),
        ("time of a cell", "median over launches of the time in the log, or of the median over its calls"),
        ("launches", f"{len(attempts)}; a launch is an allocation, a file, or a table in a file"),
        (
            "interval",
            (
                f"over launches for {len(rows_with_interval)} of {len(done)} cells ({MIN_LAUNCHES} launches or more), "
                "from order statistics; within launches for the others, where the logs have single calls"
            ),
        ),
        ("checks", checks),
        *_describe_log_origins(imported, attempts),
        (
            "not in the logs",
            ", ".join(_find_missing(plan, imported, rows, attempts)) or "nothing listed here is missing",
        ),
    ]


def _file_in_words(file: Mapping[str, Any]) -> str:
    """Return its name, and the digest if it can be read again."""
    return f"{file['name']} (sha256 {str(file['sha256'])[:16]})" if file.get("sha256") else str(file["name"])


def _describe_unread(files: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the unreadable files of a folder of logs, with the reasons."""
    reasons = few((file["reason"] for file in files), MOST_FILES, comma="; ", more="; and {more} more, see run.json")
    return [("not read", reasons)] if files else []


def _describe_log_origins(imported: Mapping[str, Any], attempts: Sequence[Mapping]) -> list[tuple[str, str]]:
    """Return the source of the rank counts, the dates of the logs, and values of options; only what is known."""
    dates = list(dict.fromkeys(str(fact["date"]) for fact in attempts if fact.get("date")))[:MOST_FILES]
    rank_sources = [fact["ranks_from"] for fact in attempts if fact.get("ranks_from")]
    options = "; ".join(f"{name} {_option_text(value)}" for name, value in imported["said"].items())
    origins = {
        "ranks": f"from {rank_sources[0]}" if rank_sources else "",
        "date of the logs": ", ".join(dates),
        "set by option": options,
    }
    return [(what, text) for what, text in origins.items() if text]


def definition_words(plan: Plan, done: Sequence[SummaryRow]) -> str:
    """Return the timing methods of an imported run: the names in time_definition, with their text if known."""
    names = sorted({name for row in done for name in split_values(row["time_definition"])}) or ["none"]
    known = DEFINITIONS | (plan.definitions if isinstance(plan, ImportedPlan) else {})
    return "; ".join(f"{name}: {known.get(name, 'name as in the log')}" for name in names)


def _option_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "yes" if value is True else str(value)


def _find_missing(
    plan: Plan, imported: Mapping[str, Any], rows: Sequence[SummaryRow], attempts: Sequence[Mapping]
) -> list[str]:
    """List what measured runs record and this one does not."""
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
