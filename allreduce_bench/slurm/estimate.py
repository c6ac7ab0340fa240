"""The expected duration of a job, estimated from its plan, and its time limit."""

import re
from collections.abc import Iterable
from math import ceil

from ..runs.injected import longest_phase_s
from ..runs.plan import Cell, Plan
from ..units import parse_duration

START_S, START_OF_NODE_S = 10.0, 0.1  # of a launch: Python and MPI on every node, and the clocks compared
CALL_S, BYTES_PER_S = 1e-4, 1e9  # of a slow all-reduce: its start, and how fast long vectors come through
LEAST_CALLS = 6  # timed however long they take; see budget.py
CHECK_S, CHECKED_BYTES_PER_S = 0.05, 2e8  # of a cell: vectors are made, and compared before, in and after its timing
CHECK_CALLS = 8  # of long vectors: what is called for checks alone
MARGIN = 2.0  # of a limit over what is expected
STEP_S, LEAST_LIMIT_S = 300.0, 600.0
LONGEST_LIMIT_S = 366 * 86400.0
FORMS = (  # of sbatch --time
    r"(?P<m>\d+)(?::(?P<s>\d+))?",
    r"(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)",
    r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+)(?::(?P<s>\d+))?)?",
)
LENGTHS_S = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SIGNAL_AT = re.compile(r"@\d+$")
SHORT_LIMIT_S, SHORT_WARNING_S = 300.0, 30  # below such a limit the job is warned only so long before it


def launch_s(plan: Plan, nodes: int, cells: Iterable[Cell]) -> float:
    """Seconds of one launch on so many nodes that measures these cells, none of which is done before its time."""
    return START_S + START_OF_NODE_S * nodes + sum(_cell_s(plan, cell) for cell in cells)


def _cell_s(plan: Plan, cell: Cell) -> float:
    nbytes = cell.count * plan.itemsize
    plain_s = CALL_S + nbytes / BYTES_PER_S
    call_s = plain_s + longest_phase_s(plan.compute_s, plan.inject_slowdown)
    timed_s = plan.iters * call_s if plan.iters else max(plan.cell_time_s, LEAST_CALLS * call_s)
    untimed_s = plan.warmups * call_s + (plan.back_to_back + CHECK_CALLS) * plain_s
    return max(timed_s, plan.min_time_s) + untimed_s + CHECK_S + nbytes / CHECKED_BYTES_PER_S


def limit_for(expected_s: float) -> float:
    """The time limit of a job that takes `expected_s`: twice that, in whole five minutes, ten at least."""
    return max(LEAST_LIMIT_S, ceil(MARGIN * expected_s / STEP_S) * STEP_S)


def parse_limit(text: str) -> float:
    """Seconds of a time limit as sbatch takes it (30, 1:30:00, 2-12), or with units (90m, 2h); in whole minutes.

    Raises ValueError.
    """
    match = next(filter(None, (re.fullmatch(form, text.strip()) for form in FORMS)), None)
    try:
        parts = {unit: int(number or 0) for unit, number in match.groupdict().items()} if match else {}
        limit_s = sum(LENGTHS_S[unit] * number for unit, number in parts.items()) if match else parse_duration(text)
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s <= LONGEST_LIMIT_S:
        raise ValueError(f"'{text}' is not a time limit; expected minutes, such as 30, or such as 1:30:00, 2-12 or 90m")
    return ceil(limit_s / 60) * 60.0


def format_limit(limit_s: float) -> str:
    """As sbatch takes it: `00:30:00`, `1-02:00:00`."""
    days, rest = divmod(round(limit_s), 86400)
    return f"{f'{days}-' if days else ''}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def warning_for(signal: str, limit_s: float) -> str:
    """What --signal says, such as B:USR1@120, made to fit into a short limit: Slurm may warn a minute too early."""
    warning_s = SHORT_WARNING_S if limit_s > 60 else SHORT_WARNING_S - 5
    return SIGNAL_AT.sub(f"@{warning_s}", signal) if limit_s < SHORT_LIMIT_S else signal
