"""The check of `health`: the nodes of a job in pairs; of many nodes the suspects once more, alone; judged.

A folder keeps the times, so that a check can be continued, and judged again.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ..cli.plan_of_options import place_on_hosts
from ..cli.types import INTERRUPTED, OneLineError, kept_command, talk
from ..launching.find import find_launcher
from ..launching.silent_hosts import silent_hosts
from ..launching.tied_process import interrupt_when_asked_to_end
from ..launching.watched_launch import LaunchFailed
from ..measuring.startup import under_launcher
from ..runs.hosts import expand, slots_of
from ..runs.start import Start
from ..units import counted, shell_word
from ..watching.lifeline import LAB_VARIABLE, WarningFlag
from .judgement import Health, PairTable, confirm_suspects, judge_tables, pairs_to_repeat, tables_of_rows
from .pair_folder import CheckSettings, PairFolder, PairRow, failed_pairs, whole_pairs
from .pair_launch import PairCheck, measure_pairs
from .rounds import MOST_FOR_ALL

NODELIST = "SLURM_JOB_NODELIST"


def measure_health(
    hosts: tuple[str, ...] | None, output: Path, threshold: float, repetitions: int, timeout_s: float, start: Start
) -> Health:
    """Measure what is left of the check in `output`, and judge it. Raises OneLineError, LaunchError."""
    interrupt_when_asked_to_end()
    check, silent = _prepare_check(hosts, output, repetitions, timeout_s, start)
    advice = f"to continue, repeat the command with -o {shell_word(output)}"
    try:
        _announce(check)
        measure_pairs(check)
        gone = {name: f"host '{name}' does not respond ({why})" for name, why in silent.items()} | check.lost
        found = judge_rows(check.asked, check.folder.rows(), threshold, gone)
        if check.has_two_rounds and not check.warning.is_set and (repeated := pairs_to_repeat(found.results)):
            talk(f"measured again, one after the other: {counted(len(repeated), 'pair')}")
            measure_pairs(check, repeated)
            found = clear_crowded(found, check.asked, check.folder.rows())
    except LaunchFailed as failed:
        raise OneLineError(f"{failed}; measured rounds are kept; {advice}", exit_code=1) from None
    except KeyboardInterrupt:
        raise OneLineError(f"interrupted; measured rounds are kept; {advice}", exit_code=INTERRUPTED) from None
    left = sum(map(len, check.left()))
    if check.warning.is_set and left:
        raise OneLineError(
            f"the job is near its time limit: {counted(left, 'pair')} not measured; {advice}", exit_code=1
        )
    return found._replace(left=left)


def judge_rows(asked: CheckSettings, rows: Sequence[PairRow], threshold: float, gone: Mapping[str, str]) -> Health:
    """Judge the rows of pairs measured beside others; `gone`: nodes none of whose pairs works, and why."""
    kept = [row for row in rows if not row.alone]
    whole, failed = whole_pairs(kept, asked), failed_pairs(kept)
    present = [name for name in asked.nodes if name not in gone]
    if len(present) <= MOST_FOR_ALL:
        pairs = combinations(asked.nodes, 2)
        failed |= {frozenset(pair): gone[name] for pair in pairs for name in pair if name in gone}
    else:
        failed |= {frozenset((name, present[0])): why for name, why in gone.items()}
    failed = {pair: why for pair, why in failed.items() if pair not in whole}
    unjudged: tuple[str, ...] = ()
    if asked.virtual_rates_bytes_per_s:
        unjudged = ("latency",)
        talk("latency is not judged: virtual hosts share the cores of one machine")
    tables = _tables(asked, whole.values())
    return judge_tables(tables, frozenset(whole) | failed.keys(), failed, threshold, unjudged)


def clear_crowded(found: Health, asked: CheckSettings, rows: Sequence[PairRow]) -> Health:
    """Clear suspects that are not slow when measured alone: many pairs may share an uplink."""
    alone = _tables(asked, whole_pairs([row for row in rows if row.alone], asked).values())
    results = tuple(confirm_suspects(result, table, found.threshold) for result, table in zip(found.results, alone))
    before, after = (sum(len(r.slow_nodes) + len(r.slow_links) for r in rs) for rs in (found.results, results))
    return found._replace(results=results, cleared=before - after)


def judge_folder(folder: PairFolder, threshold: float) -> Health:
    """Judge a kept check again. Raises OneLineError: there is none; RunError, OSError: it is damaged."""
    if not folder.asked_json.exists():
        raise OneLineError(f"{folder.path}: holds no check; expected the folder of a check, or a CSV of pairs")
    asked, rows = folder.read_settings(), folder.rows()
    found = judge_rows(asked, rows, threshold, {})
    if any(row.alone for row in rows):
        found = clear_crowded(found, asked, rows)
    tried = whole_pairs([row for row in rows if not row.alone], asked).keys() | found.failed.keys()
    if not tried:
        again = f"allreduce-bench health -o {shell_word(folder.path)}"
        raise OneLineError(f"{folder.path}: no pair was measured whole; measure them: {again}", exit_code=1)
    if len(asked.nodes) > MOST_FOR_ALL:
        return found
    return found._replace(left=len(asked.nodes) * (len(asked.nodes) - 1) // 2 - len(tried))


def _tables(asked: CheckSettings, whole: Iterable[Sequence[PairRow]]) -> list[PairTable]:
    kept = [row for rows_of_pair in whole for row in rows_of_pair]
    return tables_of_rows(asked.nodes, kept, (asked.small_nbytes, asked.large_nbytes))


def _prepare_check(
    hosts: tuple[str, ...] | None, output: Path, repetitions: int, timeout_s: float, start: Start
) -> "tuple[PairCheck, dict[str, str]]":
    """Return the check, and the nodes that do not respond, with reasons; nothing is started yet."""
    if under_launcher(os.environ):
        raise OneLineError("health starts its own ranks; run it without mpirun or srun")
    nodes = nodes_to_check(hosts, output)
    start = place_on_hosts(replace(start, hosts=tuple(nodes)))
    silent = silent_hosts(start)
    present = [name for name in nodes if name not in silent]
    if len(present) < 2:
        why = f": '{next(iter(silent))}' does not ({next(iter(silent.values()))})" if silent else ""
        raise OneLineError(f"{len(present)} of {len(nodes)} nodes respond{why}; a pair needs two", exit_code=1)
    launcher = find_launcher(replace(start, hosts=()))
    folder = PairFolder(output)
    asked = CheckSettings(
        nodes=tuple(nodes),
        large_repetitions=repetitions,
        command=tuple(kept_command()),
        virtual_rates_bytes_per_s=tuple(start.virtual_rates_bytes_per_s),
    )
    folder.begin(asked)
    warning = WarningFlag()
    warning.listen()
    return PairCheck(
        folder=folder,
        asked=asked,
        nodes=present,
        start=start,
        launcher=launcher,
        timeout_s=timeout_s,
        warning=warning,
    ), silent


def nodes_to_check(hosts: tuple[str, ...] | None, output: Path) -> list[str]:
    """Return two nodes or more: of --hosts, else of the check in `output`, else of the lab or the job around this.

    In a lab or a job that lacks nodes of the check, the nodes there. Raises OneLineError, RunError, ValueError.
    """
    folder = PairFolder(output)
    kept = [*folder.read_settings().nodes] if not hosts and folder.asked_json.exists() else []
    if hosts:
        nodes = [slots_of(host)[0] for host in hosts]
    elif LAB_VARIABLE in os.environ:
        nodes = [*place_on_hosts(Start()).hosts]
    elif os.environ.get(NODELIST):
        nodes = expand(os.environ[NODELIST])
    elif kept:
        nodes = kept
    else:
        raise OneLineError("no nodes given: add --hosts n[1-4], or run it inside a Slurm job")
    if kept and {*kept} <= {*nodes}:
        nodes = kept
    if len(nodes) < 2 or len(set(nodes)) < len(nodes):
        raise OneLineError(f"expected two nodes or more, each once; found {', '.join(nodes[:20]) or 'none'}")
    return nodes


def _announce(check: "PairCheck") -> None:
    """Print what is measured before it begins."""
    rounds = check.left()
    if rounds:
        number = 2 if check.has_two_rounds else len(rounds)
        again = ", then suspects alone" if check.has_two_rounds else ""
        pairs = counted(len(rounds[0]), "pair")
        talk(f"{len(check.nodes)} nodes: {counted(number, 'round')} of up to {pairs} at the same time{again}")
