"""Launchers of ranks: each module translates a `Start` into the command line of one launcher, or one family.

`command(launcher, ranks, start, program)` returns the whole command line. Unsupported options are refused, never
ignored. Variables for the ranks are on the command line, so that the command alone repeats the start.
"""

from collections.abc import Callable

from ...runs.start import Start
from .. import launcher
from ..launcher import Launcher
from . import hydra, openmpi, srun

COMMAND_OF: dict[str, Callable[[Launcher, int, Start, list[str]], list[str]]] = {
    "openmpi": openmpi.command,
    "mpich": hydra.mpich_command,
    "intel": hydra.intel_command,
    "srun": srun.command,
    "template": launcher.template_command,
    "plain": launcher.plain_command,
}
