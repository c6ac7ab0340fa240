"""`health`: compare pairs of nodes with each other."""

import os
import shlex
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from ..measuring.startup import under_launcher
from ..runs.folder import RunFolder
from ..runs.plan import Plan
from ..runs.recorder import create_run, discard_run, is_taken
from ..runs.rows import RunError
from ..runs.start import Start
from ..watching.lifeline import LAB_VARIABLE, WarningFlag
from .in_lab import with_lab
from .plan_of_options import kept_plan, planned_run, refuse_short_timeout
from .request import Control, Request, algorithm_fields
from .sections import examples
from .terminal import echo_wrapped, screen
from .types import DURATION, HOSTS, SHARE, OneLineError, errors_in_one_line, kept_command, no_limit, talk

NODELIST = "SLURM_JOB_NODELIST"
CELL_TIME_S = 0.2
PLANNED = frozenset(  # options of `run` in which runs that are there must agree
    {"ranks", "sizes", "algorithms", "floors", "cell_time", "ranks_per_node", "hosts", "launches"}
    | {"launcher", "launcher_args", "remote_shell", "interface"}
)


@click.command(epilog=examples("health --hosts n1,n2,n3,n4", "health --launches 5 --threshold 10% -o results/health"))
@click.option("--hosts", type=HOSTS, help="Nodes to check, e.g. n1,n2,n3,n4 [default: those of the Slurm job].")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder of the runs [default: results/DATE_health]."
)
@click.option(
    "--threshold",
    type=SHARE,
    default="20%",
    show_default=True,
    help="A pair is slow if it is slower than the median by more than this in every launch.",
)
@click.option("--launches", type=click.IntRange(1), default=3, show_default=True, help="Fresh mpiruns per pair.")
@click.option(
    "--timeout",
    type=DURATION,
    default=f"{Control.timeout_s:g}s",
    show_default=True,
    help="A pair without progress for this time hangs.",
)
@click.option("--launcher", default=Start.launcher, metavar="NAME", show_default=True, help="As of run.")
@click.option("--launcher-args", default=Start.launcher_args, metavar="WORDS", help="As of run.")
@click.option("--remote-shell", default=Start.remote_shell, metavar="PROGRAM", show_default=True, help="As of run.")
@click.option("--interface", default=Start.interface, metavar="IF", help="As of run.")
@no_limit
@errors_in_one_line
def health(hosts, output, threshold, launches, timeout, no_limit, **start_options) -> None:
    """Find the node or the link that is slower than its peers.

    Pairs of nodes run all-reduces in turn, with one rank per node: 8 bytes for the latency, 4 MiB for the
    bandwidth. The nodes form a ring: a slow node slows both of its pairs, a slow link only one. Each pair is
    compared with the median over pairs, never with absolute numbers; it is slow if even its fastest launch is slow.
    Exit status 1 if a pair is slow, fails or hangs; the other pairs are still measured. Each pair is a run in -o, for
    report and compare; the same -o continues an interrupted check.
    """
    from ..evaluation.node_pairs import judged_pairs, pair_table, pairs_of, slow_part_sentences, undecided_sentences
    from ..launching.find import find_launcher

    if under_launcher(os.environ):
        raise OneLineError("health starts its own ranks; run it without mpirun or srun")
    refuse_short_timeout(timeout)
    pairs, start = pairs_of(_nodes_to_check(hosts)), Start(ranks_per_node=1, **start_options)
    output = output or Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_health"
    planned = [
        _planned_pair(output / "+".join(pair), pair, launches, start, no_limit) for pair in pairs
    ]  # all, before anything is started
    find_launcher(with_lab(start, os.environ))  # what no pair could do need not be said of each
    measured_pairs, warning = [], WarningFlag()
    warning.listen()
    for number, (pair, (folder, plan)) in enumerate(zip(pairs, planned), start=1):
        talk(f"{'+'.join(pair)}, pair {number} of {len(pairs)}")
        measured_pairs.append(_measure_pair(pair, folder, plan, timeout, warning))
        if warning.is_set and (number < len(pairs) or folder.pending(plan)):
            left = f"{len(pairs) - number} of {len(pairs)} pairs not started"
            advice = f"to continue, repeat the command with -o {shlex.quote(str(output))}"
            raise OneLineError(f"the job is near its time limit: {left}; {advice}", 1)
    judged = judged_pairs(measured_pairs, threshold)
    accused = slow_part_sentences(judged)
    all_clear = [] if accused else [f"no pair is slower than the median by more than {threshold:.0%} in every launch"]
    click.echo("\n".join([*pair_table(judged, screen()), ""]))
    echo_wrapped([*accused, *all_clear, *undecided_sentences(judged, threshold)])
    talk(f"runs of the pairs: {output}")
    if accused:
        raise click.exceptions.Exit(1)


def _nodes_to_check(hosts: tuple[str, ...] | None) -> list[str]:
    from ..runs.hosts import slots_of
    from ..slurm.nodelist import expand

    if not hosts and LAB_VARIABLE in os.environ:
        return [*with_lab(Start(), os.environ).hosts]
    if not hosts and not os.environ.get(NODELIST):
        raise OneLineError("no nodes given: add --hosts n1,n2,n3,n4, or run it inside a Slurm job")
    return [slots_of(host)[0] for host in hosts] if hosts else expand(os.environ[NODELIST])


def _planned_pair(
    folder: Path, pair: tuple[str, ...], launches: int, start: Start, no_limit: bool
) -> tuple[RunFolder, Plan]:
    """The run of a pair, as `run` itself would plan it."""
    from ..evaluation.node_pairs import ALGORITHMS, METRICS

    plan = Plan(
        sizes=tuple(METRICS),
        ranks=(2,),
        launches=launches,
        cell_time_s=CELL_TIME_S,
        floors=False,
        start=with_lab(replace(start, hosts=pair), os.environ),
        **algorithm_fields(ALGORITHMS),
    )
    return planned_run(Request(lambda: plan, Control(output=folder, resume=True, no_limit=no_limit), PLANNED))


def _measure_pair(pair: tuple[str, str], folder: RunFolder, plan: Plan, timeout_s: float, warning: WarningFlag):
    """Measure what is left of the pair's run; its `MeasuredPair`, with the reason where it failed."""
    from ..evaluation.node_pairs import MeasuredPair, measured_pair
    from ..evaluation.summary import record_summary
    from ..launching.launcher import LaunchError
    from ..launching.supervision import LaunchFailed, LaunchRefused

    failure = ""
    try:
        if not is_taken(folder.path) or folder.pending(plan):
            _drive(folder, plan, timeout_s, warning)
        if warning.is_set and folder.pending(plan):
            failure = "the job is near its time limit"
    except (LaunchError, LaunchRefused, LaunchFailed) as error:
        failure = str(error)
    if not failure:
        return measured_pair(pair, record_summary(folder))
    if list(folder.launches.glob("*.cells.csv")):
        with suppress(RunError):  # where no cell was finished there is nothing to sum up
            record_summary(folder)
    elif folder.path.exists():
        discard_run(folder)  # no rank came as far as writing
    return MeasuredPair(pair, {}, failure)


def _drive(folder: RunFolder, plan: Plan, timeout_s: float, warning: WarningFlag) -> None:
    """Start what is left of the run, which is made if it is new. Raises LaunchError, LaunchRefused, LaunchFailed."""
    from ..launching.driver import drive
    from ..launching.find import find_launcher
    from ..launching.supervision import SupervisedRun
    from ..watching.progress import ProgressLines

    launcher = find_launcher(plan.start)
    if not is_taken(folder.path):
        create_run(folder, kept_plan(plan), kept_command())
    run = SupervisedRun(
        folder=folder,
        plan=plan,
        launches=plan.planned_launches(),
        launcher=launcher,
        timeout_s=timeout_s,
        within_s=None,
        started=time.time(),
        skip_hung=False,
        show=ProgressLines,
        warning=warning,
    )
    drive(run)
