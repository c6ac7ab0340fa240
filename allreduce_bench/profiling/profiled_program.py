"""A user's program with its all-reduces counted: how, and what is kept and said at the end.

Each rank counts into a file of its own in a hidden folder beside the profile, which ranks on other nodes see if the
file system is shared; the folder is removed at the end.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..launching.launcher import Launcher
from ..launching.tied_process import split_python
from ..message import say
from ..runs.files import refuse_special, write_given
from ..runs.recorder import now
from ..tables import Screen
from .library import NoLibrary, counting_library
from .profile import SCHEMA, Profile, ProfileError, read_profile
from .rank_files import Sum, sum_of_ranks
from .table import profile_lines

IN_PYTHON = Path(__file__).with_name("in_python")
FOLDER_VARIABLE = "ALLREDUCE_BENCH_PROFILE"  # where ranks put their counts


class Way(NamedTuple):
    """How calls are counted."""

    counted_in: str  # as in a profile
    variables: dict[str, str]  # of the program


@contextmanager
def profiled_program(
    words: Sequence[str],
    launcher: Launcher,
    ranks: int,
    output: Path,
    command: Sequence[str],
    tell: Callable[[str], None],
    screen: Screen,
) -> Iterator[list[str]]:
    """Yield the words that start the program with its calls counted; afterwards write the profile, and tell it.

    `command` is the command line that is kept. Raises ProfileError or OSError before the program starts; what fails
    afterwards is told.
    """
    _refuse_to_replace(output)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.absolute().parent))
    except OSError as error:
        error.filename = str(output)  # the name that the user knows
        raise
    try:
        way = _way(words, launcher, folder)
        variables = {**way.variables, FOLDER_VARIABLE: str(folder)}
        try:
            yield ["env", *(f"{name}={value}" for name, value in variables.items()), *words]
        finally:
            try:
                counted = sum_of_ranks(folder)
                lines = _kept(counted, way, launcher, ranks, output, command, screen)
            except Exception as error:  # such as a file that the program has written over
                lines = [say("profiling.not_kept", error=error)]
            tell("\n".join(lines))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_to_replace(output: Path) -> None:
    """Raise ProfileError if there is a file that is no profile, OSError for what is no file."""
    refuse_special(output)
    if not output.is_file():
        return
    try:
        read_profile(output)
    except ProfileError as error:
        raise ProfileError("profiling.would_replace", path=output) from error


def _way(words: Sequence[str], launcher: Launcher, folder: Path) -> Way:
    """Return how the calls of a program are counted: in C if there is a compiler, else in Python.

    Raises ProfileError if there is no way.
    """
    try:
        library = counting_library(launcher, otherwise=folder)
        return Way("MPI", {"LD_PRELOAD": _first(str(library), "LD_PRELOAD")})
    except NoLibrary as why:
        if not any(split_python(words)):
            raise ProfileError("profiling.no_way", why=why) from why
    return Way("mpi4py", {"PYTHONPATH": _first(str(IN_PYTHON), "PYTHONPATH")})


def _first(path: str, variable: str) -> str:
    """Return the value of a variable that lists paths, with another one in front."""
    return os.pathsep.join(filter(None, [path, os.environ.get(variable, "")]))


def _kept(
    counted: Sum,
    way: Way,
    launcher: Launcher,
    ranks: int,
    output: Path,
    command: Sequence[str],
    screen: Screen,
) -> list[str]:
    """Write the profile if there is anything in it, and return its lines for people. Raises OSError."""
    if not counted.processes:
        return [say("profiling.no_mpi" if way.counted_in == "MPI" else "profiling.no_mpi4py")]
    if not counted.rows:
        return [say("profiling.no_allreduce", processes=counted.processes)]
    profile = Profile(
        schema=SCHEMA,
        program=f"allreduce-bench {__version__}",
        created=now(),
        command=tuple(command),
        library=launcher.library,
        counted_in=way.counted_in,
        ranks=ranks,
        processes=counted.processes,
        left_out_calls=counted.left_out,
        allreduces=tuple(counted.rows),
    )
    write_given(output, profile.to_text())
    return [*profile_lines(profile, screen), say("profiling.kept", output=output)]
