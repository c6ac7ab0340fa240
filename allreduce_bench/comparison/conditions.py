"""The runs of a comparison, and the conditions under which they were measured: equal, accepted or changed."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..evaluation.cell_times import competing, split_values, valid_calls
from ..evaluation.environment import FIELDS, OF_A_JOB, PACKAGES, environment, format_values
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow, placement_text
from ..runs.cell import Executor
from ..runs.folder import RunFolder
from ..runs.groups import describe
from ..runs.plan import ImportedPlan, Plan
from ..runs.rows import RunError
from ..runs.schema import common_start
from ..units import format_time, in_ranks, unknown_word

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})


class ComparedRun(NamedTuple):
    """One run folder."""

    name: str  # the path as it was given, of a run or a log
    plan: Plan
    rows: Sequence[SummaryRow]  # of `summarise`
    attempts: Sequence[dict[str, Any]]  # the facts of its launches
    unfinished: Sequence[str]  # names of launches that have cells left
    unread: Sequence[str] = ()  # of an imported folder of logs: why some of its files could not be read

    @property
    def tick_s(self) -> float:
        """Return the coarsest step of its clocks, seconds; 0 if unknown."""
        timers = [machine.get("timer") or {} for fact in self.attempts for machine in fact.get("machines", ())]
        return max((timer.get("step_s") or timer.get("resolution_s") or 0.0 for timer in timers), default=0.0)


def read_sides(
    baseline: Sequence[Path], new: Sequence[Path], kept: Mapping[Path, Path] = NOTHING_KEPT
) -> tuple[list[ComparedRun], list[ComparedRun]]:
    """Read the runs of both sides; `kept`: log of another tool -> run folder of its times.

    Raises RunError: unreadable, named twice, or with invalid times.
    """
    given_as: dict[Path, Path] = {}
    for path in (*baseline, *new):
        if (place := path.resolve()) in given_as:
            raise RunError(f"{path}: named twice; a run cannot be compared with itself, name another run")
        given_as[place] = path
    before, after = ([_read_run(path, kept.get(path, path)) for path in side] for side in (baseline, new))
    return before, after


def _read_run(path: Path, kept_in: Path) -> ComparedRun:
    folder = RunFolder(kept_in)
    plan = folder.plan()
    _refuse_bad_times(folder)
    unfinished = [launch.name for launch in folder.pending(plan)]
    unread = [str(file["reason"]) for file in (folder.imported() or {}).get("unread", ())]
    return ComparedRun(str(path), plan, summarise(folder), folder.attempts(), unfinished, unread)


def _refuse_bad_times(folder: RunFolder) -> None:
    """Raise RunError if a time that counts is not above 0."""
    for block in folder.blocks():
        if Executor(block["executor"][0]).is_reference:  # may be shorter than the clock can resolve
            continue
        calls = enumerate(zip(valid_calls(block), block["time_s"]))
        if (bad_index := next((i for i, (valid, text) in calls if valid and not _is_time(text)), None)) is not None:
            row = {name: values[bad_index] for name, values in block.items()}
            cell = f"{row['algorithm']} {row['nbytes']} B, launch {row['launch']}, repetition {row['repetition']}"
            raise RunError(
                f"{folder.path}: damaged: {cell}: time_s is '{row['time_s']}', expected seconds above 0; measure again"
            )


def _is_time(text: str) -> bool:
    try:
        return isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False


# Conditions that must be equal, accepted differences, and other changes


SAME = {  # word of --despite -> keys that must be equal
    "time": ("time_definition",),
    "library": ("mpi_library",),
    "thread-level": ("thread_level",),
    "transport": ("transport",),
    "machine": ("processor", "processor_family", "cores"),
    "layout": ("layout", "pretended"),
    "binding": ("binding",),
    "oversubscribed": ("oversubscribed",),
    "interface": ("interface", "link"),
    "groups": ("groups",),
    "order": ("order",),
    "placement": ("placement",),
    "inputs": ("inputs",),
    "work": ("work", "late_by"),
}
IMPLIED = {"library": ("thread-level", "transport", "binding")}  # these depend on the library
NOTED = ("kernel", "container", "governors", "memory", "python", *PACKAGES, "allreduce_bench")
LABELS = {field.key: field.label for field in FIELDS} | {
    "time_definition": "timing method",
    "groups": "groups",
    "order": "order of ranks",
    "placement": "where vectors lie",
    "inputs": "inputs of consecutive calls",
    "work": "work before a call",
    "late_by": "largest delay of an arrival pattern",
    "pretended": "pretended nodes",
    "oversubscribed": "oversubscription",
    "interface": "requested interface",
    "link": "link between nodes",
}
CROWDED = {True: "yes", False: "no"}


class Difference(NamedTuple):
    """A condition in which two runs differ."""

    word: str  # of --despite
    key: str  # of LABELS
    values: tuple[str, str]
    runs: tuple[str, str]
    ranks: tuple[int, ...]  # at which they differ; empty: at all compared rank counts

    def __str__(self) -> str:
        at = f" at {in_ranks(self.ranks)}" if self.ranks else ""
        first, second = (f"{value} ({run})" for value, run in zip(self.values, self.runs))
        return f"{LABELS[self.key]}{at}: {first}, {second}"


class Condition(NamedTuple):
    """The value of one condition in a run."""

    value: Hashable
    text: str


def parse_despite(text: str) -> frozenset[str]:
    """Parse `library,machine` to these words and those they imply; `all` is every one. Raises ValueError."""
    chosen = {word.strip() for word in text.split(",") if word.strip()}
    if unknown := sorted(chosen - {*SAME, "all"}):
        raise ValueError(unknown_word("condition", unknown[0], [*SAME, "all"]))
    if "all" in chosen:
        return frozenset(SAME)
    return frozenset(chosen.union(*(IMPLIED.get(word, ()) for word in chosen)))


def accepted_differences(
    runs: Sequence[ComparedRun], ranks: Collection[int], despite: Collection[str]
) -> list[Difference]:
    """Return the differences of the runs from the first one at these rank counts, each condition once.

    Unknown values are not differences. Raises RunError if a difference is not in `despite`.
    """
    differences: dict[str, Difference] = {}
    for run in runs[1:]:
        for difference in _differences(runs[0], run, sorted(ranks)):
            differences.setdefault(difference.key, difference)
    refused = [difference for difference in differences.values() if difference.word not in despite]
    if refused:
        missing_words = ",".join(dict.fromkeys(difference.word for difference in refused))
        sentences = "; ".join(map(str, refused))
        raise RunError(f"not comparable: {sentences}; to compare nevertheless, add --despite {missing_words}")
    return list(differences.values())


def _differences(run: ComparedRun, other_run: ComparedRun, ranks: Sequence[int]) -> list[Difference]:
    differences = []
    conditions = {n: (_conditions(run, n), _conditions(other_run, n)) for n in ranks}
    for word, key in ((word, key) for word, keys in SAME.items() for key in keys):
        unlike = {
            n: (own[key].text, other[key].text)
            for n, (own, other) in conditions.items()
            if key in own and key in other and not _is_alike(key, own[key], other[key])
        }
        if unlike:
            texts = next(iter(unlike.values()))
            named_ranks = () if len(unlike) == len(ranks) else tuple(unlike)
            differences.append(Difference(word, key, texts, (run.name, other_run.name), named_ranks))
    return differences


def _is_alike(key: str, own: Condition, other: Condition) -> bool:
    """Return whether two runs agree; on placements if they have one in common."""
    if key == "placement":
        return bool(set(own.value) & set(other.value))  # type: ignore[call-overload]
    return own.value == other.value


def _conditions(run: ComparedRun, ranks: int) -> dict[str, Condition]:
    """Return the keys of LABELS with a known value in the run at this rank count."""
    attempts = [fact for fact in run.attempts if fact["ranks"] == ranks]
    rows = [row for row in run.rows if row["ranks"] == ranks]
    plan, pretended, definition = run.plan, run.plan.pretend_ranks_per_node, _usual_definition(rows)
    crowded = {fact["oversubscribed"] for fact in attempts} - {None}  # an imported launch lacks it
    links = sorted({link for row in rows if (link := row.get("link"))})
    conditions = _environment_conditions(attempts) | {
        "groups": Condition(plan.groups, describe(plan.groups, ranks) if plan.groups else "none"),
        "work": Condition((plan.compute_s, plan.work, plan.inject_slowdown), _work_text(plan)),
        "pretended": Condition(pretended, f"of {pretended} ranks" if pretended else "none"),
        "interface": Condition(plan.start.interface, plan.start.interface or "none"),
    }
    if not isinstance(plan, ImportedPlan):  # a log lacks both; early runs used numpy's placement
        conditions["order"] = Condition(plan.order, ",".join(plan.order) or "the launcher's")
        conditions["placement"] = Condition(frozenset(plan.placement), placement_text(plan.placement[0]))
        if True in crowded:  # elsewhere it changes no time by more than 1 %
            conditions["inputs"] = Condition(plan.inputs, plan.inputs)
    if plan.arrival:
        conditions["late_by"] = Condition(plan.late_by, plan.late_by)
    if definition:
        conditions["time_definition"] = Condition(definition, definition)
    if crowded:
        crowded_text = ", ".join(sorted(CROWDED[value] for value in crowded))
        conditions["oversubscribed"] = Condition(frozenset(crowded), crowded_text)
    if links:
        conditions["link"] = Condition(tuple(links), " and ".join(links))
    return conditions


def _work_text(plan: Plan) -> str:
    """Format `none`, or `10 ms (sleep), rank 5 12% longer`."""
    if not plan.compute_s:
        return "none"
    slower = [f"rank {word.replace(':', ' ')} longer" for word in plan.inject_slowdown]
    return ", ".join([f"{format_time(plan.compute_s)} ({plan.work})", *slower])


def _environment_conditions(attempts: Sequence[Mapping]) -> dict[str, Condition]:
    facts = environment(attempts)
    return {
        field.key: Condition(frozenset(facts[field.key]), format_values(facts[field.key], field.text))
        for field in FIELDS
        if field.key in facts
    }


def _usual_definition(rows: Sequence[SummaryRow]) -> str:
    """Return the timing method of most cells; a cell measured by another method is judged separately.

    Cells with delayed ranks are ignored: their method differs for that reason.
    """
    counts = Counter(row["time_definition"] for row in competing(rows) if row["time_s"] is not None)
    return counts.most_common(1)[0][0] if counts else ""


def library_starts(runs: Sequence[ComparedRun]) -> list[str]:
    """Return a sentence if the runs are of several MPI libraries, and calls of some began after a library barrier.

    A common start by time also uses the library's barrier, but long before the common time: see `measuring.sync`.
    """
    libraries = {library for run in runs if (library := _environment_conditions(run.attempts).get("mpi_library"))}
    barriers = [run.name for run in runs if any(_begins_by_barrier(row) for row in competing(run.rows))]
    if len(libraries) < 2 or not barriers:
        return []
    return [
        (
            f"calls of {' and '.join(barriers)} begin after the library's own MPI_Barrier: how far apart ranks leave "
            "it is part of their times and differs between libraries; measure all runs with --sync round_time"
        )
    ]


def _begins_by_barrier(row: SummaryRow) -> bool:
    """Return whether some launches of a row began their calls by a barrier."""
    return "barrier" in map(common_start, split_values(row.get("time_definition")))


def changes(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[str]:
    """Return other differences between the sides, possible causes: `kernel: Linux 6.1 -> Linux 6.2`."""
    noted = _changed_conditions(list(map(_noted_conditions, baseline)), list(map(_noted_conditions, new)))
    unset = Condition(None, "not set")
    variables = _changed_conditions(
        list(map(_variable_conditions, baseline)), list(map(_variable_conditions, new)), unset
    )
    all_changes = [(LABELS[key], texts) for key, texts in noted] + [
        (f"variable {name}", texts) for name, texts in variables
    ]
    return [f"{label}: {' -> '.join(texts)}" for label, texts in all_changes]


Conditions = Sequence[Mapping[str, Condition]]  # of each run of a side


def _changed_conditions(
    before: Conditions, after: Conditions, absent: Condition | None = None
) -> list[tuple[str, list[str]]]:
    """Return (key, texts before and after) of each difference between the sides; `absent`: for a run without the key.

    Without `absent` a run without the key is ignored.
    """
    changed = []
    for key in dict.fromkeys(key for run in (*before, *after) for key in run):
        sides = [
            [condition for run in side if (condition := run.get(key, absent)) and condition.text]
            for side in (before, after)
        ]
        values = [{condition.value for condition in side} for side in sides]
        if all(values) and values[0] != values[1]:
            changed.append((key, [" or ".join(sorted({condition.text for condition in side})) for side in sides]))
    return changed


def _noted_conditions(run: ComparedRun) -> dict[str, Condition]:
    conditions = _environment_conditions(run.attempts)
    return {key: conditions[key] for key in NOTED if key in conditions}


def _variable_conditions(run: ComparedRun) -> dict[str, Condition]:
    variables = {name: value for fact in run.attempts for name, value in fact.get("variables", {}).items()}
    return {name: Condition(value, value) for name, value in variables.items() if not name.startswith(OF_A_JOB)}
