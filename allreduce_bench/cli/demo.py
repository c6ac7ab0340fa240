"""`demo`: measure all algorithms on this machine, and write a report."""

import os
from pathlib import Path

import click

from ..launching.find import idle_scheduler
from ..measuring.startup import under_launcher
from ..runs.control import Control
from ..runs.plan import Plan
from ..wings import offered
from .options import click_option
from .request import Request, algorithm_fields
from .run_from_outside import run_from_outside
from .sections import examples
from .types import DURATION, RANKS, OneLineError, color_option, errors_in_one_line, no_limit, talk

SIZES = (8, 512, 8 << 10, 128 << 10, 1 << 20, 4 << 20)  # bytes


@click.command(epilog=examples("demo", "demo -n 4 --within 30s -o results/demo"))
@click.option("-n", "--ranks", type=RANKS, default="2,4,8", show_default=True, help="Ranks to start.")
@click.option("--within", type=DURATION, default="100s", show_default=True, help="Time for the measurements.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Run folder [default: results/DATE_HOST_RANKS].")
@click_option("wait_idle_s")
@click.option("--here", is_flag=True, help="Also measure on a login node (a scheduler exists, not inside a job).")
@click.option("--lab/--no-lab", default=True, show_default=True, help="Also measure over virtual hosts (a minute).")
@no_limit
@color_option
@errors_in_one_line
def demo(ranks, within, output, wait_idle_s, here, lab, no_limit) -> None:
    """Measure all algorithms on this machine, and two over virtual hosts, and write the report."""
    from ..report.page import write_report

    if under_launcher(os.environ):
        raise OneLineError("cli.demo_starts_own_ranks")
    scheduler = idle_scheduler(os.environ)
    if scheduler and not here:
        raise OneLineError("cli.looks_like_login_node", scheduler=scheduler)
    plan = Plan(sizes=SIZES, ranks=ranks, **algorithm_fields())
    control = Control(output=output, within_s=within, wait_idle_s=wait_idle_s, no_limit=no_limit)
    folder, failure = run_from_outside(Request(lambda: plan, control))
    if folder.summary_csv.is_file():
        lab_folder = folder.path.with_name(f"{folder.path.name}_lab")
        over_links = [measure(lab_folder) for measure in (offered("demo") if lab else ())]
        folders = [folder, *filter(None, over_links)]
        talk(f"report: {write_report(folders, folder.path / 'report.html')}")
    if failure:
        raise failure
