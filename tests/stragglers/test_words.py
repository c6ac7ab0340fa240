"""What is said, word for word."""

from allreduce_bench.stragglers.monitor.watchdog import Stall
from allreduce_bench.stragglers.monitor.words import (
    alert_sentence,
    alert_sentences,
    namer,
    stall_sentence,
    too_little_sentence,
)
from allreduce_bench.stragglers.step_alarm import Alert, TooLittle

SINCE = "since step "

NAME = namer((0, 0, 1, 1, 1, 1) + (1,) * 20, ("n1", "n3"))
HERE = namer((0,) * 6, ("n1",))


def test_a_slow_rank_and_its_recovery():
    slow = Alert("slow", 5, 240, 0.118, 9.13, 228)
    assert (
        alert_sentence([slow], NAME)
        == f"step 240: rank 5 on node n3 is 12 % slower than the others {SINCE + '228'} (z 9.1)"
    )
    assert "z 9.1" in alert_sentence([slow._replace(node=1)], HERE)
    said = alert_sentence([Alert("recovered", 5, 300, 0.0, 0.1, 290)], HERE)
    assert "step 300: rank 5 is as fast" in said and f"others again {SINCE + '290'}" in said


def test_two_groups_and_many_ranks_at_once_are_one_sentence():
    groups = Alert("groups", 2, 40, 0.6, 9.13, 0, ranks=(2, 3))
    assert alert_sentences([groups], HERE) == [
        (
            f"step 40: the ranks are two groups: rank 2 and rank 3 are 60 % slower than the others {SINCE + '0'} (z "
            "9.1); which of them is as it should be is not known"
        )
    ]
    many = [Alert("slow", rank, 40, 0.25 + rank / 100, 20.0 - rank, 30) for rank in range(12)]
    (told,) = alert_sentences(many, HERE)
    assert told.endswith(
        f"rank 7 and 4 more ranks are 25 to 36 % slower than the others {SINCE + '30'} (z 9.0 or more)"
    )
    assert len(alert_sentences(many[:3], HERE)) == 3
    recovered = [alert._replace(kind="recovered") for alert in many]
    said = alert_sentences(recovered, HERE)[0]
    assert "are as fast" in said and f"others again {SINCE + '30'}" in said


def test_too_little_to_judge_by():
    assert "1 rank" in too_little_sentence(TooLittle(1, 7, None))
    said = too_little_sentence(TooLittle(4, 20, None))
    assert all(words in said for words in ("20 steps of 4 ranks are too", "say who", "30 steps"))
    said = too_little_sentence(TooLittle(4, 60, 0.348))
    assert "60 steps of 4 ranks are too little" in said and "less than 35 % of a step" in said


def test_a_stall_and_its_end():
    stall = Stall(240, 61.2, behind=(5,))
    assert (
        stall_sentence(stall, NAME)
        == "no step has ended for 61 s, step 240 is in progress: rank 5 on node n3 is not ready"
    )
    assert "240 has ended after 61 s" in stall_sentence(stall._replace(is_over=True), NAME)
    silent = "rank 5 does not answer (stopped, ended, or busy in a call that holds Python's lock)"
    two = stall_sentence(Stall(240, 61.2, behind=(1, 2), silent=(5,)), HERE)
    assert two == f"no step has ended for 61 s, step 240 is in progress: rank 1 and rank 2 are not ready; {silent}"
    assert "all-reduce itself" in stall_sentence(Stall(240, 61.2, all_ready=True), HERE)
    said = stall_sentence(Stall(240, 61.2, all_ready=True, unreached=(5,)), HERE)
    assert "rank 5 cannot" in said and "no connection" in said
    assert "rank is ready" in stall_sentence(Stall(240, 61.2), HERE)
    said = stall_sentence(Stall(7, 61.2, ahead=(2,), all_ready=True), HERE)
    assert "rank 2 has ended it" in said and "it left out an all-reduce, in this step or before, or" in said
    assert "rank 1 has not ended it" in stall_sentence(Stall(7, 61.2, behind=(1,), all_ready=True), HERE)
    assert "which rank" in stall_sentence(Stall(240, 61.2, says_ready=False), HERE)
    named, _, many = stall_sentence(Stall(0, 1, behind=tuple(range(20))), NAME).partition(" and 12 more ranks ")
    assert named.endswith(", rank 7 on node n3") and many == "are not ready"


def test_a_rank_speaks_for_itself():
    stall = Stall(240, 70.0, told_by=5)
    assert stall_sentence(stall, HERE) == (
        "rank 5: no step has ended for 70 s, step 240 is in progress, and rank 0 does not ask: it goes on, is stopped, "
        "has ended, or cannot be reached"
    )
    said = "rank 5: step 240 has ended after 70 s: the stall is over"
    assert stall_sentence(stall._replace(is_over=True), HERE) == said
