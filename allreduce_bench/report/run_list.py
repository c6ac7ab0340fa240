"""The list of runs in a folder: a line a run, with its progress."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ..evaluation.grade import GRADES
from ..runs.inventory import KeptRun, launch_facts, progress
from ..runs.plan import Plan
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_size

HEADER = ("run", "created", "hosts", "ranks", "nodes", "MPI", "algorithms", "sizes", "measured", "grade")
TO_THE_LEFT = (0, 1, 2, 5, 6, 7, 9)
LEFT_OUT = (4, 7, 5, 6, 2, 1)  # in this order, if the line is too long
DAMAGED = "unreadable"  # damaged, or of another layout: `show` says which
WHOLE = "COLUMNS=200 allreduce-bench show"
MOST_NAMED = 2  # algorithms


def run_lines(runs: Sequence[KeptRun], folder: Path, screen: Screen = UNBOUNDED) -> list[str]:
    """Return the table of runs in `folder`; columns that do not fit are left out, none is cut."""
    rows = [HEADER, *(_fields(run, folder) for run in runs)]
    return fitted(columns_of(rows, left=TO_THE_LEFT, left_out=LEFT_OUT, styles={DAMAGED: "bad"}), screen, WHOLE)


def _fields(run: KeptRun, folder: Path) -> Sequence[str]:
    path = run.folder.path
    name = path.name if path == folder else str(path.relative_to(folder))
    date = f"{datetime.fromtimestamp(run.created_s):%Y-%m-%d %H:%M}"
    how_far = progress(run) if run.plan else None
    if run.plan is None or how_far is None:
        return (name, date, *["-"] * 7, DAMAGED)
    facts = launch_facts(run)
    hosts, mpi = facts.get("hosts"), facts.get("mpi")
    return (
        name,
        date,
        _few(list(dict.fromkeys(map(str, hosts))) if isinstance(hosts, list) else [], 1),
        ",".join(map(str, run.plan.ranks)),
        str(facts.get("nodes") or "-"),
        str(mpi.get("library", "-") if isinstance(mpi, dict) else "-"),
        _few(run.plan.competitors, MOST_NAMED),
        _sizes(run.plan),
        f"{100 * how_far.done // how_far.planned} %",
        max((grade for grade in how_far.grades if grade in GRADES), key=GRADES.index, default="-"),
    )


def _few(names: Sequence[str], most: int) -> str:
    """Return `native, ring +2`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" +{more}" if more > 0 else "") or "-"


def _sizes(plan: Plan) -> str:
    low, high = format_size(min(plan.sizes)), format_size(max(plan.sizes))
    return low if low == high else f"{low} to {high}"
