"""Uses every file of a folder as `choice`, as a program of a user does. Run it with

    mpirun -n 2 python used_choices.py FOLDER

Rank 0 prints JSON: for each name what came of it: `worked`, `refused`, or the fault. Refused is a ValueError of one
line that names the file, on all ranks; wrong results, other exceptions and other outcomes on other ranks are faults.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from allreduce_bench.programs.prepared import PreparedAllreduces

COMM = MPI.COMM_WORLD
LENGTHS, DTYPES = (2, 5_000), ("f4", "i8")


def outcome(path: Path) -> str:
    """On this rank."""
    try:
        with PreparedAllreduces(COMM, executor="sendrecv", choice=path, patience_s=100) as allreduce:
            for count in LENGTHS:
                for dtype in DTYPES:
                    total = np.zeros(count, dtype)
                    allreduce(np.ones(count, dtype), total)
                    if (total != COMM.size).any():
                        return f"wrong result of {count} {dtype}"
            allreduce.choices()
    except ValueError as error:
        sentence = str(error)
        is_ours = sentence.startswith("Allreduce") and path.name in sentence and "cannot be used" not in sentence
        return "refused" if is_ours and sentence.isprintable() else f"ValueError: {sentence!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "worked"


def main() -> None:
    """All of them, in the order of their names."""
    found = {}
    for path in sorted(Path(sys.argv[1]).iterdir()):
        outcomes = set(COMM.allgather(outcome(path)))
        found[path.name] = outcomes.pop() if len(outcomes) == 1 else f"differs: {sorted(outcomes)}"
    if COMM.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        import traceback

        traceback.print_exc()
        COMM.Abort(1)
        os._exit(1)
