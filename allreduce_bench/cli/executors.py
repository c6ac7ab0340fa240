"""How the steps of a plan are run: `--executor`, and with it `--window`, `--segment` and `--machine`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from ..runs.cell import COMPILED, EXECUTORS, PIPELINED, CutPrices
from ..runs.cuts import DEFAULT_WINDOW, NOMINAL, chosen_cuts, given_cuts
from ..runs.plan import Plan, PlanError
from .types import AUTO, talk

INSTALL = "pip install 'allreduce-bench[compiled]'"


def with_executors(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """The plan run by the executors that `options` ask for, with window and cuts. Raises PlanError, MachineError."""
    plan = replace(plan, executors=decided(options["executor"] or plan.executors))
    if not plan.pipelined:
        for name in ("window", "machine"):
            if options[name] is not None:
                raise PlanError(f"--{name} is for the executors {' and '.join(PIPELINED)}; name one with --executor")
        return plan
    plan = replace(plan, window=options["window"] or DEFAULT_WINDOW)
    if options["segment"] is None:
        prices = _prices(options)
        return replace(plan, cuts=chosen_cuts(plan, prices), cut_prices=prices)
    if options["machine"] is not None:
        raise PlanError("--segment and --machine both decide the segment; use only one of them")
    return replace(plan, cuts=given_cuts(plan, options["segment"]))


def decided(names: Sequence[str]) -> tuple[str, ...]:
    """The executors of these names, each once; `auto` is decided here. Raises PlanError where one cannot run here."""
    executors = tuple(dict.fromkeys(_auto() if name == AUTO else name for name in names))
    compiled = [name for name in executors if name in COMPILED]
    if compiled and not _has_numba():
        raise PlanError(f"--executor {compiled[0]} needs numba: {INSTALL}")
    return executors


@cache
def _auto() -> str:
    """Compiled where that is possible; what was decided is said once."""
    if _has_numba():
        talk(f"--executor {AUTO}: {COMPILED[0]}")
        return COMPILED[0]
    talk(f"--executor {AUTO}: {EXECUTORS[0]}, since numba is not installed ({INSTALL})")
    return EXECUTORS[0]


def _has_numba() -> bool:
    return find_spec("numba") is not None


def _prices(options: Mapping[str, Any]) -> CutPrices:
    if options["machine"] is None:
        return NOMINAL
    from ..models.machine import cut_prices, read_machine  # late: few runs name a machine

    return cut_prices(read_machine(options["machine"]), str(options["machine"]))
