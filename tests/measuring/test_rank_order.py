"""Runs whose ranks are in another order than the launcher's, on virtual hosts: who is rank 0, and what is refused."""

import pytest
from interpreters import in_turn, interpreters
from measured_runs import bench, one_line_error

from allreduce_bench.runs.folder import RunFolder

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
QUICK = ["--launches", 1, "--warmups", 1, "--iters", 3, "--no-reference-times"]


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
@pytest.mark.parametrize(
    ("number", "order", "ranks"),
    [(0, "cyclic", [0, 2, 4, 1, 3, 5]), pytest.param(1, "h3,h1,h2", [4, 5, 0, 1, 2, 3], marks=pytest.mark.slow)],
)
def test_schedules_are_verified_and_run_in_the_order(python, tmp_path, number, order, ranks):
    in_turn(number, python)
    folder = tmp_path / "run"
    words = ["--virtual-hosts", 3, "--ranks-per-node", 2, "--order", order, "-a", "ring,hierarchical_ring,tree,native"]
    result = bench(python, "run", *words, "--sizes", "8,64K", *QUICK, "-o", folder)
    assert result.returncode == 0 and "8 of 8 cells done, 0 wrong elements." in result.stdout, result.stderr
    (facts,) = RunFolder(folder).attempts()
    assert facts["order"] == ranks and facts["hosts"] == ["h1", "h1", "h2", "h2", "h3", "h3"]
    assert RunFolder(folder).plan().order == tuple(order.split(","))
    is_said = ("host follows" in result.stdout) if order == "cyclic" else ("h3, h1, h2 (--order)" in result.stdout)
    assert is_said
    marks = {mark["competitor"]: mark for mark in RunFolder(folder).marks() if mark["size_bytes"] == "65536"}
    crossing = int(marks["ring"]["internode_nbytes"])
    assert crossing == 65536 * 10 // 6 * (6 if order == "cyclic" else 3) or crossing > 0


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_an_order_of_other_hosts_is_refused_before_anything_is_measured(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    words = ["--virtual-hosts", 2, "--order", "h1,h7", "-a", "ring", "--sizes", 8, *QUICK, "-o", folder]
    said = one_line_error(bench(python, "run", *words))
    assert "order names host h7" in said and "ranks on h1, h2" in said and not folder.exists()
