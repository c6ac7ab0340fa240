"""What is refused before a launch measures anything."""

import subprocess

import pytest
from interpreters import in_turn, interpreters

from allreduce_bench.runs.plan import Launch, Plan
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.start import Start
from allreduce_bench.schedule.algorithm import Topology

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
LAUNCH = Launch(8, 2)


def plan(ranks_per_node: int | None) -> Plan:
    return Plan(("ring",), (8,), (8,), 2, 1, start=Start(ranks_per_node=ranks_per_node))


def refusal(ranks_per_node: int | None, hosts: list[str]) -> str:
    from allreduce_bench.measuring.surroundings import refuse_few_nodes

    try:
        refuse_few_nodes(plan(ranks_per_node), LAUNCH, Topology.from_labels(hosts), hosts)
    except RunError as error:
        return str(error)
    return ""


@needs_mpi
def test_fewer_nodes_than_asked_for_are_refused_with_their_hosts():
    text = refusal(2, ["n1"] * 6 + ["n2"] * 2)
    assert text.startswith(
        "launch 8r-2: expected 4 nodes of 2 ranks (--ranks-per-node), found 2 nodes: n1 (6), n2 (2);"
    )
    assert "found 1 node: n1 (8);" in refusal(4, ["n1"] * 8)
    assert "and 1 more" not in refusal(1, [f"n{i}" for i in range(8)]) == ""


@needs_mpi
@pytest.mark.parametrize("ranks_per_node", [None, 4, 8])
def test_as_many_nodes_as_asked_for_or_more_are_no_matter(ranks_per_node):
    assert refusal(ranks_per_node, ["n1"] * 4 + ["n2"] * 4) == ""


@needs_mpi
def test_ranks_that_do_not_see_each_other_are_refused():
    from allreduce_bench.measuring.surroundings import refuse_other_ranks

    refuse_other_ranks(LAUNCH, 8)
    with pytest.raises(RunError, match="launch 8r-2: 8 ranks were started, but MPI sees 1"):
        refuse_other_ranks(LAUNCH, 1)


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


def test_a_launch_on_too_few_nodes_is_refused_once_and_leaves_nothing(python, run_on_ranks, tmp_path):
    """One machine in the place of two nodes: ranks are started there by a launcher that does not know better."""
    in_turn(1, python)
    ask = "from allreduce_bench.launching.find import find_launcher; print(*find_launcher()[:3:2])"
    program, kind = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    free = " --oversubscribe --allow-run-as-root" if kind == "openmpi" else ""
    options = ["--sizes", 8, "-a", "ring", "--launches", 1, "--iters", 2]
    given = ["-n", 2, "--ranks-per-node", 1, "--launcher", f"{program} -n {{ranks}}{free}", "-o", tmp_path / "run"]
    result = run_on_ranks(*options, *given)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.returncode == 2 and len(errors) == 1, result.stderr
    assert "2r-1: expected 2" in errors[0] and "1 rank (--ranks-per-node), found 1 node" in errors[0]
    assert result.stderr.splitlines()[-1] == errors[0] and "finished cells" not in result.stderr
    assert not (tmp_path / "run").exists()
