"""How often is a cause named in clean jobs whose steps depend on each other, and what is found in those that are not?

Made arrivals of known truth: STEPS steps of 1 s, noise of 5 %, of which each step is like the one before to a degree
(lag-1 correlation, LAGS). Clean jobs: normal noise with 1 % of long steps; heavy tails (Student's t with 2 degrees of
freedom); unlike ranks, which differ lastingly by 3 %; what repeats in jobs (a checkpoint of all ranks every 100 steps,
a data loader that stalls one rank or another, and each rank in turn); each rank drifting by itself. Not clean: a rank
that is 12 % slower, alone or among unlike ranks; one that is slow by 30 % in a third of its steps, or in every tenth;
a checkpoint of rank 0 alone; half of the ranks, or a third, 30 % slower.

Writes the table and the figure; exit status 1 where a promise is not kept: of clean jobs of each kind FALSE at most
have a cause; at a correlation up to PROMISED_LAG a rank that is 12 % slower among unlike ranks is told in FOUND of
jobs, groups and a rank that is late at times in ALL. Twenty minutes of one core.

python tests/studies/false_causes.py [--effort 1.0] [--folder docs/stragglers]
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from places import ROOT

from allreduce_bench.stragglers.slow_units import GROUP
from allreduce_bench.stragglers.synthetic import arrivals_of_work, correlate
from allreduce_bench.stragglers.verdict import StragglerReport, straggler_report

RANKS = (8, 64, 512)
LAGS = (0.3, 0.6, 0.9, 0.95)
STEPS, NOISE, UNLIKE = 300, 0.05, 0.03
CLEAN_JOBS, JOBS = 300, {8: 100, 64: 100, 512: 30}
JOBS_AMONG_UNLIKE = 300  # of what is found least often, up to PROMISED_LAG
FALSE, FOUND, ALL, PROMISED_LAG = 0.01, 0.8, 0.95, 0.6
CONFIDENCE = 0.95

Change = Callable[[np.ndarray, np.random.Generator], None]  # of the work of all ranks, float64 [step, rank], in place


class Cell(NamedTuple):
    """A row of the table."""

    kind: str
    is_clean: bool
    lag1: float
    ranks: int
    jobs: int
    found: float | None  # share of the jobs in which what is slow was told; None: nobody is
    cause: float  # share of the jobs in which a cause was named; in clean jobs a false one
    named: float  # in which somebody was said to stand out
    told: float  # in which a rank was told as late, and as perhaps the last of a wide field
    worth: float  # independent steps, median


def spikes(work: np.ndarray, random: np.random.Generator) -> None:
    work[random.random(work.shape) < 0.01] += 2.0


def unlike(work: np.ndarray, random: np.random.Generator) -> None:
    work *= 1 + UNLIKE * random.standard_normal(work.shape[1])


def repeats(work: np.ndarray, random: np.random.Generator) -> None:
    work[99::100] += random.uniform(1.0, 5.0, (len(work[99::100]), 1))
    for number, step in enumerate(range(9, len(work), 10)):
        work[step, random.integers(work.shape[1])] += 1.0
        work[step - 5, number % work.shape[1]] += 0.5


def drift(work: np.ndarray, random: np.random.Generator) -> None:
    work += np.cumsum(random.normal(0, 0.005, work.shape), axis=0)
    work += np.linspace(0, 0.1, len(work))[:, None] * random.standard_normal(work.shape[1])


def slower(work: np.ndarray, random: np.random.Generator) -> None:
    work[:, 0] *= 1.12


def in_a_third(work: np.ndarray, random: np.random.Generator) -> None:
    work[random.random(len(work)) < 1 / 3, 0] *= 1.3


def in_every_tenth(work: np.ndarray, random: np.random.Generator) -> None:
    work[9::10, 0] += 0.3


def checkpoint_of_one(work: np.ndarray, random: np.random.Generator) -> None:
    work[99::100, 0] += 2.0


def half_slower(work: np.ndarray, random: np.random.Generator) -> None:
    work[:, : work.shape[1] // 2] *= 1.3


def third_slower(work: np.ndarray, random: np.random.Generator) -> None:
    work[:, : work.shape[1] // 3] *= 1.3


TAILS = "heavy tails"
CLEAN: dict[str, tuple[Change, ...]] = {
    "normal": (spikes,),
    TAILS: (),
    "unlike ranks": (unlike,),
    "repeats": (repeats,),
    "drift": (drift,),
}
SLOW: dict[str, tuple[Change, ...]] = {
    "12 % slower": (slower,),
    "12 % slower, unlike": (unlike, slower),
    "slow in a third": (in_a_third,),
    "slow in every tenth": (in_every_tenth,),
    "checkpoint of one": (checkpoint_of_one,),
    "half slower": (half_slower,),
    "third slower": (third_slower,),
}


def work_of(kind: str, lag1: float, ranks: int, seed: int) -> np.ndarray:
    """float64 [step, rank]: seconds of work."""
    random = np.random.default_rng((seed, ranks))
    shape = (STEPS, ranks)
    values = random.standard_t(2, shape) if kind == TAILS else random.standard_normal(shape)
    work = np.exp(np.clip(NOISE * correlate(values, lag1), -2.0, 3.0))
    for change in {**CLEAN, **SLOW}[kind]:
        change(work, random)
    return work


def is_found(kind: str, report: StragglerReport) -> bool:
    """Whether what is slow is told, as what it is; of few slow ranks also one by one."""
    late = {"half slower": report.ranks // 2, "third slower": report.ranks // 3}.get(kind, 1)
    told = [suspect for suspect in report.suspects if late <= 3 or suspect.kind == GROUP]
    return {rank for suspect in told for rank in suspect.ranks} >= set(range(late)) and (
        late == 1 or sum(len(suspect.ranks) for suspect in told) == late
    )


def cell(kind: str, lag1: float, ranks: int, jobs: int) -> Cell:
    """What the report says of so many jobs."""
    found = cause = named = told = 0
    worth = []
    for seed in range(jobs):
        report = straggler_report(arrivals_of_work(work_of(kind, lag1, ranks, seed)))
        found += kind in SLOW and is_found(kind, report)
        cause += bool(report.causes)
        named += any(suspect.stands_out for suspect in report.suspects)
        told += bool(report.suspects) and not any(suspect.stands_out for suspect in report.suspects)
        worth.append(report.worth_steps)
    share = found / jobs if kind in SLOW else None
    shares = (cause / jobs, named / jobs, told / jobs)
    return Cell(kind, kind in CLEAN, lag1, ranks, jobs, share, *shares, float(np.median(worth)))


def cells(effort: float) -> Iterator[Cell]:
    """All rows, the quick ones first."""
    for ranks in RANKS:
        for lag1 in LAGS:
            for kind in CLEAN:
                yield cell(kind, lag1, ranks, max(1, round(effort * CLEAN_JOBS)))
            for kind in SLOW:
                special = "unlike" in kind and lag1 <= PROMISED_LAG
                jobs = JOBS_AMONG_UNLIKE if special else JOBS[ranks]
                yield cell(kind, lag1, ranks, max(1, round(effort * jobs)))


def upper_limit(share: float, number: int) -> float:
    """What a share may be at most at CONFIDENCE, of so many jobs (Clopper and Pearson, one side)."""
    from scipy.stats import beta

    count = round(share * number)
    return 1.0 if count >= number else float(beta.ppf(CONFIDENCE, count + 1, number - count))


def limit_words(share: float, number: int) -> str:
    """`0 of 300 (below 1.0 % at 95 %)`."""
    return f"{round(share * number)} of {number} (below {100 * upper_limit(share, number):.1f} % at 95 %)"


def kept(table: list[Cell]) -> bool:
    """Print all rows, and whether what is promised is so."""
    is_kept = True
    for each in table:
        steps = f"{STEPS} steps are worth {each.worth:4.0f}"
        where = f"{each.kind:20s} lag {each.lag1:<4g} {each.ranks:>4} ranks, {steps}"
        if each.found is None:
            is_kept &= each.cause <= FALSE
            print(
                f"{where}: false causes {limit_words(each.cause, each.jobs)},"
                f" named {each.named:.1%}, told {each.told:.1%}"
            )
        else:
            least = FOUND if "unlike" in each.kind else ALL
            is_kept &= each.found >= least or not is_promised(each)
            print(f"{where}: found {each.found:6.1%}, a cause {each.cause:6.1%} of {each.jobs}")
    return is_kept


def is_promised(each: Cell) -> bool:
    """Of what is slow: what must be found. A rank of hundreds that is late at times costs less than chance."""
    at_times = ("slow in a third", "slow in every tenth")
    return each.lag1 <= PROMISED_LAG and not (each.kind in at_times and each.ranks > 64)


def write_csv(table: list[Cell], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Cell._fields)
        for each in table:
            values = (f"{value:.4g}" if isinstance(value, float) else value for value in each)
            writer.writerow("" if value is None else value for value in values)


def draw(table: list[Cell], path: Path) -> None:
    """False causes above, what is found below, over the correlation: a panel for each number of ranks."""
    from matplotlib.figure import Figure

    from allreduce_bench.report.figure import COLOURS, GRID, MARKERS

    ranks = sorted({each.ranks for each in table})
    figure = Figure(figsize=(3.4 * len(ranks) + 1.4, 7.4), layout="constrained")
    axes = figure.subplots(2, len(ranks), sharex=True, sharey="row", squeeze=False)
    lags = sorted({each.lag1 for each in table})
    for row, (is_clean, label) in enumerate(
        ((True, "clean jobs with a cause\n(% of jobs; bar: 95 % limit)"), (False, "what is slow is told\n(% of jobs)"))
    ):
        axes[row, 0].set_ylabel(label)
        kinds = list(dict.fromkeys(each.kind for each in table if each.is_clean == is_clean))
        for column, number in enumerate(ranks):
            panel = axes[row, column]
            for place, kind in enumerate(kinds):
                of_line = [each for each in table if (each.kind, each.ranks) == (kind, number)]
                x = np.array([lags.index(each.lag1) for each in of_line]) + (0.09 if is_clean else 0.03) * (
                    place - (len(kinds) - 1) / 2
                )
                shares = np.array([100 * (each.cause if is_clean else each.found or 0.0) for each in of_line])
                look = {
                    "color": COLOURS[place % len(COLOURS)],
                    "marker": MARKERS[place % len(MARKERS)],
                    "markersize": 4.5,
                }
                if is_clean:
                    limits = [100 * upper_limit(each.cause, each.jobs) for each in of_line]
                    panel.vlines(x, shares, limits, color=look["color"], linewidth=1.2)
                panel.plot(x, shares, **look, linestyle="none" if is_clean else "-", linewidth=1.0, label=kind)
            panel.grid(**GRID)
            panel.set_xticks(range(len(lags)), [f"{lag:g}" for lag in lags])
            panel.axhline(100 * (FALSE if is_clean else FOUND), color="#888888", linewidth=1.0, linestyle=(0, (4, 3)))
            if row == 0:
                panel.set_title(f"{number:,} ranks")
            else:
                panel.set_xlabel("correlation of a step with the next")
        axes[row, 0].set_ylim(-0.1 if is_clean else -4, None if is_clean else 104)
        axes[row, -1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8.5)
    figure.suptitle(
        f"Jobs of {STEPS} steps under {NOISE:.0%} of noise: false causes, and what is found; dashed: the promise"
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print, write and draw all figures; exit status 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=1.0, help="times the number of jobs [1.0]")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "stragglers", help="of the table and the figure")
    options = parser.parse_args()
    table = list(cells(options.effort))
    options.folder.mkdir(parents=True, exist_ok=True)
    write_csv(table, options.folder / "false_causes.csv")
    draw(table, options.folder / "false_causes.png")
    if not kept(table):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
