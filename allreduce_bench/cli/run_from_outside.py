"""A run from the process that starts mpirun: plan, folder, launches, table."""

from collections.abc import Callable, Sequence

from ..identifying.of_run import forced_of, identify
from ..launching.find import find_launcher, loaded_library
from ..launching.idle_wait import IdleWait
from ..launching.launches import measure_launches
from ..launching.this_start import Run, ThisStart
from ..launching.tied_process import interrupt_when_asked_to_end
from ..launching.watched_launch import LaunchRefused
from ..machine.at_work import glance
from ..machine.node import host
from ..runs.folder import RunFolder
from .against import begin_runs
from .end_of_run import end_runs
from .in_job import InJob
from .request import Request, planned_run
from .types import OneLineError, progress_display, talk
from .work_limit import refuse_many_ranks


def run_from_outside(
    requests: Sequence[Request], after_first: Callable[[RunFolder], object] | None = None
) -> tuple[RunFolder, OneLineError | None]:
    """Start mpirun for every missing launch, print the table; return the run folder and the error, if any.

    The launches of several runs, which differ in conditions, alternate; the folder of the first run is returned.
    `after_first` is called after the first launch, if others follow. The phases are those of
    `measuring.rank.take_part`. Raises as `planned_run`, LaunchError if there is no launcher, RunError if the Slurm job
    around is too small, OneLineError for more ranks than this node holds.
    """
    requests = [request.starting(loaded_library) for request in requests]
    start = ThisStart(control=requests[0].control, show=progress_display(), after_first=after_first)
    start.warning.listen()
    interrupt_when_asked_to_end()
    with InJob(start) as job:
        # plan: cli.plan_of_options, runs.plan
        start.runs = [Run(folder, plan, find_launcher(plan.start)) for folder, plan in map(planned_run, requests)]
        job.choose_launches()
        if start.is_on_one_node:
            refuse_many_ranks(max(start.runs[0].plan.ranks))

        # folder: cli.request, runs.recorder
        begin_runs(start.runs, requests)
        job.begin()

        # launches: launching.launches, identifying.of_run; their cells: measuring.rank
        first, count = start.runs[0], len(start.launches) * len(start.runs)
        launcher = first.launcher
        talk(f"{launcher.library}; {launcher.program} starts {count} times; results in {first.folder.resumed_path}")
        ended_by = _measure(start)

        # table: cli.end_of_run
        failure = end_runs(start, job, ended_by)
        job.keep_energy()
        job.report()
    return first.folder, failure


GLANCE_S = 0.25  # at the cores, before the first launch


def _measure(start: ThisStart) -> LaunchRefused | KeyboardInterrupt | None:
    """Measure the launches, after a wait for an idle machine if requested; return what ended them before their end."""
    wait_idle_s = start.control.wait_idle_s
    if wait_idle_s is not None:
        start.idle_wait = IdleWait(wait_idle_s, talk)
        if not start.is_on_one_node:
            talk(f"--wait-idle watches only {host()}, where the ranks are started, and no other node")
    elif start.is_on_one_node and (seen := glance(GLANCE_S)) and seen.is_loud:
        talk(f"busy machine: {seen.words}; times will not be reliable; to wait, add --wait-idle 10m")
    try:
        if is_first := bool(forced_of(start.runs[0].plan)):  # a time of theirs is worth nothing if something else ran
            _identify(start)
        measure_launches(start)
        if not is_first:
            _identify(start)
    except (LaunchRefused, KeyboardInterrupt) as error:
        return error
    return None


def _identify(start: ThisStart) -> None:
    """Look at what the library runs, unless that is known or not wanted."""
    if start.control.identify != "never":
        for run in start.runs:
            for sentence in identify(start, run, talk):
                talk(sentence)
