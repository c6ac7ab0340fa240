"""Options of a run beside its plan: its limits, how it is watched, and its outputs. Never kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .option import STARTED, Section, option
from .option_values import DURATION

FORMATS = ("table", "long", "csv", "json", "nccl", "osu")
IDENTIFY = ("auto", "always", "never")
ONE_LAUNCH = "these ranks are only one launch of the job; use it with a run that starts its own ranks"


@dataclass(frozen=True, kw_only=True)
class Control:
    """Limits and outputs of a run: its options beside its plan."""

    output: Path | None = option(  # None: a new folder below results
        "-o",
        "--output",
        section=Section.RESULTS,
        default=None,
        help="Run folder [default: results/DATE_HOST_RANKS].",
        of=Path,
    )
    format: str = option(
        "--format",
        section=Section.RESULTS,
        default="table",
        help="Format on stdout; nccl and osu: the layouts of nccl-tests and osu_allreduce -f.",
        of=FORMATS,
    )
    limits: tuple[Any, ...] = ()  # of `evaluation.acceptance`: 64M:20 GB/s and the like
    within_s: float | None = option(  # None: until all is measured
        "--within",
        section=Section.REPEATED,
        default=None,
        help="Time limit of the whole run, e.g. 2m; cells that do not fit are not measured, and named.",
        of=DURATION,
    )
    wait_idle_s: float | None = option(  # at most, for a quiet machine before the launches; None: do not wait
        "--wait-idle",
        section=Section.REPEATED,
        default=None,
        help="Before launches wait until the machine is idle, in total at most this time, and name busy processes.",
        of=DURATION,
        too_late="the ranks are already started; wait before mpirun or srun, or leave it out",
    )
    identify: str = option(
        "--identify",
        section=Section.RESULTS,
        default=IDENTIFY[0],
        help="Look at which algorithm the library ran, in further launches; auto: where these take at most a tenth "
        "of the run, and for native:NAME.",
        of=IDENTIFY,
    )
    only: str = option(  # see `chosen_launches`
        "--only",
        section=Section.IN_A_JOB,
        default="",
        help="Only these planned launches: 8r (all of 8 ranks), 8r-2 (one, and the forced ones beside it), "
        "8r-2-forced (one of these), -2 (the second of each), or a list.",
        metavar="WORDS",
    )
    requeue: bool = option(
        "--requeue",
        section=Section.IN_A_JOB,
        default=False,
        help="In a Slurm job near its time limit (SIGUSR1): requeue the job, to continue later.",
        too_late=ONE_LAUNCH,
    )
    report: bool = option(
        "--report",
        section=Section.IN_A_JOB,
        default=False,
        help="Write the report at the end, unless the job is requeued.",
        too_late=ONE_LAUNCH,
    )
    resume: bool = option(
        "--resume", section=Section.GONE_WRONG, default=False, help="Measure the missing cells of the run in -o."
    )
    timeout_s: float = option(  # without progress, until a launch is ended
        "--timeout",
        section=Section.GONE_WRONG,
        default=60.0,
        help="End a launch after this time without progress, and name the rank that the others wait for.",
        of=DURATION,
    )
    skip_hung: bool = option(
        "--skip-hung", section=Section.GONE_WRONG, default=False, help="With --resume: skip the cells that hung."
    )
    verbose: bool = option(
        "-v",
        "--verbose",
        section=Section.GONE_WRONG,
        default=False,
        help="Print the command of each launch, and what the launcher says of its own daemons.",
        too_late=STARTED,
    )
