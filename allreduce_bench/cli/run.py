"""`run`: measure on the ranks that were started, or start them."""

import os
import sys

import click

from ..measuring.startup import under_launcher
from ..runs.option import Section
from ..wings import load_offers
from .options import job_options, measuring_options
from .request import Request, refuse_short_timeout
from .sections import Sectioned, examples
from .types import OneLineError, PlacedOption, errors_in_one_line, given_options


@click.command(
    cls=Sectioned,
    first="ranks competitors sizes dtype against within_s wait_idle_s launches hosts output format resume",
    epilog=examples(
        "run -n 4 --within 1m",
        "run -n 2,4,8 -a native,ring,two_tree --sizes 8,64K,16M",
        "run -n 4 -b 8 -e 64M -f 2 -d float64 -o results/today",
        "run --resume -o results/today",
    ),
)
@measuring_options
@job_options
@click.option(
    "--against",
    cls=PlacedOption,
    section=Section.MEASURED,
    multiple=True,
    metavar="OPTIONS",
    help="Also measure with other conditions, e.g. '--segment 64K' or '-x UCX_TLS=tcp': -o P then holds the runs P/a, "
    "the command as given, and P/b, whose launches alternate, for compare; may be repeated.",
)
@click.pass_context
@errors_in_one_line
def run(context: click.Context, against: tuple[str, ...], **options) -> None:
    """Measure all-reduce algorithms beside the library's own.

    Under mpirun or srun the started ranks measure. Otherwise run starts mpirun for every value of --ranks and every
    launch. The table goes to stdout, the raw times to the run folder. To begin with: run -n 4 --within 1m
    """
    refuse_short_timeout(options["timeout_s"])
    request = Request(options, frozenset(given_options(context)))
    if under_launcher(os.environ):
        from .run_as_rank import run_as_rank

        if against:
            raise OneLineError("--against under a launcher: these ranks are one launch; let run start its own")
        run_as_rank(request)
    else:
        from .against import alternated_requests
        from .run_from_outside import run_from_outside

        places = load_offers("place_of_run")
        if options["virtual_rates_bytes_per_s"] is not None and not places:
            raise OneLineError("--virtual-hosts: this installation has no lab")
        for run_there in places:
            if (status := run_there(options, sys.argv[1:])) is not None:
                context.exit(status)
        _, failure = run_from_outside(alternated_requests(context.command, request, against))
        if failure:
            raise failure
