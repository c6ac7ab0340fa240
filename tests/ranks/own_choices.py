"""Saves the choice of an algorithm of the user's own, and takes it up again."""

import json
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


def own(comm: MPI.Comm, place: Path) -> None:
    """By path and digest."""
    code, path, source = place / "mine.py", place / "choices.json", Path(algorithms.__file__).with_name("ring.py")
    text = source.read_text().replace("from ..", "from allreduce_bench.").replace("def ring(", "def mine(")
    in_turn(comm, lambda: code.write_text(text))
    with PreparedAllreduces(comm, str(code), PYTHON) as allreduce:
        allreduce(ONES, TOTAL)
        allreduce.save(path)
        (kept,) = allreduce.choices()
        check((kept.algorithm, kept.file, len(kept.sha256)) == ("mine", str(code), 64), kept)
    comm.Barrier()
    for words in (str(code), ["auto", str(code)], ["native", str(code)]):
        check(settled(comm, path, words) == [kept], words)
    refusal("which choices never run; name it in the program", lambda: settled(comm, path, "auto"))
    in_turn(comm, lambda: code.write_text(text + "# changed"))
    refusal("is not as it was when its algorithm 'mine' was chosen", lambda: settled(comm, path, str(code)))


def placement(comm: MPI.Comm, place: Path) -> None:
    """That of the file is saved again, and not that of the program."""
    path = place / "choices.json"
    one = {"ranks": comm.size, "layout": "", "count": 100, "dtype": "float64", "op": "sum", "algorithm": "ring"}
    one |= {"executor": PYTHON, "segment": None, "window": None, "placement": "page", "file": "", "sha256": ""}
    content = {"kind": "allreduce-bench choices", "schema_version": 3, "choices": [one]}
    in_turn(comm, lambda: path.write_text(json.dumps(content)))
    check([choice.placement for choice in settled(comm, path, "auto")] == ["page"], "placement")


def kept(comm: MPI.Comm) -> None:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(comm.bcast(folder))
        own(comm, place)
        placement(comm, place)
        comm.Barrier()
