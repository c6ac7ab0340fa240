"""How often is a slow rank found, how soon, and how often is one named that is none? By lateness, noise and ranks.

On synthetic arrivals of known truth: steps of 1 s, log-normal noise, correlation 0.3 from one step of a rank to the
next, and 1 % of the steps of each rank take two steps longer. The report sees STEPS steps. The alarm sees as many
without a slow rank, and then one is slow for WATCHED steps at most. False alarms: of the report, the share of jobs
without a slow rank of which it names one; of the alarm, how many alerts a whole day of such steps gives. Writes the
table and the figure; exit status 1 where a promise is not kept: a rank that is 12 % slower under 5 % of noise is found
in FOUND of jobs by the report and in ALARMED by the alarm, whatever the ranks; of clean jobs the report says one in
FALSE at most, and the alarm one alert a day at most. Seven minutes of one core.

python tests/studies/operating_curve.py [--effort 1.0] [--folder docs/stragglers]
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from false_causes import limit_words
from places import ROOT

from allreduce_bench.stragglers.step_alarm import SLOW, StepAlarm
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals
from allreduce_bench.stragglers.verdict import straggler_report

RANKS = (8, 32, 128, 1024)
NOISES = (0.02, 0.05, 0.1, 0.2)
EFFECTS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5)
STEPS, WATCHED = 200, 600
HOURS = 24  # of the alarm without a slow rank, at PROMISED_NOISE
PROMISED_EFFECT, PROMISED_NOISE, FOUND, ALARMED, FALSE = 0.12, 0.05, 0.99, 0.95, 0.01
JOBS = {8: 60, 32: 60, 128: 40, 1024: 10}  # of each cell
PROMISED_JOBS = {8: 500, 32: 500, 128: 400, 1024: 200}  # of the cells of which something is promised
ALARM_JOBS = {8: 20, 32: 20, 128: 16, 1024: 6}
ALARM_PROMISED_JOBS = {8: 100, 32: 100, 128: 100, 1024: 100}
DAYS = 3  # without a slow rank: none of so many has an alert in 5 % of cases if there is one a day
REPORT, ALARM = "report", "alarm"
NOTE_BOX = {"facecolor": "white", "edgecolor": "#cccccc", "linewidth": 0.6}


class Cell(NamedTuple):
    """A row of the table. A lateness of 0 is a clean job."""

    watcher: str  # REPORT or ALARM
    ranks: int
    noise: float
    slower_by: float
    jobs: int  # or days, of the alarm without a slow rank
    found: float | None  # share of jobs in which the slow rank was named
    false: float  # share of jobs in which another one was named; alerts a day, of the alarm without a slow rank
    steps_median: float | None  # that were slow until the alarm, where it came; None: it came nowhere
    steps_p95: float | None


def report_cell(ranks: int, noise: float, slower_by: float, jobs: int) -> Cell:
    """What the straggler report says of so many jobs."""
    found = wrong = 0
    for seed in range(jobs):
        rank = seed % ranks
        slow = [Slow((rank,), slower_by)] if slower_by else []
        report = straggler_report(synthetic_arrivals(ranks, STEPS, seed, slow, noise=noise))
        named = {of for suspect in report.suspects for of in suspect.ranks}
        found += bool(slower_by) and rank in named
        wrong += bool(named - {rank} if slower_by else named)
    return Cell(REPORT, ranks, noise, slower_by, jobs, found / jobs if slower_by else None, wrong / jobs, None, None)


def alarm_cell(ranks: int, noise: float, slower_by: float, jobs: int) -> Cell:
    """What the alarm says of so many jobs in which a rank becomes slow after STEPS steps."""
    waited, wrong = [], 0
    for seed in range(jobs):
        rank = seed % ranks
        arrivals = synthetic_arrivals(ranks, STEPS + WATCHED, seed, [Slow((rank,), slower_by, STEPS)], noise=noise)
        alarm = StepAlarm(ranks, arrivals.node_of)
        for first in range(0, STEPS + WATCHED, 10):
            alerts = alarm.update(arrivals.ready_s[first : first + 10], arrivals.step_s[first : first + 10])
            slow = [alert for alert in alerts if alert.kind == SLOW]
            wrong += any(alert.rank != rank or alert.step <= STEPS for alert in slow)
            if any(alert.rank == rank and alert.step > STEPS for alert in slow):
                waited.append(first + 10 - STEPS)
                break
    median, p95 = (float(np.median(waited)), float(np.percentile(waited, 95))) if waited else (None, None)
    return Cell(ALARM, ranks, noise, slower_by, jobs, len(waited) / jobs, wrong / jobs, median, p95)


def alarm_day(ranks: int, noise: float, days: int, hours: int = HOURS) -> Cell:
    """How many alerts so many days without a slow rank give; made hour by hour."""
    alerts = 0
    for day in range(days):
        alarm = StepAlarm(ranks, range(ranks))
        for hour in range(hours):
            arrivals = synthetic_arrivals(ranks, 3600, 1_000_000 + 100 * day + hour, noise=noise)
            alerts += sum(alert.kind == SLOW for alert in alarm.update(arrivals.ready_s, arrivals.step_s))
    return Cell(ALARM, ranks, noise, 0.0, days, None, alerts / days, None, None)


def cells(effort: float) -> Iterator[Cell]:
    """All rows, the quick ones first."""

    def times(number: int) -> int:
        return max(1, round(effort * number))

    for ranks in RANKS:
        for noise in NOISES:
            is_promised = noise == PROMISED_NOISE
            yield report_cell(ranks, noise, 0.0, times((PROMISED_JOBS if is_promised else JOBS)[ranks]))
            for effect in EFFECTS:
                special = is_promised and effect == PROMISED_EFFECT
                yield report_cell(ranks, noise, effect, times((PROMISED_JOBS if special else JOBS)[ranks]))
                yield alarm_cell(ranks, noise, effect, times((ALARM_PROMISED_JOBS if special else ALARM_JOBS)[ranks]))
        yield alarm_day(ranks, PROMISED_NOISE, times(DAYS))


def kept(table: list[Cell]) -> bool:
    """Print what is promised, and whether it is so."""
    is_kept = True
    promised = {(each.watcher, each.ranks, each.slower_by): each for each in table if each.noise == PROMISED_NOISE}
    print(f"{PROMISED_EFFECT:.0%} slower, {PROMISED_NOISE:.0%} of noise, {STEPS} steps of 1 s")
    print(
        "ranks  report: found      false alarms in clean jobs    alarm: found  after steps (median, 95 %)"
        "  alerts a clean day"
    )
    for ranks in sorted({each.ranks for each in table}):
        report, clean = promised[REPORT, ranks, PROMISED_EFFECT], promised[REPORT, ranks, 0.0]
        alarm, day = promised[ALARM, ranks, PROMISED_EFFECT], promised[ALARM, ranks, 0.0]
        print(
            f"{ranks:>5,}  {report.found:8.2%} of {report.jobs:<4}{limit_words(clean.false, clean.jobs):>36}"
            f"{alarm.found:18.1%} of {alarm.jobs:<4}{alarm.steps_median or 0:10.0f},{alarm.steps_p95 or 0:4.0f}"
            f"{day.false:20.2f} of {day.jobs} days"
        )
        is_kept &= (
            (report.found or 0) >= FOUND and (alarm.found or 0) >= ALARMED and clean.false <= FALSE and day.false <= 1
        )
        is_kept &= report.false <= FALSE
    return is_kept


def write_csv(table: list[Cell], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Cell._fields)
        for each in table:
            writer.writerow(
                "" if value is None else f"{value:.4g}" if isinstance(value, float) else value for value in each
            )


def clean_words(table: list[Cell], watcher: str, ranks: int) -> str:
    """What is said of jobs without a slow rank, line by line."""
    clean = [each for each in table if (each.watcher, each.ranks, each.slower_by) == (watcher, ranks, 0.0)]
    if watcher == ALARM:
        each_noise = (f"{each.false:g} a day at {each.noise:.0%} of noise ({each.jobs} days)" for each in clean)
    else:
        each_noise = (f"{each.false:.1%} at {each.noise:.0%} of noise ({each.jobs} jobs)" for each in clean)
    return "\n".join(["false alarms:", *each_noise])


def draw(table: list[Cell], path: Path) -> None:
    """Found by the report, found by the alarm, and after how many steps: a panel for each number of ranks."""
    from matplotlib.figure import Figure

    from allreduce_bench.report.figure import COLOURS, GRID, MARKERS

    ranks, noises = (sorted({getattr(each, name) for each in table}) for name in ("ranks", "noise"))
    figure = Figure(figsize=(3.0 * len(ranks) + 0.6, 9.0), layout="constrained")
    axes = figure.subplots(3, len(ranks), sharex=True, sharey="row", squeeze=False)
    rows = (
        (REPORT, f"found by the report\nof {STEPS} steps (share of jobs)"),
        (ALARM, f"found by the alarm\nwithin {WATCHED} steps (share of jobs)"),
        (ALARM, "steps until the alarm\n(median of jobs with one)"),
    )
    for row, (watcher, label) in enumerate(rows):
        axes[row, 0].set_ylabel(label)
        for column, number in enumerate(ranks):
            panel = axes[row, column]
            panel.axvline(100 * PROMISED_EFFECT, color="#888888", linewidth=1.0, linestyle=(0, (4, 3)))
            for noise, colour, marker in zip(noises, COLOURS, MARKERS):
                of_line = [
                    (100 * each.slower_by, each.found if row < 2 else each.steps_median)
                    for each in table
                    if (each.watcher, each.ranks, each.noise) == (watcher, number, noise) and each.slower_by
                ]
                shown = [point for point in of_line if point[1] is not None]
                panel.plot(*zip(*shown), color=colour, marker=marker, markersize=4.5, label=f"{noise:.0%} of noise")
            panel.grid(**GRID)
            panel.set_xscale("log")
            panel.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
            panel.set_xticks([], minor=True)
            if row == 0:
                panel.set_title(f"{number:,} ranks")
            if row < 2:
                words = clean_words(table, watcher, number)
                panel.text(
                    0.97, 0.08, words, transform=panel.transAxes, fontsize=6.5, zorder=1.5, ha="right", bbox=NOTE_BOX
                )
            if row == 2:
                panel.set_yscale("log")
                panel.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
                panel.set_yticks([], minor=True)
                panel.set_xlabel("slower by (% of the step)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(noises), frameon=False)
    figure.suptitle(
        f"One slow rank of many: how often it is found, and how soon; dashed line: {PROMISED_EFFECT:.0%} slower"
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print, write and draw all figures; exit status 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=1.0, help="times the number of jobs and days [1.0]")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "stragglers", help="of the table and the figure")
    options = parser.parse_args()
    table = list(cells(options.effort))
    options.folder.mkdir(parents=True, exist_ok=True)
    write_csv(table, options.folder / "operating_curve.csv")
    draw(table, options.folder / "operating_curve.png")
    if not kept(table):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
