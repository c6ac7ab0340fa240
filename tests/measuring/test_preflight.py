"""What is refused, or said, before a launch measures anything."""

import subprocess

import pytest
from interpreters import interpreters
from made_nodes import codes, found, node
from measured_runs import bench

from allreduce_bench.report.how_measured import environment
from allreduce_bench.runs.plan import Launch, Plan
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.start import Start
from allreduce_bench.schedule.topology import Topology
from allreduce_bench.watching.lifeline import as_variables, of_hosts

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
LAUNCH = Launch(8, 2)


def plan(ranks_per_node: int | None) -> Plan:
    return Plan(("ring",), (8,), (8,), 2, 1, start=Start(ranks_per_node=ranks_per_node))


@pytest.fixture(autouse=True)
def without_mpi():
    if interpreters():
        import mpi4py

        mpi4py.rc.initialize = False


def refusal(ranks_per_node: int | None, hosts: list[str]) -> str:
    from allreduce_bench.measuring.surroundings import refuse_few_nodes

    try:
        refuse_few_nodes(plan(ranks_per_node), LAUNCH, Topology.from_labels(hosts), hosts)
    except RunError as error:
        return str(error)
    return ""


@needs_mpi
def test_fewer_nodes_than_asked_for_are_refused_with_their_hosts():
    said = refusal(2, ["n1"] * 6 + ["n2"] * 2)
    assert said.startswith(
        "launch 8r-2: expected 4 nodes of 2 ranks (--ranks-per-node), found 2 nodes: n1 (6), n2 (2);"
    )
    assert "found 1 node: n1 (8);" in refusal(4, ["n1"] * 8)
    assert "and 1 more" not in refusal(1, [f"n{i}" for i in range(8)]) == ""


@needs_mpi
@pytest.mark.parametrize("ranks_per_node", [None, 4, 5, 8, 100])
def test_as_many_nodes_as_asked_for_or_more_are_no_matter(ranks_per_node):
    assert refusal(ranks_per_node, ["n1"] * 4 + ["n2"] * 4) == ""


@needs_mpi
def test_ranks_that_do_not_see_each_other_are_refused():
    from allreduce_bench.measuring.surroundings import refuse_other_ranks

    refuse_other_ranks(LAUNCH, 8)
    with pytest.raises(RunError, match=r"launch 8r-2: 8 ranks were started, but MPI sees 1: .*srun --mpi=list"):
        refuse_other_ranks(LAUNCH, 1)


def test_nodes_of_several_kinds_are_named_with_what_they_have():
    small = {"processor": "Old", "memory_nbytes": 64 << 30, "fabric_devices": ["mlx5_0"]}
    large = {"processor": "New", "memory_nbytes": 128 << 30, "fabric_devices": ["mlx5_0"]}
    nodes = [node(1, **small), node(2, **small), node(3, **large, cores=8, threads=16)]
    (one,) = [one for one in found(*nodes) if one["code"] == "mixed"]
    assert one["level"] == "caution"
    assert one["text"] == (
        "nodes of several kinds: processor Old on n1, n2, New on n3; cores 4 on n1, n2, 8 with 16 hardware threads on "
        "n3; memory 64 GiB on n1, n2, 128 GiB on n3"
    )


def test_a_node_without_the_fabric_of_the_others_or_with_a_slower_port_is_named():
    fast = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}
    slow = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 12.5e9}}
    told = [one["text"] for one in found(node(1, **fast), node(2, **slow), node(3)) if one["code"] == "mixed"]
    assert told == ["nodes of several kinds: fabric mlx5_0:1 200 Gbit/s on n1, mlx5_0:1 100 Gbit/s on n2, none on n3"]


@pytest.mark.parametrize(
    "facts",
    [
        [{}, {}],
        [{"memory_nbytes": 1000 << 20}, {"memory_nbytes": 1010 << 20}],  # what firmware keeps
        [{"memory_nbytes": 1000 << 20}, {"memory_nbytes": None}],
        [{"processor": "A"}, {}],
        [{"fabric_devices": None}, {"fabric_devices": ["mlx5_0"]}],
        [{"cores": 4, "threads": None}, {"cores": 4, "threads": 4}],
    ],
)
def test_nodes_of_one_kind_and_what_is_not_known_say_nothing(facts):
    assert ("mixed", "caution") not in codes(*(node(number, **own) for number, own in enumerate(facts, 1)))


def test_switches_reach_rank_0_by_host_with_or_without_its_domain():
    told = as_variables({"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2"})
    (text,) = told.values()
    assert of_hosts(text, ["n1", "n3.site.org", "n1", "n9"]) == {"n1": "s0/s1", "n3.site.org": "s0/s2"}
    assert as_variables({}) == {} and as_variables({f"node{i:06}": "s" for i in range(20_000)}) == {}
    assert of_hosts("", ["n1"]) == of_hosts("[1]", ["n1"]) == of_hosts('{"s": 1}', ["n1"]) == {}


def test_the_report_says_which_switches_are_above_the_hosts():
    fact = {"ranks": 4, "hosts": ["n1", "n1", "n2", "n3"], "switches": {"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2"}}
    assert ("switches above the hosts", "s0/s1: n1, n2; s0/s2: n3") in environment([fact])
    assert not any("switches" in what for what, _ in environment([{**fact, "switches": {}}]))


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


def test_a_launch_on_too_few_nodes_is_refused_once_and_leaves_nothing(python, tmp_path):
    """One machine in the place of two nodes: ranks are started there by a launcher that does not know better."""
    ask = "from allreduce_bench.launching.find import find_launcher; print(*find_launcher()[:3:2])"
    program, kind = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    free = " --oversubscribe --allow-run-as-root" if kind == "openmpi" else ""
    options = ["--sizes", 8, "-a", "ring", "--launches", 1, "--iters", 2]
    given = ["-n", 2, "--ranks-per-node", 1, "--launcher", f"{program} -n {{ranks}}{free}", "-o", tmp_path / "run"]
    result = bench(python, "run", *options, *given)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.returncode == 2 and len(errors) == 1, result.stderr
    assert "launch 2r-1: expected 2 nodes of 1 rank (--ranks-per-node), found 1 node: " in errors[0]
    assert result.stderr.splitlines()[-1] == errors[0] and "finished cells are kept" not in result.stderr
    assert not (tmp_path / "run").exists()
