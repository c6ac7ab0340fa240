"""The reliability of the times of a rank count: a grade, and its reasons by weight. Facts only.

The worst reason decides the grade. Unknown facts (the load in imported and in early runs) do not lower it; they are
listed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..machine.core_load import DISTURBED, OVERRUN, CoreUse, core_use, is_throttled
from ..machine.findings import usable_cores
from ..runs.schema import GOOD, GRADES, NOT_RELIABLE, PROVISIONAL
from ..stats import LEAST_FOR_INTERVAL, median
from .agreement import broken_promise
from .doubts import APART
from .summary_row import Grade, Reason, SummaryRow

# Of the cores that the ranks may use. Where ranks wait for each other, the slowest decides: a twentieth of the time is
# of the size of the differences that people measure for; with a quarter, some rank has at most half a core for whole
# calls, and medians are those of the scheduler. The same limits hold for steal time.
LOADED, OVERLOADED = DISTURBED, OVERRUN
ENOUGH_LAUNCHES = 5  # as many as `run` takes: an interval over fewer launches rests on few numbers
ENOUGH_CALLS = LEAST_FOR_INTERVAL  # below, their median has no 95 % interval
# Upper over lower end of the interval of a cell's time, median over the cells: above it, times alone do not show
# an advantage of 10 %. Never worse than provisional, since ratios within launches hold where launches differ.
WIDE = 1.2
MOST_FACTOR = 10  # larger factors are printed only if the grade is good
COUNTS = ("elapsed_s", "worked_s", "stolen_s", "own_s")  # of a node in a launch
SOME_DOUBTED = 0.1  # share of the cells that a doubt stands against


def grade_of(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Grade:
    """Return the grade of the rows of one rank count; `attempts`: the facts of its launches."""
    reasons = [Reason(code, *verdict) for code, criterion in CRITERIA.items() if (verdict := criterion(rows, attempts))]
    reasons.sort(key=lambda reason: -GRADES.index(reason.grade))  # stable: within a grade as in CRITERIA
    level = reasons[0].grade if reasons else GOOD
    return Grade(level, tuple(reasons), () if _uses(attempts) else ("load",))


def is_disturbed(row: SummaryRow) -> bool:
    """Return whether the times are not reliable since others took the cores: then a minimum tells more."""
    grade = row.get("grading")
    return grade is not None and any(
        reason.grade == NOT_RELIABLE and reason.code in ("others", "stolen") for reason in grade.reasons
    )


def grade_rows(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> list[SummaryRow]:
    """Return the grade of its rank count for every row: `grading`, and the columns made of it."""
    grades = {
        ranks: grade_of(
            [row for row in rows if row["ranks"] == ranks], [fact for fact in attempts if fact["ranks"] == ranks]
        )
        for ranks in {row["ranks"] for row in rows}
    }
    return [
        {"grading": grade, "grade": grade.level, "grade_reasons": grade.reasons_text or None}
        for grade in (grades[row["ranks"]] for row in rows)
    ]


Judged = tuple[Any, ...] | None  # grade, value and perhaps limit; None: nothing is wrong
Criterion = Callable[[Sequence[SummaryRow], Sequence[dict]], Judged]


def _timed(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    return [row for row in rows if row["time_s"] is not None]


def _count_cells(holds: Callable[[SummaryRow], bool]) -> Criterion:
    """Return the criterion that counts cells that spoil all times: those for which `holds` is true."""
    return lambda rows, attempts: (NOT_RELIABLE, cells) if (cells := sum(map(holds, rows))) else None


def _count_nodes(holds: Callable[[dict], bool]) -> Criterion:
    """Return the criterion that counts nodes for which `holds` is true of some launch."""
    return lambda rows, attempts: (PROVISIONAL, nodes) if (nodes := _nodes_that(attempts, holds)) else None


def _some_port(fact: str) -> Callable[[dict], bool]:
    """Return whether some port of a node has a fact."""
    return lambda node: any(port.get(fact) for port in (node.get("ports") or {}).values())


def _unmeasured(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Report that no cell has a time."""
    return None if _timed(rows) else (NOT_RELIABLE, len(rows))


def _uses(attempts: Sequence[dict]) -> list[list[CoreUse]]:
    """Return the load from other processes on the nodes, for each launch that recorded it."""
    counted = [fact.get("counted") or () for fact in attempts]
    uses = [[use for node in nodes if (use := core_use(node))] for nodes in counted]
    known = [of_nodes for of_nodes in uses if of_nodes]
    return known or [[use] for node in _summed(counted) if (use := core_use(node))]


def _summed(counted: Iterable[Iterable[dict]]) -> Iterable[dict]:
    """Sum the counts of each node over all launches: together, short ones are long enough."""
    sums: dict[str, dict] = {}
    for node in (node for nodes in counted for node in nodes if all(name in node for name in COUNTS)):
        total = sums.setdefault(node.get("host", ""), {**dict.fromkeys(COUNTS, 0.0), "cpus": node.get("cpus")})
        total |= {name: total[name] + node[name] for name in COUNTS}
    return sums.values()


def _share(attempts: Sequence[dict], share_of: Callable[[CoreUse], float]) -> float:
    """Return the median over launches of the worst node's share; 0 where none is known."""
    return median([max(map(share_of, of_nodes)) for of_nodes in _uses(attempts)] or [0.0])


def _others(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge the share of the cores that other processes used."""
    share = _share(attempts, lambda use: use.others)
    worst = max((use.others for of_nodes in _uses(attempts) for use in of_nodes), default=0.0)
    crowding = _share(attempts, lambda use: float(use.crowding)) >= 0.5
    spoilt = (PROVISIONAL, max(share, worst)) if crowding or worst >= OVERLOADED else None
    return _by_limits(share, LOADED, OVERLOADED) or spoilt


def _stolen(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge the share of CPU time that the hypervisor took (steal)."""
    return _by_limits(_share(attempts, lambda use: use.stolen), LOADED, OVERLOADED)


def _doubted(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge the share of the measured cells that are doubted; which algorithm ran does not make times doubtful."""
    return _share_of_cells([row for row in rows if row.get("doubt") not in APART], "doubt", SOME_DOUBTED)


def _states(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge the share of the measured cells whose launches are in two states."""
    return _share_of_cells(rows, "launch_states", 0.0)


def _share_of_cells(rows: Sequence[SummaryRow], fact: str, some: float) -> Judged:
    """Judge the share of cells that have a fact: each is not ranked itself, and the others may be sound."""
    timed = _timed(rows)
    share = sum(bool(row.get(fact)) for row in timed) / max(1, len(timed))
    return (PROVISIONAL, share) if share > some else None


def _wide(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge upper over lower end of the interval, median over the measured cells."""
    widths = [row["time_high_s"] / row["time_low_s"] for row in _timed(rows) if row.get("time_low_s")]
    return (PROVISIONAL, median(widths)) if widths and median(widths) > WIDE else None


def _by_limits(value: float, provisional: float, not_reliable: float) -> Judged:
    grade = NOT_RELIABLE if value >= not_reliable else PROVISIONAL if value >= provisional else None
    return None if grade is None else (grade, value)


def _few_launches(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge launches of a cell that are fewer than `run` takes: they name no winner; counts as of `_launches`."""
    launches, most = _launches(rows)
    return (PROVISIONAL, launches, most) if 0 < launches < ENOUGH_LAUNCHES else None


def _launches(rows: Sequence[SummaryRow]) -> tuple[int, int | None]:
    """Return the fewest and the most launches of a cell.

    The fewest ignore the share SOME_DOUBTED of the cells: one cell left out by a job must not decide. The most are None
    if no cell has more than the fewest.
    """
    launches = sorted(row["launches"] for row in _timed(rows))
    fewest = launches[int(SOME_DOUBTED * len(launches))] if launches else 0
    return fewest, launches[-1] if launches and launches[-1] > fewest else None


def _calls(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Judge the calls of a cell in a launch; imported means have an unknown number."""
    ours = [row for row in _timed(rows) if row.get("start")]
    calls = [row["repetitions"] / row["launches"] for row in ours if row.get("repetitions") and row["launches"]]
    return (PROVISIONAL, median(calls)) if calls and median(calls) < ENOUGH_CALLS else None


def _oversubscribed(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Report the ranks on the fullest node, and the cores that they may use there."""
    if not any(row.get("oversubscribed") for row in rows):
        return None
    for fact in attempts:
        ranks_of_host = Counter(fact.get("hosts") or ())
        for machine in fact.get("machines") or ():
            limit, ranks = usable_cores(machine), ranks_of_host[machine.get("host", "")]
            if ranks > limit:
                return PROVISIONAL, ranks, limit
    return PROVISIONAL, rows[0]["ranks"]


def _pretended(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Report declared nodes that are not physical nodes."""
    declared = next((nodes for row in rows if (nodes := row.get("nodes_declared"))), None)
    return (PROVISIONAL, declared) if declared else None


def _nodes_that(attempts: Sequence[dict], holds: Callable[[dict], bool]) -> int:
    return len({node.get("host") for fact in attempts for node in fact.get("counted") or () if holds(node)})


def _size_sets(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> Judged:
    """Report the most sets of sizes that a launch measured one after the other; the grade may stay good.

    Algorithms still take turns at each size: a disturbance of a set affects all of them.
    """
    most = max((len(fact.get("size_sets") or ()) for fact in attempts), default=0)
    return (GOOD, most) if most > 1 else None


CRITERIA: dict[str, Criterion] = {  # in order of weight
    "wrong": _count_cells(lambda row: row["state"] == "wrong" or bool(broken_promise(row))),
    "refused": _count_cells(lambda row: row["state"] == "refused"),  # their steps are no all-reduce
    "unmeasured": _unmeasured,
    "others": _others,
    "stolen": _stolen,
    "oversubscribed": _oversubscribed,
    "pretended": _pretended,
    "launches": _few_launches,
    "doubted": _doubted,
    "launch_states": _states,
    "wide": _wide,
    "calls": _calls,
    "throttled": _count_nodes(is_throttled),
    "port_errors": _count_nodes(_some_port("counted")),
    "degraded": _count_nodes(_some_port("degraded")),
    "size_sets": _size_sets,
}
