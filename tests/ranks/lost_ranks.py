"""Calls `Allreduce(…, on_failure=…)` while ranks are lost; those left check every result. Run it with

    mpirun --with-ft ulfm -n 4 python lost_ranks.py shrink|raise ALGORITHM COUNT 3@5 1@5 …

Rank r contributes 2^r times a number of the element, so a result tells whose contributions it holds. Each of those left
prints `rank R: left [..], N results`.
"""

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

from allreduce_bench import Allreduce, RankLost, survivors

CALLS = 12
COMM = MPI.COMM_WORLD.Dup()
MODE, ALGORITHM, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
LOSSES = {tuple(map(int, word.split("@"))) for word in sys.argv[4:]}
numbers = 1 + np.arange(COUNT, dtype=np.float64) % 5
rank, before, results, refusals = COMM.rank, COMM.size, 0, 0

for call in range(1, CALLS + 1):
    if (rank, call) in LOSSES:
        os.kill(os.getpid(), signal.SIGKILL)
    in_place = call % 2 == 0
    vector = numbers * 2**rank * call
    result = vector.copy() if in_place else np.full(COUNT, np.nan)
    try:
        Allreduce(MPI.IN_PLACE if in_place else vector, result, comm=COMM, algorithm=ALGORITHM, on_failure=MODE)
    except RankLost as lost:
        assert MODE == "raise" and sorted(lost.ranks) == sorted({r for r, at in LOSSES if at <= call}), lost
        assert not in_place or np.array_equal(result, vector)
        refusals += 1
        continue
    results += 1
    around = survivors(COMM)
    left = MPI.Group.Translate_ranks(around.Get_group(), range(around.size), COMM.Get_group())
    assert np.array_equal(result, numbers * call * sum(2**one for one in left)), (rank, call, left)
assert refusals == (len({at for _, at in LOSSES}) if MODE == "raise" else 0)
assert results + refusals == CALLS
print(f"rank {rank}: left {left}, {results} results", flush=True)
