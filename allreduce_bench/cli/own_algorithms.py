"""The algorithms of a plan: ways to run them (`--executor`), where they are cut, and proofs of users' algorithms.

Cut by `--window` and `--segment`. Users' algorithms are proved for what a run plans, before
any of its ranks is started.
"""

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import Any

from ..algorithms import find
from ..launching.launcher import Launcher, on_one_node
from ..machine.compiler import why_not_compiled
from ..runs.competitor import COMPILED, PIPELINED, WAYS, Competitor
from ..runs.cuts import NOMINAL, OVER_A_LINK_NBYTES, chosen_cuts, given_cuts
from ..runs.option_values import AUTO
from ..runs.plan import DEFAULT_WINDOW, Launch, Plan, PlanError
from ..schedule.algorithm import PROVED_UP_TO, Algorithm, AlgorithmError, Topology
from ..schedule.proofs import Case, proof_of
from ..schedule.verify import Refusal
from ..units import shell_word
from .types import OneLineError, talk

PROVED_S = 10.0  # for all proofs together; ranks prove the rest, and stop a generator without an end


def decide_ways(names: Sequence[str]) -> tuple[str, ...]:
    """Return the ways of these names, each once; `auto` is resolved."""
    return tuple(dict.fromkeys(_resolve_auto() if name == AUTO else name for name in names))


def decide_cuts(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """Return the plan with the window and cuts of `options`. Raises PlanError."""
    competitors = [Competitor(name) for name in plan.competitors]
    compiled = [name for name in competitors if name.is_compiled]
    if compiled and (reason := why_not_compiled()):
        raise PlanError(f"{compiled[0]} {reason}")
    if not any(name.is_pipelined for name in competitors):
        if options["window"] is not None:
            resumed = "leave it out, --resume takes it from the run"
            advice = resumed if options.get("resume") else "name one, such as ring@pipelined"
            raise PlanError(f"--window is for {' and '.join(PIPELINED)}; {advice}")
        return plan
    plan = replace(plan, window=options["window"] or DEFAULT_WINDOW)
    if segment_nbytes := options["segment_nbytes"] or (OVER_A_LINK_NBYTES if plan.link_rate_bytes_per_s else None):
        return replace(plan, segment_nbytes=segment_nbytes, cuts=given_cuts(plan, segment_nbytes))
    return replace(plan, cuts=chosen_cuts(plan, NOMINAL), cut_prices=NOMINAL)


@cache
def _resolve_auto() -> str:
    """Resolve `auto`: compiled if possible; print the decision once."""
    reason = why_not_compiled()
    talk(f"--executor {AUTO}: {f'{WAYS[0]}; {COMPILED[0]} {reason}' if reason else COMPILED[0]}")
    return WAYS[0] if reason else COMPILED[0]


class _TimeIsUp(BaseException):
    """The end of PROVED_S; a BaseException, since a user's generator must not catch it."""


def refuse_own_algorithms(plan: Plan, launcher: Launcher, environ: Mapping[str, str]) -> None:
    """Raise OneLineError, as `verify` words it, for a user's algorithm whose steps are no all-reduce.

    Layouts on nodes that only MPI knows, and proofs that take longer than PROVED_S, are left to the ranks.
    """
    own = {algorithm.name: (file, algorithm) for file in plan.files for algorithm in find([file]).values()}
    if not own or plan.groups:
        return
    former = signal.signal(signal.SIGALRM, _end_proofs)
    signal.setitimer(signal.ITIMER_REAL, PROVED_S)
    try:
        for ranks in sorted(plan.ranks):
            layout = _layout(ranks, plan, launcher, environ)
            for name, case in _cases(plan, layout, ranks) if layout else ():
                file, algorithm = own.get(name, ("", None))
                if algorithm and (why := _why_refused(algorithm, case)):
                    advice = f"see allreduce-bench verify {shell_word(file)} -n {ranks}"
                    raise OneLineError(f"{name} is no all-reduce and was not measured: {why}; {advice}", exit_code=1)
    except _TimeIsUp:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def _end_proofs(number: int, frame: FrameType | None) -> None:
    raise _TimeIsUp


def _layout(ranks: int, plan: Plan, launcher: Launcher, environ: Mapping[str, str]) -> Topology | None:
    """Return the nodes that algorithms are given; None: only MPI knows them, or a proof takes too long."""
    if ranks > PROVED_UP_TO:
        return None
    if plan.pretend_ranks_per_node:
        return Topology.filled(ranks, plan.pretend_ranks_per_node)
    return Topology.one_node(ranks) if on_one_node(launcher, ranks, plan.start, environ) else None


def _cases(plan: Plan, layout: Topology, ranks: int) -> Iterator[tuple[str, Case]]:
    """Yield each case that the ranks will run, once, the smallest first."""
    cells = plan.cells(Launch(ranks, 1))
    planned = sorted({(plan.element_count(cell), cell.segment or 1, cell.competitor.algorithm) for cell in cells})
    for count, segment, name in planned:
        yield name, Case(ranks, layout, count, segment)


def _why_refused(algorithm: Algorithm, case: Case) -> str:
    """Return why the steps are no all-reduce; empty: they are one, or the algorithm does not run on so many ranks."""
    if algorithm.unmet(case.size, case.topology):
        return ""
    try:
        proof_of(algorithm, case, algorithm.schedules(case.size, case.topology, case.count, case.segment))
    except Refusal as refusal:
        return f"{case}: {refusal}"
    except AlgorithmError as error:
        return str(error)
    return ""
