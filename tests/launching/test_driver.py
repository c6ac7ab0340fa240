"""Which launches of a run are worth starting in the time that is left."""

from types import SimpleNamespace

from allreduce_bench.launching.driver import CELL_S, START_S, _split_by_time
from allreduce_bench.runs.plan import Launch

LAUNCHES = [Launch(ranks, number) for number in (1, 2, 3) for ranks in (2, 4)]


CELLS = [SimpleNamespace(executor="native")] * 10
RUN = SimpleNamespace(plan=SimpleNamespace(cells=lambda launch: CELLS))


def test_without_a_limit_all_launches_are_worth_it():
    assert _split_by_time(RUN, LAUNCHES, None) == (LAUNCHES, [])
    assert _split_by_time(RUN, [], 60.0) == ([], [])


def test_launches_are_left_out_by_rounds_of_all_rank_counts_and_one_round_stays():
    round_s = 2 * (START_S + 10 * CELL_S)
    assert _split_by_time(RUN, LAUNCHES, 2.5 * round_s) == (LAUNCHES[:4], LAUNCHES[4:])
    assert _split_by_time(RUN, LAUNCHES, 0.1 * round_s) == (LAUNCHES[:2], LAUNCHES[2:])
    assert _split_by_time(RUN, LAUNCHES, 9 * round_s) == (LAUNCHES, [])
