"""Whether runs can be compared at all: what has to be the same, which differences were accepted, what else changed."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...report.how_measured import PACKAGES, environment
from ...runs.groups import describe
from ...runs.rows import RunError
from ...units import in_ranks
from ..summary import Summary
from .reading import Run

SAME = {  # word of --despite -> what has to be the same
    "time": ("time of a call",),
    "library": ("MPI library",),
    "thread-level": ("thread level",),
    "transport": ("transport, as the MPI says",),
    "machine": ("processor", "cores of a node"),
    "layout": ("nodes x ranks", "pretended nodes"),
    "binding": ("bound to cores",),
    "oversubscribed": ("more ranks than cores",),
    "interface": ("interface asked for", "link between nodes"),
    "groups": ("groups",),
}
IMPLIED = {"library": ("thread-level", "transport", "binding")}  # what each library has of its own
NOTED = ("kernel", "container", "frequency governor", "memory of a node", "Python", *PACKAGES, "allreduce-bench")
CROWDED = {True: "yes", False: "no", None: ""}  # an imported launch does not say
VARIABLE = "variable "
OF_A_JOB = (
    "SLURM_JOB_",
    "SLURM_ARRAY_",
    "SLURM_RESTART_COUNT",
    "PBS_JOBID",
    "LSB_JOBID",
)  # variables that always differ


class Difference(NamedTuple):
    """A condition in which two runs differ."""

    word: str  # of --despite
    what: str
    values: tuple[str, str]
    runs: tuple[str, str]
    ranks: tuple[int, ...]  # at which they differ; empty: at all that are compared

    def __str__(self) -> str:
        at = f" at {in_ranks(self.ranks)}" if self.ranks else ""
        one, other = (f"{value} ({run})" for value, run in zip(self.values, self.runs))
        return f"{self.what}{at}: {one}, {other}"


def parse_despite(text: str) -> frozenset[str]:
    """The words of `library,machine`, with what they imply; `all` is every one. Raises ValueError."""
    words = {word.strip() for word in text.split(",") if word.strip()}
    if unknown := sorted(words - {*SAME, "all"}):
        raise ValueError(f"unknown '{unknown[0]}'; known: {', '.join(SAME)}, all")
    if "all" in words:
        return frozenset(SAME)
    return frozenset(words.union(*(IMPLIED.get(word, ()) for word in words)))


def accepted(runs: Sequence[Run], ranks: Collection[int], despite: Collection[str]) -> list[Difference]:
    """Where the runs differ from the first one at these rank counts, each condition once.

    What a run does not say is not held against it. Raises RunError where a difference is not in `despite`.
    """
    found: dict[str, Difference] = {}
    for run in runs[1:]:
        for difference in _differences(runs[0], run, sorted(ranks)):
            found.setdefault(difference.what, difference)
    refused = [difference for difference in found.values() if difference.word not in despite]
    if refused:
        words = ",".join(dict.fromkeys(difference.word for difference in refused))
        told = "; ".join(map(str, refused))
        raise RunError(f"not comparable: {told}; if that is what you compare, add --despite {words}")
    return list(found.values())


def _differences(one: Run, other: Run, ranks: Sequence[int]) -> list[Difference]:
    ours, theirs = ({count: _conditions(run, count) for count in ranks} for run in (one, other))
    found = []
    for word, whats in SAME.items():
        for what in whats:
            values = {count: (ours[count].get(what, ""), theirs[count].get(what, "")) for count in ranks}
            at = tuple(count for count, (a, b) in values.items() if a and b and a != b)
            if at:
                everywhere = len(at) == len(ranks)
                found.append(Difference(word, what, values[at[0]], (one.name, other.name), () if everywhere else at))
    return found


def _conditions(run: Run, ranks: int) -> dict[str, str]:
    """What -> in words; nothing where the run does not say."""
    attempts = [fact for fact in run.attempts if fact["ranks"] == ranks]
    rows = [row for row in run.rows if row["ranks"] == ranks]
    pretended = run.plan.pretend_ranks_per_node
    links = sorted({row["link"] for row in rows if row.get("link")})
    return dict(environment(attempts)) | {
        "time of a call": _usual_definition(rows),
        "groups": describe(run.plan.groups, ranks) if run.plan.groups else "none",
        "pretended nodes": f"of {pretended} ranks" if pretended else "none",
        "more ranks than cores": ", ".join(sorted({CROWDED[fact["oversubscribed"]] for fact in attempts} - {""})),
        "interface asked for": run.plan.start.interface or "none",
        "link between nodes": " and ".join(links),
    }


def _usual_definition(rows: Sequence[Summary]) -> str:
    """What a time is in most cells; a cell that had to be measured otherwise is judged by itself."""
    found = Counter(row["time_definition"] for row in rows if row["time_s"] is not None)
    return found.most_common(1)[0][0] if found else ""


def changes(baseline: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """What else is not the same on both sides and may be the cause, or no matter: `kernel: Linux 6.1 -> Linux 6.2`."""
    before, after = ([_noted(run) for run in side] for side in (baseline, new))
    told = []
    for what in dict.fromkeys(what for facts in (*before, *after) for what in facts):
        unsaid = "not set" if what.startswith(VARIABLE) else ""
        values = [sorted({facts.get(what, unsaid) for facts in side} - {""}) for side in (before, after)]
        if all(values) and values[0] != values[1]:
            told.append(f"{what}: {' or '.join(values[0])} -> {' or '.join(values[1])}")
    return told


def _noted(run: Run) -> dict[str, str]:
    words = dict(environment(run.attempts))
    variables = {name: value for fact in run.attempts for name, value in fact.get("variables", {}).items()}
    return {what: words[what] for what in NOTED if what in words} | {
        f"{VARIABLE}{name}": value for name, value in variables.items() if not name.startswith(OF_A_JOB)
    }
