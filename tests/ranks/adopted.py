"""A program that calls all-reduces, by mpi4py and by `Allreduce`, in turns of blocks. Run it with

    mpirun -n 2 python adopted.py varied|repeated|first [CALLS]

varied: 500 lengths of 8 B to 4 MiB, three communicators, all types that mpi4py reduces. repeated: six lengths of
float32, and the choices that a trial without a budget finds, too. first: the first calls of 1 to 8 MiB; where torch is,
Gloo is called, too. Rank 0 prints a line of JSON: seconds of each way, and more.
"""

import gc
import json
import os
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from math import inf
from pathlib import Path

import numpy as np
from mpi4py import MPI

from allreduce_bench import Allreduce
from allreduce_bench.executing import native_datatype
from allreduce_bench.programs.prepared import PreparedAllreduces
from allreduce_bench.runs.dtypes import DTYPES

COMM = MPI.COMM_WORLD
LENGTHS, SHORTEST, LONGEST, COMMS, BLOCK = 500, 8, 4 * 2**20, 3, 50
REPEATED = (8, 256, 4096, 64 * 1024, 512 * 1024, 4 * 2**20)  # bytes
FIRST = (2**20, 2 * 2**20, 4 * 2**20, 8 * 2**20)
Way = Callable[[int, np.ndarray, np.ndarray], object]  # number of the communicator, input, output


def most(value: float) -> float:
    """Over all ranks."""
    return COMM.allreduce(value, MPI.MAX)


def peak_nbytes() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_blocks(ways: dict[str, Way], calls: list[tuple[int, str, int]]) -> dict[str, float]:
    """Seconds of each way for all calls (communicator, type, bytes), in blocks that take turns."""
    made = {dtype: (np.ones(LONGEST, "u1").view(dtype), np.empty(LONGEST, "u1").view(dtype)) for _, dtype, _ in calls}
    for sent, _ in made.values():
        sent[:] = 1
    taken = dict.fromkeys(ways, 0.0)
    for number, begin in enumerate(range(0, len(calls), BLOCK)):
        names = [*ways][number % len(ways) :] + [*ways][: number % len(ways)]
        for name in names:
            way = ways[name]
            COMM.Barrier()
            begun = time.perf_counter()
            for comm, dtype, size_bytes in calls[begin : begin + BLOCK]:
                count = max(1, size_bytes // DTYPES[dtype])
                way(comm, made[dtype][0][:count], made[dtype][1][:count])
            taken[name] += time.perf_counter() - begun
            assert made[dtype][1][count - 1] == COMM.size, name
    return {name: most(time_s) for name, time_s in taken.items()}


def varied(number: int) -> dict:
    """Every call has a length of its own, but for four on average."""
    comms, random = [COMM.Dup() for _ in range(COMMS)], np.random.default_rng(27)
    lengths = np.exp(random.uniform(np.log(SHORTEST), np.log(LONGEST), LENGTHS)).astype(int)
    dtypes = [dtype for dtype in DTYPES if native_datatype(dtype) is not None]
    calls = [
        (int(random.integers(COMMS)), dtypes[random.integers(len(dtypes))], int(random.choice(lengths)))
        for _ in range(number)
    ]

    def mpi4py(comm: int, sent: np.ndarray, total: np.ndarray) -> None:
        datatype = native_datatype(sent.dtype.name)
        comms[comm].Allreduce([sent, datatype], [total, datatype])

    in_blocks({"mpi4py": mpi4py}, calls)  # what it takes by itself
    before = peak_nbytes()
    ours: Way = lambda comm, sent, total: Allreduce(sent, total, MPI.SUM, comms[comm])  # noqa: E731
    taken = in_blocks({"mpi4py": mpi4py, "ours": ours}, calls)
    return {"times_s": taken, "more_nbytes": most(peak_nbytes() - before)}


def repeated(number: int) -> dict:
    """The same six lengths again and again."""
    calls = [(0, "float32", REPEATED[call % len(REPEATED)]) for call in range(number)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(COMM.bcast(folder)) / "choices.json"
        with PreparedAllreduces(COMM, trial_share=inf) as endless:
            while len(endless.choices()) < len(REPEATED):
                in_blocks({"trial": lambda _, sent, total: endless(sent, total)}, calls[:BLOCK])
            endless.save(path)
        COMM.Barrier()
        with PreparedAllreduces(COMM, choice=path) as fixed, PreparedAllreduces(COMM) as auto:
            ways: dict[str, Way] = {
                "mpi4py": lambda _, sent, total: COMM.Allreduce(sent, total),
                "fixed": lambda _, sent, total: fixed(sent, total),
                "ours": lambda _, sent, total: auto(sent, total),
            }
            in_blocks({name: ways[name] for name in ("mpi4py", "fixed")}, calls[: len(REPEATED)])  # prepared, compiled
            before = peak_nbytes()
            found = {"times_s": in_blocks(ways, calls), "more_nbytes": most(peak_nbytes() - before)}
            names = [choice.candidate.name for choice in auto.choices()]
            return found | {"settled": names}


def first(number: int) -> dict:
    """Seconds of the first so many calls by each way, each way in a row, for each length."""
    found: dict[str, dict[str, list[float]]] = {}
    reduce = with_gloo() if find_spec("torch") else None
    for size_bytes in FIRST:
        sent, total = np.ones(size_bytes // 4, "f4"), np.empty(size_bytes // 4, "f4")
        auto = PreparedAllreduces(COMM.Dup())
        ways = {"mpi4py": COMM.Allreduce, "ours": auto, **({"gloo": reduce} if reduce else {})}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for call in range(number):
            for name in [*ways][call % len(ways) :] + [*ways][: call % len(ways)]:
                COMM.Barrier()
                begun = time.perf_counter()
                ways[name](sent, total)
                times[name].append(time.perf_counter() - begun)
                assert total[-1] == COMM.size, name
        found[str(size_bytes)] = {name: [most(time_s) for time_s in taken] for name, taken in times.items()}
    return {"times_s": found}


def with_gloo() -> Callable[[np.ndarray, np.ndarray], None]:
    """An all-reduce by torch's Gloo."""
    import torch
    import torch.distributed as dist

    os.environ.update(RANK=str(COMM.rank), WORLD_SIZE=str(COMM.size), MASTER_PORT="29507")
    os.environ["MASTER_ADDR"] = COMM.bcast(socket.gethostname())
    dist.init_process_group("gloo")
    gc.collect()  # what torch's import has made: whoever allocates next would pay for that

    def reduce(sent: np.ndarray, total: np.ndarray) -> None:
        total[:] = sent
        dist.all_reduce(torch.from_numpy(total))

    return reduce


def main() -> None:
    """Print the line."""
    found = {"varied": varied, "repeated": repeated, "first": first}[sys.argv[1]](int(sys.argv[2]))
    if COMM.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
