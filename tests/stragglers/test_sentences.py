"""What is said of who arrives late, of arrivals of known truth."""

import numpy as np
import pytest
from made_arrivals import arrivals, judgement

from allreduce_bench.runs.injected import Slowdown
from allreduce_bench.stragglers.arrivals import Arrivals
from allreduce_bench.stragglers.run_arrivals import Injected, NodeState
from allreduce_bench.stragglers.sentences import (
    judge_arrivals,
    name_of,
    often_words,
    since_words,
    suspect_rows,
    verdict_sentences,
)
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals


def test_a_slow_rank_is_named_with_its_price():
    said = verdict_sentences(judgement())
    assert len(said) == 1 and said[0].startswith("rank 5 on node n1 arrives last in 100 % of steps and costs ")
    assert "the median step takes 1.02 s instead of 1.12 s" in said[0] and "since" not in said[0]


def test_since_when_it_is_slow():
    one = judgement(steps=400, from_step=240, by=0.2)
    (suspect,) = one.report.suspects
    since = since_words(suspect, one)
    assert "the median of these steps" in verdict_sentences(one)[0]
    assert abs(suspect.from_step - 240) <= 10 and since.startswith(f"since step {suspect.from_step}, minute 4.")
    assert f"of steps {since} and costs" in verdict_sentences(one)[0]
    assert since_words(suspect._replace(to_step=300), one).startswith("from step 2")
    assert since_words(suspect._replace(from_step=0, to_step=300), one).startswith("until step 300")
    without = one._replace(arrivals=one.arrivals._replace(begin_s=None))
    assert since_words(suspect, without) == f"since step {suspect.from_step}"


def test_a_slow_node_is_named_as_one():
    slow = [Slow((4, 5, 6, 7), 0.15)]
    one = judge_arrivals("", synthetic_arrivals(16, 200, 1, slow=slow, noise=0.02, spikes=0, ranks_per_node=4))
    assert name_of(one.report.suspects[0], one.arrivals) == "node n1 (ranks 4-7)"
    assert verdict_sentences(one)[0].startswith("node n1 (ranks 4-7) arrives last in 100 %")


def test_that_nobody_is_named_is_said_with_the_figures():
    said = verdict_sentences(judgement(slow=None))
    assert "named: ranks wait" in said[0] and "10 % or more" in said[0]
    assert (
        "named: 4 steps with the arrivals of two ranks cannot tell a slow rank from chance"
        in verdict_sentences(judgement(steps=4))[0]
    )
    assert "one rank alone" in verdict_sentences(judgement(ranks=1, slow=None))[0]
    blind = arrivals()._replace(clock_error_s=0.1)
    told = verdict_sentences(judge_arrivals("", blind))[0]
    assert "to 100 ms only" in told and "three times" in told


def test_a_slow_rank_that_costs_little_is_no_cause():
    one = judgement(by=0.07, noise=0.01)
    assert one.report.suspects and not one.report.causes
    (said,) = verdict_sentences(one)
    assert said.startswith("rank 5 on node n1 is late, but not called a cause: ranks wait ") and "these steps" in said


def test_two_slow_ranks_are_both_named():
    slow = [Slow((2,), 0.3), Slow((9,), 0.3)]
    one = judge_arrivals("", synthetic_arrivals(16, 200, 1, slow=slow, noise=0.02, spikes=0))
    (said,) = verdict_sentences(one)
    assert said.startswith("the others wait for ") and "rank 2 on node n2" in said and "rank 9 on node n9" in said
    assert "less time" in said


@pytest.mark.parametrize("seed", range(5))
def test_sentences_are_whole_whatever_is_known(seed):
    random = np.random.default_rng(seed)
    made = arrivals(steps=60, seed=seed)
    made.ready_s[random.random(made.ready_s.shape) < 0.3] = np.nan
    made.ready_s[:, 3] = np.nan
    for sentence in verdict_sentences(judge_arrivals("", made)):
        assert "nan" not in sentence and "\n" not in sentence


def test_what_the_kernel_of_the_node_counted_stands_beside_the_suspect():
    made = judgement()
    hot = made._replace(machines=(NodeState(), NodeState(throttled=12, clock=0.4, others=0.2, stolen=0.1)))
    (said,) = [sentence for sentence in verdict_sentences(hot) if sentence.startswith("on node n1")]
    assert "while ranks" in said
    assert "other processes used 20 %" in said and "hypervisor took 10 %" in said
    assert not any("on node n1, while" in one for one in verdict_sentences(made._replace(machines=(NodeState(),) * 2)))


def test_why_suspects_are_no_cause():
    one = judgement(by=0.07, noise=0.01)
    suspects = tuple(suspect._replace(waiting_share=0.5) for suspect in one.report.suspects)
    chance = one._replace(report=one.report._replace(suspects=suspects))
    assert "lasting waits" in verdict_sentences(chance)[0]
    partly = one._replace(report=chance.report._replace(unexplained_share=0.5))
    assert "all suspects explain 50 % of the lasting wait, and 80 % is the" in verdict_sentences(partly)[0]


def test_what_was_injected_is_told():
    injected = Injected((Slowdown(5, 0.12), Slowdown(2, 0.03)), 1.0)
    first, second = verdict_sentences(judgement()._replace(injected=injected))
    assert first.startswith("rank 5") and second == "delays were injected: rank 5 by 120 ms, rank 2 by 30.0 ms"


def test_injected_delays_are_not_blamed_on_other_processes():
    hot = judgement()._replace(injected=Injected(pattern="ramp"), machines=(NodeState(others=0.9),) * 2)
    said = verdict_sentences(hot)
    assert said[1] == "delays were injected: --arrival ramp" and not any("other processes" in one for one in said)


def steady(ranks, late, by=0.2):
    """Steps in which some ranks are late by the same share of a second, and the report of them."""
    ready_s = np.random.default_rng(1).normal(0, 0.01, (60, ranks))
    ready_s[:, list(late)] += by
    return judge_arrivals("", Arrivals(ready_s, 1 + np.ptp(ready_s, axis=1), 0.0, (0,) * ranks))


@pytest.mark.parametrize(("ranks", "late"), [(4, [0, 1]), (5, [0, 1, 2])])
def test_where_half_of_more_are_late_alike_they_are_a_group(ranks, late):
    said = verdict_sentences(steady(ranks, late))
    assert f"groups: ranks 0-{late[-1]} are" in said[0] and " slower than ranks " in said[0]


def test_groups_are_told_by_their_nodes():
    slow = [Slow(tuple(range(32)), 0.3)]
    one = judge_arrivals("", synthetic_arrivals(64, 300, 1, slow=slow, ranks_per_node=8))
    said = verdict_sentences(one)
    assert said[0].startswith(
        "the ranks are two groups: nodes n0, n1, n2, n3 (ranks 0-31) are 29.9 % slower than nodes n4, n5, n6, n7 "
        "(ranks 32-63), which costs "
    )
    (row,) = suspect_rows(one)
    assert row[:3] == ["nodes n0, n1, n2, n3 (ranks 0-31)", "299 ms", "29.9 %"] and row[-1] == "in all steps"
    many = judge_arrivals("", synthetic_arrivals(64, 300, 1, slow=slow, ranks_per_node=4))
    assert "groups: nodes n0, n1, n2, n3, 4 more (ranks 0-31) are" in verdict_sentences(many)[0]


def test_a_rank_that_is_late_at_times_is_told_as_such():
    made = arrivals(steps=300, slow=None, noise=0.05)
    made.ready_s[9::10, 5] += 0.3
    one = judge_arrivals("", made._replace(step_s=(made.ready_s - made.begin_s[:, None]).max(axis=1)))
    (said,) = verdict_sentences(one)
    (suspect,) = one.report.suspects
    assert said.startswith(f"rank 5 on node n1 is late {often_words(suspect)} and costs 2 % of")
    assert "steps together" in said
    assert (
        often_words(suspect._replace(every=0)) == "in 9.67 % of steps"
        and often_words(suspect._replace(late_share=1, every=0)) == ""
    )
    assert [often_words(suspect._replace(every=every)) for every in (2, 11, 23)] == [
        "in every 2nd step",
        "in every 11th step",
        "in every 23rd step",
    ]
    (row,) = suspect_rows(one)
    assert row[1] == "285 ms" and row[-1] == "in every 10th step"


def test_the_last_of_a_wide_field_is_told_as_such():
    one = judgement(ranks=8, by=0.2)
    (suspect,) = one.report.suspects
    wide = one.report._replace(
        suspects=(suspect._replace(stands_out=False, expected=0.2, is_cause=False),), spread_share=0.05
    )
    (said,) = verdict_sentences(one._replace(report=wide))
    assert said.endswith(
        "is late, but not called a cause: the 8 ranks differ by 5 % anyway (standard deviation), and one of so many is "
        "so late by chance in 18.1 % of jobs"
    )


def test_at_most_four_suspects_are_named_and_the_rest_counted():
    one = judgement(ranks=40, slow=None)
    (suspect,) = judgement(by=0.07, noise=0.01).report.suspects
    eight = tuple(suspect._replace(ranks=(rank,)) for rank in range(8))
    one = one._replace(report=one.report._replace(suspects=eight, silence=""))
    assert len(one.report.suspects) == 8 and not one.report.causes
    assert "rank 3 on node n1 and 4 more are late, but not called causes" in verdict_sentences(one)[0]


def test_of_two_ranks_the_other_one_is_the_reference():
    one = steady(2, [1])
    assert 0.98 < one.report.undisturbed_s < 1.02 and 0.18 < one.report.suspects[0].slower_by < 0.22
