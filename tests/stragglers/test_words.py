"""What StepMonitor says: who, since when, and whom the others wait for."""

import pytest

from allreduce_bench.stragglers.monitor.watchdog import Stall
from allreduce_bench.stragglers.monitor.words import alert_sentences, namer, stall_sentence, too_little_sentence
from allreduce_bench.stragglers.step_alarm import Alert, TooLittle

NAME = namer((0, 0, 1, 1, 1, 1) + (1,) * 20, ("n1", "n3"))
HERE = namer((0,) * 26, ("n1",))
SLOW = Alert("slow", 5, 240, 0.118, 9.13, 228)


def test_a_slow_rank_and_its_recovery():
    slow = "step 240: rank 5 on node n3 is 12 % slower than the others since step 228 (z 9.1)"
    assert alert_sentences([SLOW], NAME) == [slow]
    (said,) = alert_sentences([SLOW._replace(kind="recovered", step=300, since_step=290)], HERE)
    assert said.startswith("step 300: rank 5 is as fast") and said.endswith("again since step 290")


def test_two_groups_and_many_ranks_at_once_are_one_sentence():
    (said,) = alert_sentences([Alert("groups", 2, 40, 0.6, 9.13, 0, ranks=(2, 3))], HERE)
    assert "two groups: rank 2 and rank 3 are 60 % slower" in said and "which of them" in said
    many = [Alert("slow", rank, 40, 0.25 + rank / 100, 20.0 - rank, 30) for rank in range(12)]
    (said,) = alert_sentences(many, HERE)
    assert "rank 7 and 4 more ranks are 25 to 36 % slower" in said and "(z 9.0 or more)" in said
    assert len(alert_sentences(many[:3], HERE)) == 3


def test_too_little_to_judge_by():
    assert "1 rank" in too_little_sentence(TooLittle(1, 7, None))
    assert "30 steps" in too_little_sentence(TooLittle(4, 20, None))
    assert "less than 35 % of a step" in too_little_sentence(TooLittle(4, 60, 0.348))


@pytest.mark.parametrize(
    ("stall", "said"),
    [
        (Stall(240, 61.2, behind=(5,)), "no step has ended for 61 s, step 240 is in progress: rank 5 is not ready"),
        (Stall(240, 61.2, behind=(1, 2), silent=(5,)), "rank 1 and rank 2 are not ready; rank 5 does not answer"),
        (Stall(240, 61.2, all_ready=True), "all-reduce itself"),
        (Stall(240, 61.2, all_ready=True, unreached=(5,)), "rank 5 cannot be asked"),
        (Stall(240, 61.2), "no rank is ready"),
        (
            Stall(7, 61.2, ahead=(2,), all_ready=True),
            "rank 2 has ended it, and the others are still in it: it left",
        ),
        (Stall(7, 61.2, ahead=(2, 3), all_ready=True), "rank 2 and rank 3 have ended it"),
        (Stall(7, 61.2, behind=(1,), all_ready=True), "rank 1 has not ended it"),
        (Stall(240, 61.2, says_ready=False), "which rank is late is not known"),
        (Stall(240, 61.2, told_by=3), "rank 3: no step has ended for 61 s, step 240 is in progress, and rank 0"),
        (Stall(240, 61.2, is_over=True), "step 240 has ended after 61 s"),
    ],
)
def test_a_stall_says_whom_the_others_wait_for(stall, said):
    assert said in stall_sentence(stall, HERE)
