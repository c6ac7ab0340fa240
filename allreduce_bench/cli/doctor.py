"""`doctor`: check whether this node is fit to measure on."""

import os
import sys
from itertools import chain

import click

from ..launching.check_mpi import mpi_checks
from ..machine.checks import node_checks, node_of_this_process
from ..measuring.startup import under_launcher
from ..slurm.check_site import checks_of_slurm
from .sections import examples
from .types import OneLineError, errors_in_one_line


@click.command(epilog=examples("doctor", "doctor --slurm", "doctor --slurm -- -p debug -A project"))
@click.option("--no-launch", is_flag=True, help="Do not start any ranks.")
@click.option("--slurm", is_flag=True, help="Check the site instead: Slurm, and each launcher on two of its nodes.")
@click.argument("words", nargs=-1, metavar="[-- WORDS FOR salloc]")
@errors_in_one_line
def doctor(no_launch, slurm, words) -> None:
    """Check this node and its MPI: what would disturb a measurement, what that does, and what to do.

    Each line is ok, missing (cannot be known here), info, caution, or severe: then times would mean something else
    than they seem to, and the exit status is 1. Two ranks are started, but for login nodes: there run it inside a job.

    With --slurm the two nodes are those of the job, if it runs in one, else it asks salloc for them, for minutes; what
    salloc has to be told here, such as -p PARTITION -A ACCOUNT, stands after --.
    """
    if under_launcher(os.environ):
        raise OneLineError("doctor starts its own ranks; run it without mpirun or srun")
    if words and not slurm:
        raise OneLineError(f"doctor: '{words[0]}' is for salloc, which is used only with --slurm")
    if words and not words[0].startswith("-"):
        raise OneLineError(
            f"doctor: '{words[0]}': expected an option of salloc, such as -p PARTITION; salloc would run this"
        )
    if words and "SLURM_JOB_ID" in os.environ:
        raise OneLineError(f"doctor: '{words[0]}' is for salloc, which is not used inside a job")
    node, levels = node_of_this_process(), []
    launch = not no_launch
    for check in checks_of_slurm(words, launch, node) if slurm else chain(node_checks(node), mpi_checks(node, launch)):
        levels.append(check.level)
        click.echo(f"{check.level:<8} {check.name:<10}  {check.text}")
        for label, sentence in (("effect", check.effect), ("advice", check.advice)):
            if sentence:
                click.echo(f"{'':21}{label}: {sentence}")
    sys.exit(1 if "severe" in levels else 0)
