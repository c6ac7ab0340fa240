"""How far ranks have come, as counts."""

from allreduce_bench.stragglers.progress import Count, Progress


def test_behind_is_behind_whoever_has_entered_most():
    count = Count("AllReduce", {0: 7, 1: 7, 2: 5}, {})
    assert count.behind == {2: 2} and Count("", {0: 3, 1: 3}, {}).behind == {} and Count("", {}, {}).behind == {}


def test_over_kinds_of_calls_the_most_counts():
    counts = Count("AllReduce", {0: 7, 1: 6}, {}), Count("Broadcast", {0: 1, 1: 9}, {})
    assert Progress("f", "nccl-ras", "0x1", (0, 1), {}, counts).behind == {0: 8, 1: 1}
