"""Acceptance limits for a machine: read from the command line, checked against the summary of the run."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..runs.plan import Plan, PlanError
from ..units import format_size, parse_duration, parse_rate, parse_size, three_digits
from .competing import competing
from .doubts import STATES
from .grade import NOT_RELIABLE
from .limits import passes_link
from .summary_row import SummaryRow, time_of

LIMIT_FORM = re.compile(r"(?:(?P<competitor>.+):)?(?P<size>[^:]+):(?P<value>[^:]+)")
EXPECTED = {
    "busbw": "SIZE:RATE in GB/s, such as 64M:20 or ring:64M:20",
    "time": "SIZE:TIME with its unit, such as 8:15us or ring:8:15us",
}
OPTION = {"busbw": "--min-busbw", "time": "--max-time"}


class AcceptanceLimit(NamedTuple):
    """A limit at one size."""

    quantity: str  # busbw: at least `value` bytes/s; time: at most `value` seconds
    size_bytes: int
    value: float
    competitor: str | None = None  # None: the fastest must meet it

    @property
    def words(self) -> str:
        """Return the limit as `parse_limits` reads it."""
        value = f"{self.value / 1e9:.9f}" if self.quantity == "busbw" else f"{self.value:.12f}s"
        return f"{self.competitor}:{self.size_bytes}:{value}" if self.competitor else f"{self.size_bytes}:{value}"


class Judgement(NamedTuple):
    """The outcome of one limit at one rank count."""

    met: bool
    cell: str  # `ring 64 MiB, 4 ranks`
    sentence: str


def parse_limits(quantity: str, text: str) -> tuple[AcceptanceLimit, ...]:
    """Parse the limits of `64M:20,ring:1G:25GB/s` (busbw) or `8:15us` (time). Raises ValueError."""
    return tuple(_parse_limit(quantity, limit_text.strip()) for limit_text in text.split(","))


def _parse_limit(quantity: str, limit_text: str) -> AcceptanceLimit:
    parse = _gigabytes_per_s if quantity == "busbw" else _duration_with_unit
    try:
        match = LIMIT_FORM.fullmatch(limit_text)
        if not match:
            raise ValueError("a size and a value are needed")
        name, at, size = match["size"].rpartition("@")
        if at:
            raise ValueError(f"a competitor stands before a colon: {name}:{size}:{match['value']}")
        value = parse(match["value"].strip())
        if value <= 0:
            raise ValueError("the value must be above 0")
        return AcceptanceLimit(quantity, parse_size(match["size"]), value, match["competitor"])
    except ValueError as error:
        raise ValueError(f"'{limit_text}' is not a limit: {error}; expected {EXPECTED[quantity]}") from error


def _gigabytes_per_s(text: str) -> float:
    return float(text) * 1e9 if re.fullmatch(r"\d+(\.\d+)?", text) else parse_rate(text)


def _duration_with_unit(text: str) -> float:
    if not text[-1].isalpha():
        raise ValueError(f"'{text}' has no unit")
    return parse_duration(text)


def refuse_unplanned(limits: Iterable[AcceptanceLimit], plan: Plan) -> None:
    """Raise PlanError for a limit that no cell of the plan can meet."""
    for limit in limits:
        option = OPTION[limit.quantity]
        if limit.size_bytes not in plan.sizes:
            nearest = min(plan.sizes, key=lambda size_bytes: abs(size_bytes - limit.size_bytes))
            raise PlanError(
                f"{option}: the run does not measure {format_size(limit.size_bytes)} (nearest size: "
                f"{format_size(nearest)}); add it to --sizes"
            )
        if limit.competitor not in (None, *plan.competitors):
            raise PlanError(
                f"{option}: '{limit.competitor}' is not measured; the run's competitors: {', '.join(plan.competitors)}"
            )
        if max(plan.ranks) < 2:
            raise PlanError(f"{option}: a single rank sends no messages; use 2 ranks or more")


def judge(limits: Iterable[AcceptanceLimit], plan: Plan, rows: Sequence[SummaryRow]) -> list[Judgement]:
    """Return one judgement per limit and rank count above 1, of the fastest measured algorithm or of the named one.

    A cell with launches in two states is judged by the slow state, the worst case in production; of groups the slowest.

    A limit without a measured time fails.
    """
    counts = [ranks for ranks in plan.ranks if ranks > 1]
    return [_judge(limit, ranks, rows) for limit in limits for ranks in counts]


def _judge(limit: AcceptanceLimit, ranks: int, rows: Sequence[SummaryRow]) -> Judgement:
    cells = [row for row in rows if (row["ranks"], row["size_bytes"]) == (ranks, limit.size_bytes)]
    if limit.competitor is None:
        cells = competing(cells)  # the others are judged only where they are named
    cells = [row for row in cells if limit.competitor in (None, row["competitor"])]
    measured = [row for row in cells if row["time_s"] is not None]
    trusted = [row for row in measured if row.get("doubt") in (None, STATES)]  # two states: judged by the slow one
    measured = trusted or measured
    where = f"{format_size(limit.size_bytes)}, {ranks} ranks"
    if not measured:
        cell = f"{limit.competitor or 'every algorithm'} {where}"
        states = ", ".join(dict.fromkeys(f"{row['state']} ({row['reason']})" for row in cells))
        return Judgement(False, cell, f"FAILED: {cell}: {states}; required {_required(limit)}")
    best = min(measured, key=_held_time_s)
    cell = f"{best['competitor']} {where}"
    met, measurement = _hold_against(limit, best)
    judged = f"{'accepted' if met else 'FAILED'}: {cell}: {measurement}, required {_required(limit)}"
    if best.get("grade") == NOT_RELIABLE:
        judged += "; but the times are not reliable (see the grade)"
    beyond = f"; faster than the link allows ({best.get('link')}), see the finding" if passes_link(best) else ""
    return Judgement(met, cell, judged + beyond)


def _hold_against(limit: AcceptanceLimit, row: SummaryRow) -> tuple[bool, str]:
    states = row.get("launch_states")
    launches = f" at the slow level of {len(states.high_launches)} of {row['launches']} launches" if states else ""
    if limit.quantity == "busbw":
        value = row["busbw_bytes_per_s"] * time_of(row) / _held_time_s(row)
        return value >= limit.value, f"busbw {_telling_digits(value / 1e9, limit.value / 1e9)} GB/s{launches}"
    value = _held_time_s(row)
    return value <= limit.value, f"time {_telling_digits(value * 1e6, limit.value * 1e6)} us{launches}"


def _held_time_s(row: SummaryRow) -> float:
    """Return the time that is compared with a limit, seconds."""
    return states.high_s if (states := row.get("launch_states")) else time_of(row)


def _telling_digits(value: float, limit: float) -> str:
    """Format three digits, or more if needed to distinguish the value from the limit."""
    return three_digits(value) if float(three_digits(value)) != float(f"{limit:.9g}") else f"{value:.9g}"


def _required(limit: AcceptanceLimit) -> str:
    return f"{limit.value / 1e9:.9g} GB/s" if limit.quantity == "busbw" else f"{limit.value * 1e6:.9g} us"
