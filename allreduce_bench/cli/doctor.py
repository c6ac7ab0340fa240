"""`doctor`: is this node fit to measure on?"""

import os
import sys

import click

from ..started import under_launcher
from .words import OneLine, errors_in_one_line


@click.command()
@click.option("--no-launch", is_flag=True, help="Start no ranks, as on a login node.")
@errors_in_one_line
def doctor(no_launch) -> None:
    """Check this node and its MPI: what would disturb a measurement, what that does, and what to do.

    Starts two ranks, outside login nodes. Exit status 1 where something is severe.
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
