"""`doctor`: is this node fit to measure on?"""

import os
import sys

import click

from ..started import under_launcher
from .words import OneLine, errors_in_one_line


@click.command()
@click.option("--no-launch", is_flag=True, help="Start no ranks, anywhere.")
@errors_in_one_line
def doctor(no_launch) -> None:
    """Check this node and its MPI: what would disturb a measurement, what that does, and what to do.

    Each line is ok, missing (cannot be known here), info, caution, or severe: then times would mean something else
    than they seem to, and the exit status is 1. Two ranks are started, but for login nodes: there run it inside a job.
    """
    from ..checks import machine, of_machine
    from ..checks_mpi import of_mpi

    if under_launcher(os.environ):
        raise OneLine("doctor starts its own ranks; run it without mpirun or srun")
    node, levels = machine(), []
    for checks in (of_machine(node), of_mpi(node, launch=not no_launch)):
        for check in checks:
            levels.append(check.level)
            click.echo(f"{check.level:<8} {check.name:<10}  {check.text}")
            for what, words in (("effect", check.effect), ("advice", check.advice)):
                if words:
                    click.echo(f"{'':21}{what}: {words}")
    sys.exit(1 if "severe" in levels else 0)
