"""Many schedules proved at once: which ones differ, and the line of text about each algorithm."""

from allreduce_bench.algorithms import builtin
from allreduce_bench.machine.forks import in_forks
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.proofs import cases, heeds_nodes, layouts, prove_all

ALGORITHMS = builtin()


def test_layouts_are_one_node_small_nodes_and_ranks_dealt_out_to_three():
    assert [layout.describe() for layout in layouts(8, None)] == ["1x8", "4x2", "2x4", "3+3+2"]
    assert layouts(8, 3) == [Topology.filled(8, 3)]
    assert layouts(1, None) == [Topology.one_node(1)]


def test_a_layout_that_changes_no_step_is_not_proved_again():
    assert {case.topology for case in cases(ALGORITHMS["ring"], 8, [8], [], None)} == {Topology.one_node(8)}
    assert len({case.topology for case in cases(ALGORITHMS["hierarchical_ring"], 8, [8], [], None)}) > 1


def test_an_algorithm_heeds_nodes_if_it_reads_them():
    heeding = {name for name, algorithm in ALGORITHMS.items() if heeds_nodes(algorithm, 6)}
    assert heeding == {"hierarchical_ring"}
    for read in (lambda topology: topology.node_of, hash, len, list, bool, lambda topology: topology == ((0, 0),)):

        def generate(rank, size, topology, count, segment, read=read):
            read(topology)
            yield from ALGORITHMS["ring"].generate(rank, size, topology, count, segment)

        assert heeds_nodes(ALGORITHMS["ring"]._replace(generate=generate), 2)


def test_segments_are_tried_only_where_they_matter():
    assert {case.segment for case in cases(ALGORITHMS["tree"], 4, [100], [], None)} == {20, 100}
    assert {case.segment for case in cases(ALGORITHMS["ring"], 4, [100], [], None)} == {100}


def test_every_algorithm_has_one_line_below_the_headings():
    headings, *lines = prove_all(ALGORITHMS, [1, 4])
    assert headings.text.startswith("algorithm ") and not headings.refused
    assert [line.text.split()[0] for line in lines] == list(ALGORITHMS)
    assert not any(line.refused for line in lines)


def test_by_several_cores_lines_are_the_same_and_the_first_refusal_is_named():
    def generate(rank, size, topology, count, segment):
        steps = list(ALGORITHMS["ring"].generate(rank, size, topology, count, segment))
        yield from steps if size < 3 else steps[:-1]

    algorithms = {"ring": ALGORITHMS["ring"], "broken": ALGORITHMS["ring"]._replace(name="broken", generate=generate)}
    lines = [line.text for line in prove_all(algorithms, [1, 2, 3, 4, 5], lengths=True)]
    assert lines == [line.text for line in prove_all(algorithms, [1, 2, 3, 4, 5], lengths=True, over=in_forks)]
    assert "REFUSED  3 ranks" in lines[2]
