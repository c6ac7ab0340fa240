"""Saves the choice of an algorithm of the user's own, and takes it up again."""

import tempfile
from pathlib import Path

import numpy as np
from called_allreduce import PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench import algorithms
from allreduce_bench.programs.prepared import PreparedAllreduces

ONES, TOTAL = np.ones(100), np.zeros(100)


def in_turn(comm: MPI.Comm, change) -> None:
    """On rank 0 alone, while the others wait."""
    if comm.rank == 0:
        change()
    comm.Barrier()


def settled(comm: MPI.Comm, choice: Path, words: str | list[str]) -> list:
    """The choices after a call by those of a file."""
    with PreparedAllreduces(comm, words, PYTHON, choice=choice) as allreduce:
        allreduce(ONES, TOTAL)
        check((comm.size == TOTAL).all(), "sum")
        return allreduce.choices()


def kept(comm: MPI.Comm) -> None:
    """The choice is taken where the program names the file, and only there."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(comm.bcast(folder))
        code, path, source = place / "mine.py", place / "choices.json", Path(algorithms.__file__).with_name("ring.py")
        text = source.read_text().replace("from ..", "from allreduce_bench.").replace("def ring(", "def mine(")
        in_turn(comm, lambda: code.write_text(text))
        with PreparedAllreduces(comm, str(code), PYTHON) as allreduce:
            allreduce(ONES, TOTAL)
            allreduce.save(path)
            (saved,) = allreduce.choices()
            check(saved.algorithm == "mine", saved)
        comm.Barrier()
        for words in (str(code), ["auto", str(code)], ["native", str(code)]):
            check(settled(comm, path, words) == [saved], words)
        refusal("name its file in the program", lambda: settled(comm, path, "auto"))
        comm.Barrier()
