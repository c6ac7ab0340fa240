"""The input of all formats, and the tables of the two that hold one algorithm and one rank count at a time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...evaluation.competing import competing, defaults, mockups
from ...evaluation.summary_row import SummaryRow
from ...runs.conditions import SAID_IN_TABLES, conditions_text
from ...runs.folder import RunFolder
from ...runs.plan import Plan
from ...tables import UNBOUNDED, Screen
from ...units import format_size
from ..table import libraries_of, table, where


class Result(NamedTuple):
    """A measured and summarised run."""

    plan: Plan
    rows: Sequence[SummaryRow]  # of `summarise`
    run: dict[str, Any]  # run.json
    launches: Sequence[dict[str, Any]]  # the facts of every launch

    @classmethod
    def of(cls, folder: RunFolder, rows: Sequence[SummaryRow]) -> "Result":
        """Return the result in `folder`, whose summary is `rows`. Raises RunError."""
        return cls(folder.plan(), rows, folder.open(), folder.attempts())

    @property
    def library(self) -> str:
        """MPI library of the run, or all of an imported one; logs of other tools may not name it."""
        return libraries_of(self.launches) or "MPI library not known"

    @property
    def hosts(self) -> list[str]:
        """Hosts of all launches, without duplicates, in the order of their ranks."""
        return list(dict.fromkeys(host for launch in self.launches for host in launch.get("hosts", ())))


class ResultTable(NamedTuple):
    """One competitor, at one rank count."""

    title: str
    rows: list[SummaryRow]  # all cells
    measured: list[SummaryRow]  # those that have a time
    missing: list[str]  # the others: size, state and reason in words


def tables(result: Result) -> list[ResultTable]:
    """Return the tables in the plan's order: all algorithms of the first rank count, then of the next.

    Mock-ups and native:default come last.
    """
    rows_of: dict[tuple[int, str], list[SummaryRow]] = {}
    for row in (*competing(result.rows), *mockups(result.rows), *defaults(result.rows)):
        rows_of.setdefault((row["ranks"], row["competitor"]), []).append(row)
    order = sorted(rows_of, key=lambda key: result.plan.ranks.index(key[0]))
    conditions = conditions_text(result.plan, *SAID_IN_TABLES)
    return [_result_table(competitor, rows_of[key], conditions) for key in order for _, competitor in [key]]


def _result_table(competitor: str, rows: list[SummaryRow], conditions: str) -> ResultTable:
    return ResultTable(
        ", ".join(filter(None, [f"competitor {competitor}", where(rows), conditions])),
        rows,
        [row for row in rows if row["time_s"] is not None],
        [_missing_text(row) for row in rows if row["time_s"] is None],
    )


def _missing_text(row: SummaryRow) -> str:
    return f"{format_size(row['size_bytes'])}: {row['state']}: {row['reason']}"


def closing_table(result: Result, screen: Screen = UNBOUNDED, every_note: bool = False) -> str:
    """Return the table for people: sizes down, algorithms across; `every_note`: with all notes on the times."""
    return table(result.plan, result.rows, result.library, screen, result.launches, every_note)
