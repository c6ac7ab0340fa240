"""When, where and how a run was measured, as a page says it."""

import shlex
from collections.abc import Sequence
from typing import Any

from ..evaluation.summary_row import SummaryRow
from ..runs.command_of_plan import repeat_command
from ..runs.folder import RunFolder, merged_sources, merged_sources_sentence
from ..runs.plan import Plan
from . import how_imported, how_measured


def origin(folder: RunFolder, plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> dict[str, Any]:
    """When, where and how the run was measured, and the command that repeats it. Raises RunError."""
    run, imported = folder.open(), folder.imported()
    libraries = (library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    return {
        "date": "" if imported else str(run.get("created", ""))[:10],
        "hosts": list(dict.fromkeys(host for fact in attempts for host in fact.get("hosts", []))),
        "libraries": list(dict.fromkeys(libraries)),
        **_method(plan, imported, rows, attempts, merged_sources(folder)),
        "environment": how_measured.environment(attempts),
        "started_as": shlex.join(str(word) for word in run.get("command", [])),
        "command": shlex.join(run.get("command", []) if imported else repeat_command(plan)),
    }


def _method(
    plan: Plan, imported: dict | None, rows: Sequence[SummaryRow], attempts: Sequence[dict], merged: Sequence[dict]
) -> dict[str, Any]:
    """What was measured and how: by this program, or by another tool as far as its logs state it."""
    if imported:
        done = [row for row in rows if row["time_s"] is not None]
        return {
            "imported": how_imported.source(imported),
            "operation": how_imported.operation(plan, imported),
            "times": f"times are {how_imported.definition(done)}; median over launches",
            "method": how_imported.method(plan, imported, rows, attempts),
        }
    return {
        "imported": "",
        "operation": f"{plan.dtype} {plan.op}, out of place",
        "times": "times are the maximum over ranks, median over calls and launches",
        "method": how_measured.method(plan, rows, attempts)
        + ([("merged from", merged_sources_sentence(merged))] if merged else []),
    }
