"""What is told of all-reduces far beyond those that were measured."""

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.cost import LoggedCosts, Timed, doubts_of, modelled_costs
from allreduce_bench.training.time_line import Transfer

COSTS = LoggedCosts([Timed("native", 4, 1024, 1.0), Timed("ring", 4, 4096, 1.0)], "x.log")


def sent(algorithm: str, size_bytes: int) -> Transfer:
    return Transfer(size_bytes, 0.0, 0.0, 1.0, algorithm=algorithm)


def test_each_reason_is_told_once_with_its_number():
    short, long = (sent("native", 100), sent("native", 2049)), (sent("native", 5000), sent("ring", 9000))
    transfers = (*short, *long, sent("ring", 5000))
    assert doubts_of(COSTS, 4, transfers) == (
        "2 of 5 all-reduces are more than 2 times as long as the longest that was measured (1 KiB)",
        "1 of 5 all-reduces are more than 2 times as long as the longest that was measured (4 KiB)",
    )


def test_near_what_was_measured_nothing_is_told():
    assert doubts_of(COSTS, 4, (sent("native", 2048), sent("ring", 1))) == ()


def test_one_rank_and_prices_alone_leave_no_doubt():
    assert doubts_of(COSTS, 1, (sent("", 1 << 30),)) == ()
    assert doubts_of(modelled_costs(bare_machine(1e-5, 1e-9)), 1024, (sent("ring", 1 << 30),)) == ()
