"""Saves the choice of an algorithm of the user's own, and takes it up again. Run it with

    mpirun -n 2 python own_choices.py

Prints `N checks, 0 failed`; a failed one ends all ranks with status 1.
"""

import json
import os
import tempfile
import traceback
from pathlib import Path

import numpy as np
from called_allreduce import COMM, PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench import algorithms
from allreduce_bench.programs.prepared import PreparedAllreduces

ONES, TOTAL = np.ones(100), np.zeros(100)


def in_turn(change) -> None:
    """On rank 0 alone, while the others wait."""
    if COMM.rank == 0:
        change()
    COMM.Barrier()


def settled(choice: Path, words: str | list[str]) -> list:
    """The choices after a call by those of a file."""
    with PreparedAllreduces(COMM, words, PYTHON, choice=choice) as allreduce:
        allreduce(ONES, TOTAL)
        check((COMM.size == TOTAL).all(), "sum")
        return allreduce.choices()


def own(place: Path) -> None:
    """By path and digest."""
    code, path, source = place / "mine.py", place / "choices.json", Path(algorithms.__file__).with_name("ring.py")
    text = source.read_text().replace("from ..", "from allreduce_bench.").replace("def ring(", "def mine(")
    in_turn(lambda: code.write_text(text))
    with PreparedAllreduces(COMM, str(code), PYTHON) as allreduce:
        allreduce(ONES, TOTAL)
        allreduce.save(path)
        (kept,) = allreduce.choices()
        check((kept.algorithm, kept.file, len(kept.sha256)) == ("mine", str(code), 64), kept)
    COMM.Barrier()
    for words in (str(code), ["auto", str(code)], ["native", str(code)]):
        check(settled(path, words) == [kept], words)
    refusal("which choices never run; name it in the program", lambda: settled(path, "auto"))
    in_turn(lambda: code.write_text(text + "# changed"))
    refusal("is not as it was when its algorithm 'mine' was chosen", lambda: settled(path, str(code)))


def placement(place: Path) -> None:
    """That of the file is saved again, and not that of the program."""
    path = place / "choices.json"
    one = {"ranks": COMM.size, "layout": "", "count": 100, "dtype": "float64", "op": "sum", "algorithm": "ring"}
    one |= {"executor": PYTHON, "segment": None, "window": None, "placement": "page"}
    content = {"kind": "allreduce-bench choices", "schema_version": 2, "choices": [one]}
    in_turn(lambda: path.write_text(json.dumps(content)))
    check([choice.placement for choice in settled(path, "auto")] == ["page"], "placement")


def main() -> None:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(COMM.bcast(folder))
        own(place)
        placement(place)
        COMM.Barrier()
    if COMM.rank == 0:
        from called_allreduce import checked

        print(f"{checked} checks, 0 failed", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
        os._exit(1)
