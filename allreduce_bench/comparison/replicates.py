"""What counts once in a comparison: on the same hosts a launch; on other hosts a job, one draw of nodes of many.

A job is the launches with one SLURM_JOB_ID, of launches without one their run. Three jobs of 8 nodes within 20 minutes,
with one library, differed by more than 5 % in 67 % of cells, and by more than 20 % in 46 % (LUMI).
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from ..evaluation.rounds import FEWEST_ROUNDS
from .conditions import ComparedRun, are_alternated
from .pairs import FEWEST

UNKNOWN = "unknown"  # the host of a rank in some imported logs


class Replicate(NamedTuple):
    """What counts once."""

    name: str  # launch, job, round
    plural: str
    fewest: int  # for a verdict
    why: str = ""  # a launch is too little

    def lack(self, found: int) -> str:
        """Return why so few give no verdict."""
        side = "" if self == ROUND else " a side"
        need = f"a verdict needs {self.fewest} {self.plural}{side}, found {found}"
        return f"{self.why}; {need}" if self.why else need


LAUNCH = Replicate("launch", "launches", FEWEST)
JOB = Replicate("job", "jobs", FEWEST, "other nodes: the allocation alone can differ by this much")
UNPLACED_JOB = JOB._replace(why="hosts unknown: on other nodes the allocation alone can differ by this much")
ROUND = Replicate("round", "common rounds", FEWEST_ROUNDS)  # of runs whose launches alternated


def replicate_of(baseline: Sequence[ComparedRun], new: Sequence[ComparedRun], ranks: int) -> Replicate:
    """Return what counts once at a number of ranks.

    Of two runs whose launches alternated it is a round, launch k of one beside launch k of the other.
    Sides whose hosts are not known, such as most logs of other tools, are treated as on other hosts: then a log given
    by itself is a job, and so is a folder of logs.
    """
    if are_alternated(baseline, new):
        return ROUND
    before, after = (hosts_of(side, ranks) for side in (baseline, new))
    if not before or not after:
        return UNPLACED_JOB
    return LAUNCH if before == after else JOB


def hosts_of(side: Sequence[ComparedRun], ranks: int) -> frozenset[str]:
    """Return the names of the hosts on which the launches of a side ran; empty if some launch does not say."""
    places = [frozenset(fact.get("hosts", ())) for run in side for fact in run.attempts if fact["ranks"] == ranks]
    return frozenset[str]().union(*places) if all(names and UNKNOWN not in names for names in places) else frozenset()


def times_of(medians_s: Iterable[tuple[ComparedRun, dict[str, float]]], replicate: Replicate) -> list[float]:
    """Return the times of a cell on a side, one for each launch or job, seconds; `medians_s`: run, launch -> median.

    The time of a job is the median of its launches.
    """
    if replicate.name != JOB.name:
        return [time_s for _, of_run in medians_s for time_s in of_run.values()]
    jobs: dict[str, list[float]] = {}
    for run, of_run in medians_s:
        names = _jobs_of(run)
        for launch, time_s in of_run.items():
            jobs.setdefault(names.get(launch, run.name), []).append(time_s)
    return list(map(median, jobs.values()))


def _jobs_of(run: ComparedRun) -> dict[str, str]:
    """Return launch -> SLURM_JOB_ID, for launches that have one."""
    numbers = {fact["launch"]: fact.get("variables", {}).get("SLURM_JOB_ID") for fact in run.attempts}
    return {launch: number for launch, number in numbers.items() if number}
