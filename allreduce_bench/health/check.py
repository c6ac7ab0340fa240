"""The check that `health` makes: the nodes of a job in pairs, of many nodes the suspects once more alone; judged.

A folder keeps what was measured, so that a check can be continued, and judged again.
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from ..cli.request import on_hosts_around
from ..cli.types import INTERRUPTED, OneLineError, kept_command, talk
from ..measuring.startup import under_launcher
from ..runs.start import Start, expand, slots_of
from ..units import format_rate
from ..watching.lifeline import LAB_VARIABLE, WarningFlag
from .judgement import Health, PairTable, confirmed, health_of, pairs_to_repeat, tables_of_rows
from .pair_file import Asked, PairFolder, PairRow, failed_pairs, whole_pairs
from .pair_rounds import MOST_FOR_ALL, SUPPOSED_BYTES_PER_S, estimated_s

if TYPE_CHECKING:
    from .pair_launch import PairCheck

# Virtual hosts share the cores of one machine
UNJUDGED_OF_VIRTUAL = ("latency",)
LATENCY_OF_VIRTUAL = "latency is not judged: virtual hosts share the cores of one machine"

NODELIST = "SLURM_JOB_NODELIST"


def measured_health(
    hosts: tuple[str, ...] | None, output: Path, threshold: float, repetitions: int, timeout_s: float, start: Start
) -> Health:
    """Measure what is left of the check in `output`, and judge it. Raises OneLineError, LaunchError."""
    from ..launching.supervision import LaunchFailed
    from ..launching.tied_process import interrupt_when_asked_to_end
    from .pair_launch import measure_pairs

    interrupt_when_asked_to_end()
    check, silent = _prepared(hosts, output, repetitions, timeout_s, start)
    advice = f"to continue, repeat the command with -o {shlex.quote(str(output))}"
    try:
        _announce(check)
        measure_pairs(check)
        found = _health_of_check(check, silent, threshold)
        if check.has_two_rounds and not check.warning.is_set:
            found = _with_suspects_repeated(check, found)
    except LaunchFailed as failed:
        raise OneLineError(f"{failed}; measured rounds are kept; {advice}", 1) from None
    except KeyboardInterrupt:
        raise OneLineError(f"interrupted; measured rounds are kept; {advice}", INTERRUPTED) from None
    left = sum(map(len, check.left()))
    if check.warning.is_set and left:
        raise OneLineError(f"the job is near its time limit: {left} pairs are not measured; {advice}", 1)
    return found._replace(left=left)


def health_of_rows(asked: Asked, rows: Sequence[PairRow], threshold: float, gone: Mapping[str, str]) -> Health:
    """Judge the rows of pairs that were measured beside others; `gone`: nodes none of whose pairs works, and why."""
    kept = [row for row in rows if not row.alone]
    whole, failed = whole_pairs(kept, asked), failed_pairs(kept)
    present = [name for name in asked.nodes if name not in gone]
    if len(present) <= MOST_FOR_ALL:
        pairs = combinations(asked.nodes, 2)
        failed |= {frozenset(pair): gone[name] for pair in pairs for name in pair if name in gone}
    else:
        failed |= {frozenset((name, present[0])): why for name, why in gone.items()}
    failed = {pair: why for pair, why in failed.items() if pair not in whole}
    unjudged = UNJUDGED_OF_VIRTUAL if asked.virtual_rates_bytes_per_s else ()
    tables = _tables(asked, whole.values())
    return health_of(tables, frozenset(whole) | failed.keys(), failed, threshold, unjudged)


def without_crowded(found: Health, asked: Asked, rows: Sequence[PairRow]) -> Health:
    """Clear suspects that are not slow when they are measured alone: many pairs may share an uplink."""
    alone = _tables(asked, whole_pairs([row for row in rows if row.alone], asked).values())
    results = tuple(confirmed(result, table, found.threshold) for result, table in zip(found.results, alone))
    before, after = (sum(len(r.slow_nodes) + len(r.slow_links) for r in rs) for rs in (found.results, results))
    return found._replace(results=results, cleared=before - after)


def health_of_folder(folder: PairFolder, threshold: float) -> Health:
    """Judge a kept check again. Raises RunError, OSError: there is none, or it is damaged."""
    asked, rows = folder.asked(), folder.rows()
    found = health_of_rows(asked, rows, threshold, {})
    if any(row.alone for row in rows):
        found = without_crowded(found, asked, rows)
    if len(asked.nodes) > MOST_FOR_ALL:
        return found
    tried = whole_pairs([row for row in rows if not row.alone], asked).keys() | found.failed.keys()
    return found._replace(left=len(asked.nodes) * (len(asked.nodes) - 1) // 2 - len(tried))


def _tables(asked: Asked, whole: Iterable[Sequence[PairRow]]) -> list[PairTable]:
    kept = [row for rows_of_pair in whole for row in rows_of_pair]
    return tables_of_rows(asked.nodes, kept, (asked.small_nbytes, asked.large_nbytes))


def _prepared(
    hosts: tuple[str, ...] | None, output: Path, repetitions: int, timeout_s: float, start: Start
) -> "tuple[PairCheck, dict[str, str]]":
    """Return the check, and the nodes that do not respond, with the reason of each; nothing is started yet."""
    from ..launching.find import find_launcher
    from ..launching.reach import silent_hosts
    from .pair_launch import PairCheck

    if under_launcher(os.environ):
        raise OneLineError("health starts its own ranks; run it without mpirun or srun")
    nodes = nodes_to_check(hosts, output)
    start = on_hosts_around(replace(start, hosts=tuple(nodes)))
    silent = silent_hosts(start)
    present = [name for name in nodes if name not in silent]
    if len(present) < 2:
        why = f": '{next(iter(silent))}' does not ({next(iter(silent.values()))})" if silent else ""
        raise OneLineError(f"{len(present)} of {len(nodes)} nodes respond{why}; a pair needs two", 1)
    launcher = find_launcher(replace(start, hosts=()))
    folder = PairFolder(output)
    asked = Asked(
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
        say=talk,
    ), silent


def nodes_to_check(hosts: tuple[str, ...] | None, output: Path) -> list[str]:
    """Return two nodes or more: of --hosts, else of the check in `output`, else of the lab or the job around this.

    In a lab or a job that lacks nodes of the check, those that are there. Raises OneLineError, RunError, ValueError.
    """
    folder = PairFolder(output)
    kept = [*folder.asked().nodes] if not hosts and folder.asked_json.exists() else []
    if hosts:
        nodes = [slots_of(host)[0] for host in hosts]
    elif LAB_VARIABLE in os.environ:
        nodes = [*on_hosts_around(Start()).hosts]
    elif os.environ.get(NODELIST):
        nodes = expand(os.environ[NODELIST])
    elif kept:
        nodes = kept
    else:
        raise OneLineError("no nodes given: add --hosts n1,n2,n3,n4, or run it inside a Slurm job")
    if kept and {*kept} <= {*nodes}:
        nodes = kept
    if len(nodes) < 2 or len(set(nodes)) < len(nodes):
        raise OneLineError(f"expected two nodes or more, each once; found {', '.join(nodes[:20]) or 'none'}")
    return nodes


def _announce(check: "PairCheck") -> None:
    """Say what is measured, and about how long it takes, before it begins."""
    rounds = check.left()
    if not rounds:
        return
    number = 2 if check.has_two_rounds else len(rounds)
    rates = check.start.virtual_rates_bytes_per_s
    rate = min(rates) if rates else SUPPOSED_BYTES_PER_S
    time_s = estimated_s(len(check.nodes), number, check.asked, rate)
    again = ", then suspects alone" if check.has_two_rounds else ""
    duration = f"{time_s:.0f} s" if time_s < 120 else f"{time_s / 60:.0f} min"
    rounds_said = "1 round" if number == 1 else f"{number} rounds"
    talk(
        f"{len(check.nodes)} nodes: {rounds_said} of up to {len(rounds[0])} pairs at the same time{again}; "
        f"about {duration} if a link carries {format_rate(rate)}"
    )


def _health_of_check(check: "PairCheck", silent: dict[str, str], threshold: float) -> Health:
    """Judge what was measured; all pairs of nodes that do not respond, or were lost, have failed."""
    gone = {name: f"host '{name}' does not respond ({why})" for name, why in silent.items()} | check.lost
    if check.asked.virtual_rates_bytes_per_s:
        talk(LATENCY_OF_VIRTUAL)
    return health_of_rows(check.asked, check.folder.rows(), threshold, gone)


def _with_suspects_repeated(check: "PairCheck", found: Health) -> Health:
    """Measure the suspects again, each pair alone, and clear those that are not slow then."""
    from .pair_launch import measure_pairs

    repeated = pairs_to_repeat(found.results)
    if not repeated:
        return found
    talk(f"{len(repeated)} pairs are measured again, one after the other")
    measure_pairs(check, repeated)
    return without_crowded(found, check.asked, check.folder.rows())


def kept_health(path: Path, threshold: float) -> Health:
    """Judge the check that a folder keeps. Raises OneLineError, RunError."""
    folder = PairFolder(path)
    if not folder.asked_json.exists():
        raise OneLineError(f"{path}: holds no check; expected the folder of a check, or a CSV of pairs")
    if folder.asked().virtual_rates_bytes_per_s:
        talk(LATENCY_OF_VIRTUAL)
    return health_of_folder(folder, threshold)
