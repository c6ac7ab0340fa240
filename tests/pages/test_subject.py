"""Which schedules are shown when little is said."""

import pytest

from allreduce_bench.pages.drawing import even_count, subject
from allreduce_bench.schedule import Parts
from allreduce_bench.schedule.algorithm import AlgorithmError
from allreduce_bench.schedule.verify import Refusal


@pytest.mark.parametrize("ranks", [2, 6, 24, 31])
@pytest.mark.parametrize("name", ["ring", "rabenseifner", "two_tree"])
def test_blocks_are_equal_by_default(name, ranks):
    chosen = subject(name, ranks, segment=even_count(ranks) // 32)
    parts = Parts(chosen.schedules, chosen.count)
    assert len({len(parts.span(part)) for part in range(len(parts))}) == 1


def test_nodes_are_as_square_as_can_be_where_they_matter():
    assert subject("hierarchical_ring", 24).topology.describe() == "4x6"
    assert subject("hierarchical_ring", 7).topology.describe() == "1x7"
    assert subject("two_tree", 24).topology.describe() == "1x24"


def test_a_file_of_two_algorithms_and_one_that_is_no_all_reduce_are_refused(tmp_path):
    head = "from allreduce_bench.schedule.algorithm import Cost, algorithm\n"
    one = "@algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula='')\ndef {}(*_):\n    yield from ()\n"
    file = tmp_path / "mine.py"
    file.write_text(head + one.format("nothing"), encoding="utf-8")
    with pytest.raises(Refusal, match="ends without"):
        subject(str(file), 2)
    file.write_text(head + one.format("first") + one.format("second"), encoding="utf-8")
    with pytest.raises(AlgorithmError, match="2 algorithms"):
        subject(str(file), 2)
