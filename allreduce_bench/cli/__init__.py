"""The command line: parse, call, print. The only place where the parts are joined; heavy parts are imported late."""

import click

from .. import __version__
from .demo import demo
from .read import report
from .run import measure, run
from .show import explain, list_, verify


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="allreduce-bench")
def main() -> None:
    """Measure, prove, model and explain all-reduce algorithms over MPI.

    Results go to stdout, talk to stderr. Exit status: 0 good, 1 a check failed, 2 bad usage.
    """


for command in (run, demo, report, list_, explain, verify, measure):
    main.add_command(command)
