"""How the steps of a plan are run: `--executor`, and with it `--window`, `--segment` and `--machine`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..machine.mpi import why_not_compiled
from ..runs.cell import COMPILED, EXECUTORS, PIPELINED, CutPrices
from ..runs.plan import DEFAULT_WINDOW, NOMINAL, OVER_A_LINK_NBYTES, Plan, PlanError, chosen_cuts, given_cuts
from .types import AUTO, talk


def with_executors(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """The plan run by the executors that `options` ask for, with window and cuts. Raises PlanError, MachineError."""
    plan = replace(plan, executors=decided(options["executor"] or plan.executors))
    if not plan.pipelined:
        for name in ("window", "machine"):
            if options[name] is not None:
                advice = (
                    "leave it out, --resume takes it from the run"
                    if options.get("resume")
                    else "name one with --executor"
                )
                raise PlanError(f"--{name} is for the executors {' and '.join(PIPELINED)}; {advice}")
        return plan
    plan = replace(plan, window=options["window"] or DEFAULT_WINDOW)
    if options["segment"] is not None and options["machine"] is not None:
        raise PlanError("--segment and --machine both decide the segment; use only one of them")
    over_a_link = plan.link_rate_bytes_per_s and options["machine"] is None
    if segment_nbytes := options["segment"] or (OVER_A_LINK_NBYTES if over_a_link else None):
        return replace(plan, segment_nbytes=segment_nbytes, cuts=given_cuts(plan, segment_nbytes))
    prices = _prices(options)
    return replace(plan, cuts=chosen_cuts(plan, prices), cut_prices=prices)


def decided(names: Sequence[str]) -> tuple[str, ...]:
    """The executors of these names, each once; `auto` is decided here. Raises PlanError where one cannot run here."""
    executors = tuple(dict.fromkeys(_auto() if name == AUTO else name for name in names))
    compiled = [name for name in executors if name in COMPILED]
    if compiled and (reason := why_not_compiled()):
        raise PlanError(f"--executor {compiled[0]} {reason}")
    return executors


@cache
def _auto() -> str:
    """Compiled where that is possible; what was decided is said once."""
    reason = why_not_compiled()
    talk(f"--executor {AUTO}: {f'{EXECUTORS[0]}; {COMPILED[0]} {reason}' if reason else COMPILED[0]}")
    return EXECUTORS[0] if reason else COMPILED[0]


def _prices(options: Mapping[str, Any]) -> CutPrices:
    if options["machine"] is None:
        return NOMINAL
    from ..models.machine import cut_prices, read_machine  # late: few runs name a machine

    return cut_prices(read_machine(options["machine"]), str(options["machine"]))
