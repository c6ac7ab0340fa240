"""`demo`: measure the usual algorithms on this machine, and write a report."""

import os
from dataclasses import replace

import click

from ..algorithms import USUAL
from ..launching.login_node import idle_scheduler
from ..machine.node import cores
from ..measuring.startup import under_launcher
from ..runs.competitor import NATIVE
from ..runs.folder import RunFolder
from ..wings import load_offers
from .options import click_option
from .request import Request
from .run import run
from .run_from_outside import run_from_outside
from .sections import examples
from .terminal import screen
from .types import DURATION, PATH, RANKS, OneLineError, errors_in_one_line, progress, talk

SIZES = (8, 8 << 10, 128 << 10, 1 << 20, 4 << 20)  # bytes


@click.command(epilog=examples("demo", "demo -n 4 --within 2m -o results/demo", "demo --lab"))
@click.option("-n", "--ranks", type=RANKS, help="Ranks to start [default: 2, 4, 8, ... up to the cores].")
@click.option("--within", type=DURATION, default="35s", show_default=True, help="Time for the measurements.")
@click.option("-o", "--output", type=PATH, help="Run folder [default: results/DATE_HOST_RANKS].")
@click_option("wait_idle_s")
@click.option("--here", is_flag=True, help="Also measure on a login node (a scheduler exists, not inside a job).")
@click.option("--lab", is_flag=True, help="Also measure over virtual hosts (a minute; needs root).")
@errors_in_one_line
def demo(ranks, within, output, wait_idle_s, here, lab) -> None:
    """Measure the library's own all-reduce and the usual algorithms on this machine, and write the report."""
    from ..report.page import write_report

    if under_launcher(os.environ):
        raise OneLineError("demo starts its own ranks; run it without mpirun or srun")
    scheduler = idle_scheduler(os.environ)
    if scheduler and not here:
        raise OneLineError(
            f"this looks like a login node ({scheduler} exists, not inside a job): the demo would load it for "
            "minutes; run it inside a job, or add --here"
        )
    options = run.make_context("run", []).params | {
        "competitors": (NATIVE, *USUAL),
        "sizes": SIZES,
        "ranks": ranks or ranks_within(cores()),
        "within_s": within,
        "wait_idle_s": wait_idle_s,
        "output": output,
    }
    folder, failure = run_from_outside([Request(options)], show_interim_table)
    if folder.summary_csv.is_file():
        lab_folder = folder.path.with_name(f"{folder.path.name}_lab")
        over_links = [measure(lab_folder) for measure in (load_offers("demo") if lab else ())]
        folders = [folder, *filter(None, over_links)]
        talk(f"report: {write_report(folders, folder.path / 'report.html', progress=progress())}")
    if failure:
        raise failure


def ranks_within(cores: int) -> tuple[int, ...]:
    """Return powers of two of at least 2, at most `cores`, the three largest; 2 on a single core."""
    powers = [2**power for power in range(1, cores.bit_length()) if 2**power <= cores]
    return tuple(powers[-3:]) or (2,)


def show_interim_table(folder: RunFolder) -> None:
    """Print to stderr what the first launch says."""
    from ..evaluation.summary import summarise
    from ..report.formats.result import Result, closing_table

    rows = [row for row in summarise(folder) if row["time_s"] is not None]
    ranks = tuple(dict.fromkeys(row["ranks"] for row in rows))
    result = Result.of(folder, rows)
    talk("after the first launch (more follow; differences between launches are not known yet):")
    talk(closing_table(result._replace(plan=replace(result.plan, ranks=ranks)), screen()))
