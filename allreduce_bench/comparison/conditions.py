"""The runs of a comparison, and the conditions and facts in which they differ: one, several accepted ones, or noted."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..evaluation.competing import competing
from ..evaluation.environment import FIELDS, OF_A_JOB, PACKAGES, environment, format_values
from ..evaluation.summary_row import SummaryRow
from ..runs.conditions import CONDITIONS, conditions_of, name_of
from ..runs.folder import RunFolder
from ..runs.plan import Plan
from ..runs.rows import RunError
from ..runs.schema import BARRIER, split_values
from ..units import unknown_word

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})


class ComparedRun(NamedTuple):
    """One run folder."""

    name: str  # the path as it was given, of a run or a log
    plan: Plan
    rows: Sequence[SummaryRow]  # of `summarise`
    attempts: Sequence[dict[str, Any]]  # the facts of its launches
    unfinished: Sequence[str]  # names of launches that have cells left
    unread: Sequence[str] = ()  # of an imported folder of logs: why some of its files could not be read
    path: Path = Path()  # of the folder
    alternated: Sequence[Path] = ()  # the runs whose launches alternated with its own


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
    from ..evaluation.summary import summarise  # late: it loads pandas

    folder = RunFolder(kept_in)
    plan = folder.plan()
    unfinished = [launch.name for launch in folder.pending(plan)]
    unread = [str(file["reason"]) for file in (folder.imported() or {}).get("unread", ())]
    place = kept_in.resolve()
    alternated = [(place / other).resolve() for other in folder.alternated()]
    rows, attempts = summarise(folder), folder.attempts()
    return ComparedRun(str(path), plan, rows, attempts, unfinished, unread, place, alternated)


# What differs between the sides: conditions of the plans, facts of the launches


STARTING = ("launcher", "launcher-args", "x")  # conditions from which much may follow
PLACING = (*STARTING, "map-by", "bind-to", "ranks-per-node", "order")
FACTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {  # word of --despite -> its keys, and conditions they follow from
    "library": {
        "mpi_library": (),
        "thread_level": ("thread-level", *STARTING),
        "transport": ("thread-level", "interface", *PLACING),
        "binding": PLACING,
    },
    "machine": {"processor": (), "processor_family": (), "cores": (), "link": ("interface", *PLACING)},
    "layout": {"layout": ("pretend-ranks-per-node", *PLACING), "oversubscribed": PLACING},
}
DETAILS = {"late-by": "arrival", "work": "compute"}  # conditions that say more of another one
OF_TIME = ("sync", "compute", "arrival", "groups", *STARTING)  # conditions from which another timing method follows
DESPITE = (*FACTS, "time", *map(name_of, CONDITIONS.values()))
NOTED = (
    *("kernel", "libc", "transparent_huge_pages", "container", "governors", "memory"),
    *("python", *PACKAGES, "allreduce_bench"),
)
LABELS = {field.key: field.label for field in FIELDS} | {
    "oversubscribed": "oversubscription",
    "link": "link between nodes",
}
CROWDED = {True: "yes", False: "no"}


class Difference(NamedTuple):
    """A condition or a fact in which two sides differ."""

    name: str  # as in --despite
    text: str  # `warm -> cold`

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class Value(NamedTuple):
    """The value of a condition or a fact in a run."""

    value: Hashable
    text: str


Values = Mapping[str, Value]  # by condition or key; what a run does not say is left out


def parse_despite(text: str) -> frozenset[str]:
    """Parse `library,cache` to these words; `all` is every one. Raises ValueError."""
    chosen = {word.strip() for word in text.split(",") if word.strip()}
    if unknown := sorted(chosen - {*DESPITE, "all"}):
        raise ValueError(unknown_word("condition", unknown[0], [*DESPITE, "all"]))
    return frozenset(DESPITE if "all" in chosen else chosen)


def differing_conditions(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[Difference]:
    """Return the conditions in which the runs differ; logs do not say any, and what is unknown is no difference.

    Where the arrival differs, `late-by` is no further difference; nor is `work` where the phase of work differs.
    """
    unlike = _find_unlike(_condition_values, baseline, new)
    return [Difference(name, " -> ".join(texts)) for name, texts in unlike.items() if DETAILS.get(name) not in unlike]


def differing_facts(
    baseline: Sequence[ComparedRun], new: Sequence[ComparedRun], ranks: Iterable[int], conditions: Collection[str]
) -> list[Difference]:
    """Return the facts in which the runs differ at these rank counts, but for what follows from these conditions."""
    texts: dict[str, str] = {}  # by key, at the first rank count where it differs
    for n in sorted(ranks):
        for key, sides in _find_unlike(partial(_fact_values, n), baseline, new).items():
            texts.setdefault(key, " -> ".join(sides))
    found = []
    for name, keys in FACTS.items():
        unlike = [key for key, follows_from in keys.items() if key in texts and not {*follows_from} & {*conditions}]
        if unlike:
            found.append(Difference(name, "; ".join(f"{LABELS[key]} {texts[key]}" for key in unlike)))
    return found


def refuse_differences(differences: Sequence[Difference], despite: Collection[str]) -> None:
    """Raise RunError if the sides differ in two things or more that are not in `despite`: a cause would be unknown."""
    others = [difference for difference in differences if difference.name not in despite]
    if len(others) > 1:
        names = ",".join(difference.name for difference in others)
        raise RunError(f"not comparable, since they differ in {'; '.join(map(str, others))}; add --despite {names}")


def ignored_columns(conditions: Collection[str]) -> frozenset[str]:
    """Return the columns of cells that differ since these conditions differ, so that cells are matched without them."""
    ignored = {name for name in ("dtype", "op") if name in conditions}
    if {"segment", "window", "machine", "dtype"} & {*conditions}:
        ignored.add("segment")
    return frozenset(ignored)


def are_alternated(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> bool:
    """Return whether the sides are two runs whose launches alternated."""
    if len(baseline) != 1 or len(new) != 1:
        return False
    before, after = baseline[0], new[0]
    return before.path in after.alternated and after.path in before.alternated


def _condition_values(run: ComparedRun) -> Values:
    return {name: Value(text, text or "none") for name, text in conditions_of(run.plan).items()}


def _fact_values(ranks: int, run: ComparedRun) -> Values:
    """Return the keys of FACTS with a known value in the run at this rank count."""
    attempts = [fact for fact in run.attempts if fact["ranks"] == ranks]
    rows = [row for row in run.rows if row["ranks"] == ranks]
    values = _environment_values(attempts)
    if crowded := {fact["oversubscribed"] for fact in attempts} - {None}:  # an imported launch lacks it
        values["oversubscribed"] = Value(frozenset(crowded), ", ".join(sorted(CROWDED[value] for value in crowded)))
    if links := sorted({link for row in rows if (link := row.get("link"))}):
        values["link"] = Value(tuple(links), " and ".join(links))
    return {key: value for key, value in values.items() if any(key in keys for keys in FACTS.values())}


def _environment_values(attempts: Sequence[Mapping]) -> dict[str, Value]:
    facts = environment(attempts)
    return {
        field.key: Value(frozenset(facts[field.key]), format_values(facts[field.key], field.text))
        for field in FIELDS
        if field.key in facts
    }


def library_starts(runs: Sequence[ComparedRun]) -> list[str]:
    """Return a sentence if the runs are of several MPI libraries, and calls of some began after a library barrier.

    A common start by time also uses the library's barrier, but long before the common time: see `measuring.sync`.
    """
    libraries = {library for run in runs if (library := _environment_values(run.attempts).get("mpi_library"))}
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
    return BARRIER in split_values(row.get("start"))


def changes(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]) -> list[str]:
    """Return other differences between the sides, possible causes: `kernel: Linux 6.1 -> Linux 6.2`."""
    noted, variables = (_find_unlike(values, baseline, new) for values in (_noted_values, _variable_values))
    all_changes = [(LABELS[key], texts) for key, texts in noted.items()]
    all_changes += [(f"variable {name}", texts) for name, texts in variables.items()]
    return [f"{label}: {' -> '.join(texts)}" for label, texts in all_changes if texts[0] != texts[1]]


def _find_unlike(
    values_of: Callable[[ComparedRun], Values], baseline: Sequence[ComparedRun], new: Sequence[ComparedRun]
) -> dict[str, tuple[str, str]]:
    """Return key -> its texts in the baseline and in the new runs, of each value that is not the same in all runs.

    What all runs of a side leave unsaid is no difference, but for variables, which are then not set.
    """
    sides = [list(map(values_of, side)) for side in (baseline, new)]
    unlike = {}
    for key in dict.fromkeys(key for side in sides for run in side for key in run):
        absent = Value(None, "not set") if values_of is _variable_values else None
        found = [[value for run in side if (value := run.get(key, absent)) and value.text] for side in sides]
        if all(found) and len({value.value for side in found for value in side}) > 1:
            before, after = (" or ".join(sorted({value.text for value in side})) for side in found)
            unlike[key] = (before, after)
    return unlike


def _noted_values(run: ComparedRun) -> Values:
    values = _environment_values(run.attempts)
    return {key: values[key] for key in NOTED if key in values}


def _variable_values(run: ComparedRun) -> Values:
    variables = {name: value for fact in run.attempts for name, value in fact.get("variables", {}).items()}
    return {name: Value(value, value) for name, value in variables.items() if not name.startswith(OF_A_JOB)}
