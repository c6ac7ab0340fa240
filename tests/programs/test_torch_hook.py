"""The communication hook: gradients as Gloo's DDP gives them, overlapped, and refused where they would be wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import FULL, interpreters
from measured_runs import with_package
from places import RANK_PROGRAMS, ROOT
from rank_programs import mpirun

WITH_TORCH = [python for python in interpreters() if list(python.parent.parent.glob("lib/python*/site-packages/torch"))]
needs_torch = pytest.mark.skipif(not WITH_TORCH, reason="no interpreter here has an MPI and torch")


@pytest.fixture(params=WITH_TORCH, ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@needs_torch
@pytest.mark.parametrize(("ranks", "parts"), [(2, "same,overlap,fsdp,tensors"), (4, "same,tensors"), (3, "order")])
def test_gradients_are_those_of_gloo_buckets_overlap_and_tensors_are_reduced_where_they_lie(python, ranks, parts):
    if not FULL and ranks != 2:
        pytest.skip("torch starts slowly; ALLREDUCE_BENCH_FULL=1 has all")
    status, words = mpirun(python, ranks, "hooked_ddp.py", parts)
    assert status == 0 and re.search(rf"^{parts}: [1-9]\d* checks, 0 failed$", words, re.MULTILINE), words


def executed(python: Path, *words: object) -> subprocess.CompletedProcess:
    command = [str(python), "-m", "allreduce_bench", "exec", "-n", "2", "--", str(python), *map(str, words)]
    return subprocess.run(command, env=with_package(), capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.slow
@needs_torch
def test_the_example_learns(python):
    result = executed(python, ROOT / "docs" / "train_with_hook.py")
    assert result.returncode == 0 and result.stdout == "slope 3.00, intercept 1.00\n", result.stdout + result.stderr


@pytest.mark.slow
@needs_torch
def test_a_process_that_fails_ends_the_others(python):
    result = executed(python, RANK_PROGRAMS / "hooked_ddp.py", "dies")
    last = result.stderr.strip().splitlines()[-1]
    assert result.returncode == 1 and re.search(r"^error: rank 1 on \S+ ended with status 1; the other", last)


@pytest.mark.slow
@needs_torch
def test_torchrun_is_refused(python):
    torchrun = [str(python), "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29871"]
    command = [*torchrun, str(RANK_PROGRAMS / "hooked_ddp.py"), "torchrun"]
    result = subprocess.run(command, env=with_package(), capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode and "torch has 2 processes" in result.stderr and "MPI has 1 process" in result.stderr


def test_without_torch_it_says_so_in_one_sentence(mpi, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "allreduce_bench.programs.torch_hook", raising=False)
    with pytest.raises(ImportError, match="hook needs PyTorch .*; .*: pip install torch$"):
        import allreduce_bench.programs.torch_hook  # noqa: F401


class OnOneNode:
    """A communicator of two ranks, which may use the same cores."""

    rank, size = 0, 2

    def Split_type(self, kind):
        return self

    def allgather(self, cores):
        return [cores] * 2

    def Free(self):
        """It is not used again."""


@pytest.mark.parametrize(("cores", "are_few"), [(2, True), (3, True), (4, False)])
def test_threads_share_cores_where_there_are_less_than_two_for_a_process(mpi, monkeypatch, cores, are_few):
    pytest.importorskip("torch")
    from allreduce_bench.programs import torch_hook

    monkeypatch.setattr(torch_hook, "affinity", lambda: frozenset(range(cores)))
    assert torch_hook._share_cores(OnOneNode()) == are_few
