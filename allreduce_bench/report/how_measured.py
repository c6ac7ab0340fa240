"""How, when and where a run was measured, as text: by this program, or by another tool as far as its logs tell.

All functions return text about one run, made from its plan, its summary rows and the facts of its launches.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..evaluation import environment as environment_facts
from ..evaluation.agreement import why_not_compared
from ..evaluation.environment import format_values, values_of
from ..evaluation.summary_row import SummaryRow
from ..machine.traffic import parse_traffic, total_traffic
from ..measuring.budget import MAX_REPETITIONS
from ..measuring.vectors import CALLS, EXPONENTS
from ..runs.command_of_plan import repeat_command
from ..runs.conditions import SAID_IN_TABLES, conditions_text
from ..runs.dtypes import is_float
from ..runs.folder import RunFolder, merged_sources, merged_sources_sentence
from ..runs.plan import ImportedPlan, Plan
from ..runs.rank_order import BLOCK, CYCLIC
from ..runs.schema import split_values
from ..stats import LEAST_FOR_INTERVAL, MIN_LAUNCHES
from ..units import counted, few, format_size, format_time, in_ranks
from .verdict_sentence import confidence

FLOORS_MEASURED = "an empty call, a local copy and a local reduction of the vector, measured the same way on every rank"
BEGUN = {  # how ranks enter a call -> as text
    "barrier": "after an MPI_Barrier",
    "round_time": "at a time on the common clock that rank 0 announces",
}
ORDERS = {
    BLOCK: "The ranks of each host follow each other, host after host (--order block).",
    CYCLIC: "A rank of each host follows in turn (--order cyclic).",
}
MOST_HOSTS, MOST_FILES = 32, 20  # of an order of ranks, and of an import: listed by name
LARGE = 1024**2  # bytes of a vector: below, other traffic distorts the counters too much
DEFINITIONS = {
    # of runs imported from the output of `run`
    "max_local": "the maximum over ranks of exit - entry after a common start, median of calls and launches",
    "none": "unknown: no cell has a time",
}


def describe_method(plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> list[tuple[str, str]]:
    """Return how it was measured: (label, text)."""
    done = [row for row in rows if row["time_s"] is not None]
    of_a_call = "last exit - last entry" if plan.arrival else "the maximum over ranks of exit - entry"
    told = {
        "operation": f"all-reduce, {operation_sentence(plan)}",
        "time of a call": f"{of_a_call}; the entry is {_begun_text(attempts)}",
        "common start": format_values(values_of(attempts, _start_of)),
        "common clock": _common_clock_text(attempts),
        "time of a cell": "median over launches of the median over its timed calls",
        "launches": _launches_text(plan, range_words(row["launches"] for row in done)),
        "timed calls": f"{range_words(row['repetitions'] for row in done)} per cell over all launches",
        "stopping rule": _end_rule_text(plan, done),
        "warm-ups": f"{plan.warmups} per cell and launch, kept in the raw files, excluded from all statistics",
        "interval": _interval_text(done),
        "cache": _cache_text(plan, attempts),
        "order of ranks": order_sentence(plan) if plan.order else "",
        "reference times": FLOORS_MEASURED if plan.floors else "not measured (--no-reference-times)",
        "checks": _checks_text(rows),
        "bits": _bits_text(plan) if plan.check == "bits" else "",
        "order of cells": _order_text(plan, attempts),
    }
    return [*((label, text) for label, text in told.items() if text), *_describe_network(rows)]


def operation_sentence(plan: Plan) -> str:
    """Return the operation and the conditions that are not the default: `float32 sum, out of place, cache cold`."""
    conditions = conditions_text(plan, *SAID_IN_TABLES)
    return ", ".join(filter(None, [f"{plan.dtype} {plan.op}", plan.place, conditions]))


def _begun_text(attempts: Sequence[dict]) -> str:
    ways = {fact["sync"]["way"] for fact in attempts if "sync" in fact} or {"barrier"}
    return " or ".join(words for way, words in BEGUN.items() if way in ways)


def _start_of(fact: Mapping[str, Any]) -> list[str]:
    """Return how the calls of a launch began, and why; empty: it does not say."""
    return [f"{fact['sync']['way']}: {fact['sync']['why']}"] if "sync" in fact else []


def _common_clock_text(attempts: Sequence[dict]) -> str:
    """Describe the common clock and its largest error over the launches; empty without one."""
    known = [fact["clock"] for fact in attempts if fact["ranks"] > 1 and "clock" in fact]
    clocks = [clock for clock in known if clock.get("error_start_s") is not None]
    errors_s = [clock[name] for clock in clocks for name in ("error_start_s", "error_end_s") if clock.get(name)]
    return f"{clocks[0]['method']}, error at most {format_time(max(errors_s, default=0.0))}" if clocks else ""


def _launches_text(plan: Plan, finished: str) -> str:
    """Return how many launches were planned and finished, and what is beside them."""
    words = f"separate mpiruns per rank count: {plan.launches} planned, {finished} finished per cell"
    number = len(plan.forced_launches)
    return f"{words}; beside each one {number} in which the library is told which algorithm to use" if number else words


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
    launches = sorted({row["launches"] for row in done if row.get("interval") == "launches"})
    kinds = {
        "launches": f"{' or '.join(dict.fromkeys(map(confidence, launches)))} of the median over launches, from order "
        "statistics: up to 8 launches their range",
        "repetitions": "95 % within launches (too few launches): of the median over calls, widened for the correlation "
        "between calls (self-normalised, Shao 2010); for two launches, the hull of both intervals",
        "range": f"none below {LEAST_FOR_INTERVAL} calls per launch: the range of the calls",
    }
    return "; ".join(text for kind, text in kinds.items() if any(row.get("interval") == kind for row in done)) or "none"


def _cache_text(plan: Plan, attempts: Sequence[dict]) -> str:
    """Return the state of the cache at the calls of a cell."""
    if plan.cache == "warm":
        return "warm: every call uses the same buffers"
    touched = format_values(values_of(attempts, lambda fact: [fact.get("cold_nbytes") or None]), format_size)
    return f"cold: between two uses of a buffer each rank touches {touched}, twice its share of the node's caches"


def order_sentence(plan: Plan) -> str:
    """Return on which hosts the ranks of the all-reduce sit, of a run with --order."""
    named = f"The ranks sit on these hosts, in their order: {few(plan.order, MOST_HOSTS)} (--order)."
    return ORDERS.get(plan.order[0], named)


def _checks_text(rows: Sequence[SummaryRow]) -> str:
    wrong = [number for row in rows if (number := row.get("wrong")) is not None]
    found = f"{counted(len(wrong), 'cell')}: {counted(sum(wrong), 'wrong element')}"
    if not (checks := sum(row.get("checks") or 0 for row in rows)):
        return f"exact vectors before and after the timed calls of {found}"
    return (
        f"every bit of {checks} calls on exact vectors, before, between and after the timed calls of {found}; of each "
        "timed call one element of each rank's part"
    )


def _bits_text(plan: Plan) -> str:
    if not is_float(plan.dtype):
        return why_not_compared(plan)
    exponents, below = (2, 2) if plan.op == "prod" else (EXPONENTS[plan.dtype], 1)
    inputs = f"floats below {below} with random signs, significands and {exponents} exponents, seed {plan.seed}"
    return f"{inputs}; compared between ranks, between {CALLS} calls and between launches"


def _order_text(plan: Plan, attempts: Sequence[dict]) -> str:
    """Describe the order of the cells of a launch."""
    limited = [fact.get("size_sets") or [] for fact in attempts if fact.get("in_haste")]
    most: list[list[int]] = max(limited, key=len, default=[])
    if len(most) > 1:
        sizes = "; then ".join(", ".join(map(format_size, sizes)) for sizes in most)
        return f"set by set of sizes, as far as --within allowed: {sizes}; random within a set, seed {plan.seed}"
    return f"random in every launch, seed {plan.seed}"


def _describe_network(rows: Sequence[SummaryRow]) -> list[tuple[str, str]]:
    """Return the bytes on the network, and the links that the times are compared with: (label, sentence)."""
    ranks_of: dict[tuple[str, str], list[int]] = {}
    for ranks in sorted({row["ranks"] for row in rows}):
        of_ranks = [row for row in rows if row["ranks"] == ranks]
        link = next((row["link"] for row in of_ranks if row.get("link")), None)
        for label, sentence in (("network traffic", traffic_sentence(of_ranks)), ("link between nodes", link)):
            if sentence:
                ranks_of.setdefault((label, sentence), []).append(ranks)
    return [(label, f"{sentence} ({in_ranks(rank_counts)})") for (label, sentence), rank_counts in ranks_of.items()]


def traffic_sentence(rows: Iterable[Mapping]) -> str | None:
    """Name the networks that carried the schedules' bytes, from summary rows of one rank count; None if not counted.

    Only rows of known schedules and of at least LARGE bytes count. Traffic that bypasses the kernel has no counter:
    bytes that no interface carried are called not counted, not 0.
    """
    known = [row for row in rows if row.get("wire") and row.get("internode_nbytes") is not None]
    large = [row for row in known if row["size_bytes"] >= LARGE]
    counts = total_traffic(parse_traffic(row["wire"]) for row in large)
    if not counts:
        return None
    busiest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    required, moved = (sum(row[name] for row in large) for name in ("internode_nbytes", "size_bytes"))
    what = f"network traffic at {format_size(LARGE)} and above"
    if required and _ratio_text(sum(counts.values()) / required) == "0":
        return f"{what}: not counted by {', '.join(name for name, _ in busiest)}, which carried none of it"
    if required:
        shares = ", ".join(f"{_ratio_text(nbytes / required)} on {name}" for name, nbytes in busiest)
        return f"{what}, relative to the schedules' inter-node bytes: {shares}"
    if max(counts.values()) <= 0.01 * moved:
        return f"no {what}: one node, shared memory"
    used = ", ".join(f"{_ratio_text(nbytes / moved)} the vector size on {name}" for name, nbytes in busiest)
    return f"one node, but with {what}: {used}"


def _ratio_text(ratio: float) -> str:
    return "0" if ratio < 0.005 else f"{ratio:.2f} x"


def describe_environment(attempts: Sequence[dict]) -> list[tuple[str, str]]:
    """Return the environment of the launches: (label, text), every value, with its rank counts if they differ."""
    facts = environment_facts.environment(attempts)
    fields = (field for field in environment_facts.FIELDS if field.key in facts)
    return [(field.label, format_values(facts[field.key], field.text)) for field in fields]


def range_words(values: Iterable[int | None]) -> str:
    """Format `3`, `3 to 5`, or `none`."""
    numbers = sorted(value for value in values if value is not None)
    return " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1])))) if numbers else "none"


def describe_origin(
    folder: RunFolder, plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]
) -> dict[str, Any]:
    """Return when, where and how the run was measured, and the command that repeats it. Raises RunError."""
    run, imported, merged = folder.open(), folder.imported(), merged_sources(folder)
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        source, operation = _source_words(imported), _imported_operation_words(plan, imported)
        times = f"times are {definition_words(plan, done)}; median over launches"
        method = describe_imported_method(plan, imported, rows, attempts)
    else:
        source, operation = "", operation_sentence(plan)
        times = "times are the maximum over ranks, median over calls and launches"
        method = describe_method(plan, rows, attempts)
        method += [("merged from", merged_sources_sentence(merged))] if merged else []
    libraries = (library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    return {
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(dict.fromkeys(libraries)),
        "imported": source,
        "operation": operation,
        "times": times,
        "method": method,
        "environment": describe_environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else repeat_command(plan)),
    }


def _source_words(imported: Mapping[str, Any]) -> str:
    """Return `OSU Micro-Benchmarks 7.4, osu.txt`."""
    first, *others = (str(file["name"]) for file in imported["files"])
    more = f" and {counted(len(others), 'more file')}" if others else ""
    return f"{_tool_and_version(imported)}, {first}{more}"


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
    done = [row for row in rows if row["time_s"] is not None]
    checked = sum(row.get("wrong") is not None for row in rows)
    with_interval = sum(row["launches"] >= MIN_LAUNCHES for row in done)
    files = few(map(_file_in_words, imported["files"]), MOST_FILES, more=" and {more} more, see run.json")
    unread = (file["reason"] for file in imported.get("unread") or ())
    told = {
        "imported from": f"{_tool_and_version(imported)}: {files}",
        "not read": few(unread, MOST_FILES, comma="; ", more="; and {more} more, see run.json"),
        "system": imported.get("system") or "",
        "operation": f"all-reduce, {_imported_operation_words(plan, imported)}",
        "time of a call": definition_words(plan, done),
        "time of a cell": "median over launches of the time in the log, or of the median over its calls",
        "launches": f"{len(attempts)}; a launch is an allocation, a file, or a table in a file",
        "interval": f"over launches for {with_interval} of {len(done)} cells ({MIN_LAUNCHES} launches or more), from "
        "order statistics; within launches for the others, where the logs have single calls",
        "checks": f"{checked} of {len(rows)} cells were checked, according to the logs" if checked else "unknown",
        "ranks": next((f"from {source}" for fact in attempts if (source := fact.get("ranks_from"))), ""),
        "date of the logs": ", ".join(
            list(dict.fromkeys(str(fact["date"]) for fact in attempts if fact.get("date")))[:MOST_FILES]
        ),
        "set by option": "; ".join(f"{name} {_option_text(value)}" for name, value in imported["said"].items()),
    }
    return [(label, text) for label, text in told.items() if text]


def _file_in_words(file: Mapping[str, Any]) -> str:
    """Return its name, and the digest if it can be read again."""
    return f"{file['name']} (sha256 {str(file['sha256'])[:16]})" if file.get("sha256") else str(file["name"])


def definition_words(plan: Plan, done: Sequence[SummaryRow]) -> str:
    """Return the timing methods of an imported run: the names in time_definition, with their text if known."""
    names = sorted({name for row in done for name in split_values(row["time_definition"])}) or ["none"]
    known = DEFINITIONS | (plan.definitions if isinstance(plan, ImportedPlan) else {})
    return "; ".join(f"{name}: {known.get(name, 'name as in the log')}" for name in names)


def _option_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "yes" if value is True else str(value)
