"""Names of shared memory that MPICH would leave behind with a rank that is killed."""

import mmap
import os
from pathlib import Path

import pytest

from allreduce_bench.machine.shared_memory import drop_names_of_mpich


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no shared memory here")
def test_names_of_memory_that_this_process_has_go_and_others_stay():
    paths = [Path(f"/dev/shm/{name}_{os.getpid():x}_0") for name in ("mpich_shm_mine", "mpich_shm_theirs", "mine")]
    for path in paths:
        path.write_bytes(bytes(mmap.PAGESIZE))
    try:
        with paths[0].open("r+b") as mine, mmap.mmap(mine.fileno(), 0), paths[2].open("r+b") as other:
            with_other = mmap.mmap(other.fileno(), 0)
            drop_names_of_mpich()
            assert [path.exists() for path in paths] == [False, True, True]
            with_other.close()
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
