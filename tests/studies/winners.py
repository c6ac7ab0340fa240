"""How often is somebody called the fastest who is not? `make studies`; false winners, missed ones, misplaced switches.

Part 1, made runs (tests/support/drawn_tables.py), whose truth is known: the share of tables with a false stretch; of
cells with a false winner; of tables in which one is 20 % faster and wins no stretch; of cells in which it is not
marked; and of tables in which all changes of the fastest lie within one step of sizes of the true one. Part 2, A/A with
real launches over the MPI of each interpreter: the ring under two names, on the machine as it is and beside a busy loop
on each of its processors; the share of tables with a stretch. Shares come with their 95 % interval (Wilson). Exit
status 1 where more than 3 % of the tables of equals have a stretch, by more than chance.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from math import log
from statistics import median
from typing import NamedTuple

import numpy as np
from drawn_tables import SCENARIOS, SIZES, DrawnTable, Setting, drawn_table
from scipy.stats import binomtest
from twins import beside_load, measured_twins

from allreduce_bench.evaluation.summary import judge_rows
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.evaluation.verdict import FASTEST, verdicts
from allreduce_bench.units import format_size

ALLOWED = 0.03  # of the tables of equals may have a stretch
STEP = SIZES[1] / SIZES[0]
SPREADS, OWN = (0.03, 0.1), (1.0, 0.5)
EQUALS = ("equal", "two states")  # scenarios in which nobody is faster
HEAD = (
    "tables",
    "false stretch",
    "false cells",
    "20 % missed: tables",
    "cells",
    "switch within a step",
    "off by (steps)",
)
WIDTHS = (8, 22, 22, 22, 22, 24, 16)

Cell = tuple[int, int, str]  # ranks, size_bytes, algorithm


def winners_of(rows: Iterable[SummaryRow]) -> set[Cell]:
    """Who is called the fastest."""
    return {(row["ranks"], row["size_bytes"], row["competitor"]) for row in rows if row["standing"] == FASTEST}


class Outcome(NamedTuple):
    """What was said of one table."""

    false: int  # winners of stretches
    false_cells: int  # winners of sizes
    is_missed: bool  # the truly fastest of all sizes wins no stretch
    missed: int  # sizes at which the truly fastest is not marked
    sizes: int  # at which there is one
    off: float | None  # the farthest switch from the true one, steps of sizes; None: there is none to find, or found


def outcome(table: DrawnTable) -> Outcome:
    """Judge a table whose truth is known."""
    rows = judge_rows(table.rows)
    winners = winners_of(rows)
    named = {size_bytes for _, size_bytes, name in winners if table.fastest[size_bytes] == name}
    sizes = sum(name is not None for name in table.fastest.values())
    (verdict,) = verdicts(rows)
    stretches = [stretch for stretch in verdict.stretches if stretch.is_won]
    won = {stretch.leaders[0] for stretch in stretches}
    false = len(won - set(table.fastest.values()))
    switches = [over.size_bytes for over in verdict.hand_overs if over] if table.switch else []
    off = max((abs(log(found / (table.switch or found))) / log(STEP) for found in switches), default=None)
    return Outcome(
        false, len(winners) - len(named), not won & set(table.fastest.values()), sizes - len(named), sizes, off
    )


def drawn_outcome(setting: Setting, seed: int) -> Outcome:
    return outcome(drawn_table(np.random.default_rng(seed), setting))


def share(count: int, of: int) -> str:
    """`12.0 % [9.1, 15.6]`."""
    low, high = binomtest(count, of).proportion_ci(method="wilson")
    return f"{count / of:.1%} [{100 * low:.1f}, {100 * high:.1f}]".replace("%", " %")


def is_too_often(count: int, of: int) -> bool:
    """Whether it is more than ALLOWED, and not by chance."""
    return of > 0 and binomtest(count, of).proportion_ci(method="wilson").low > ALLOWED


def columns(setting: Setting, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the outcomes of a setting say, below HEAD."""
    tables = len(outcomes)
    yield str(tables)
    yield share(sum(one.false > 0 for one in outcomes), tables)
    yield share(sum(one.false_cells for one in outcomes), tables * len(SIZES))
    if setting.scenario == "faster":
        yield share(sum(one.is_missed for one in outcomes), tables)
        yield share(sum(one.missed for one in outcomes), sum(one.sizes for one in outcomes))
    else:
        yield from ("", "")
    if setting.scenario == "crossing":
        off = [one.off for one in outcomes if one.off is not None]
        yield share(sum(steps <= 1 for steps in off), tables)
        yield f"{median(off):.2f} (median)" if off else "none found"


def made_tables(tables: int, all_launches: Sequence[int], processes: int, algorithms: int | None = None) -> bool:
    """Part 1; whether the promise is kept."""
    kept = True
    print(f"{'scenario, spread, own share, launches':<39}" + "".join(map(str.rjust, HEAD, WIDTHS)))
    with ProcessPoolExecutor(processes) as pool:
        for scenario, spread, own, launches in product(SCENARIOS, SPREADS, OWN, all_launches):
            setting = Setting(scenario, launches, spread, own, algorithms)
            outcomes = list(pool.map(partial(drawn_outcome, setting), range(tables), chunksize=10))
            label = f"{scenario}, {spread:.0%}, {own:.0%}, {launches}"
            print(f"{label:<39}" + "".join(map(str.rjust, columns(setting, outcomes), WIDTHS)), flush=True)
            kept &= scenario not in EQUALS or not is_too_often(sum(one.false > 0 for one in outcomes), tables)
    return kept


def real_twins(interpreter: str, runs: int) -> bool:
    """Part 2 with one MPI; whether the promise is kept."""
    kept = True
    for label, load in (("as it is", False), ("beside load", True)):
        with beside_load(load):
            tables = list(measured_twins(interpreter, runs))
        winners = [winners_of(rows) for rows in tables]
        false = sum(any(stretch.is_won for one in verdicts(rows) for stretch in one.stretches) for rows in tables)
        sizes = sorted(size_bytes for cells in winners for _, size_bytes, _ in cells)
        where = ", ".join(map(format_size, sizes)) or "no size"
        found = f"{runs} tables, {share(false, runs)} with a stretch; winners at {where}"
        print(f"{interpreter}: the ring twice, {label}: {found}", flush=True)
        kept &= not is_too_often(false, runs)
    return kept


def main() -> None:
    """Ask both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--tables", type=int, default=400, help="made of each setting; 0: none [400]")
    parser.add_argument("--launches", type=int, nargs="+", default=[5], help="of made tables, 3 to 10 [5]")
    parser.add_argument("--algorithms", type=int, help="of made tables [2 to 6, drawn for each table]")
    parser.add_argument("--runs", type=int, default=100, help="real ones of each MPI and load; 0: none [100]")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="that draw tables [all processors]")
    options = parser.parse_args()
    kept = [not options.tables or made_tables(options.tables, options.launches, options.processes, options.algorithms)]
    kept += [real_twins(path, options.runs) for path in options.interpreters or [sys.executable] if options.runs]
    sys.exit(0 if all(kept) else f"more than {ALLOWED:.0%} of some tables of equals have a winner, see above")


if __name__ == "__main__":
    main()
