"""What is said, word for word."""

from has_message import has_message

from allreduce_bench.message import say
from allreduce_bench.stragglers.monitor.output import (
    alert_sentence,
    alert_sentences,
    namer,
    stall_sentence,
    too_little_sentence,
    unasked_sentence,
)
from allreduce_bench.stragglers.monitor.watchdog import Stall, Unasked
from allreduce_bench.stragglers.step_alarm import Alert, TooLittle

NAME = namer((0, 0, 1, 1, 1, 1) + (1,) * 20, ("n1", "n3"))
HERE = namer((0,) * 6, ("n1",))


def test_a_slow_rank_and_its_recovery():
    slow = Alert("slow", 5, 240, 0.118, 9.13, 228)
    assert alert_sentence(slow, NAME) == (
        "step 240: rank 5 on node n3 is 12 % slower than the others since step 228 (z 9.1)"
    )
    assert alert_sentence(slow._replace(node=1), HERE).endswith("(z 9.1); so are most ranks of its node")
    assert alert_sentence(Alert("recovered", 5, 300, 0.0, 0.1, 290), HERE) == (
        "step 300: rank 5 is as fast as the others again since step 290"
    )


def test_two_groups_and_many_ranks_at_once_are_one_sentence():
    groups = Alert("groups", 2, 40, 0.6, 9.13, 0, ranks=(2, 3))
    assert alert_sentences([groups], HERE) == [
        "step 40: the ranks are two groups: rank 2 and rank 3 are 60 % slower than the others since step 0 (z 9.1); "
        "which of them is as it should be is not known"
    ]
    many = [Alert("slow", rank, 40, 0.25 + rank / 100, 20.0 - rank, 30) for rank in range(12)]
    (told,) = alert_sentences(many, HERE)
    assert told.endswith("rank 7 and 4 more ranks are 25 to 36 % slower than the others since step 30 (z 9.0 or more)")
    assert len(alert_sentences(many[:3], HERE)) == 3
    recovered = [alert._replace(kind="recovered") for alert in many]
    assert alert_sentences(recovered, HERE)[0].endswith("are as fast as the others again since step 30")


def test_a_device_that_is_known_is_named():
    name = namer((0, 1), ("n1", "n3"), ("", "CUDA 5"))
    assert (name(0), name(1)) == ("rank 0 on node n1", "rank 1 on node n3 (CUDA 5)")


def test_too_little_to_judge_by():
    assert has_message(too_little_sentence(TooLittle(1, 7, None)), "stragglers.rank_no_other_could")
    assert too_little_sentence(TooLittle(4, 20, None)) == (
        say("stragglers.too_little_say_slow", begin="20 steps of 4 ranks", fewest_blocks=30)
    )
    assert too_little_sentence(TooLittle(4, 60, 0.348)) == (
        say("stragglers.too_little_say_rank", begin="60 steps of 4 ranks", least="35 % of a step")
    )
    assert has_message(too_little_sentence(TooLittle(4, 60, 0.348, True)), "stragglers.clocks_nodes_agree_badly")


def test_a_stall_and_its_end():
    stall = Stall(240, 61.2, behind=(5,))
    begin = "no step has ended for 61 s, step 240 is in progress: "
    assert stall_sentence(stall, NAME) == f"{begin}rank 5 on node n3 is not ready"
    assert stall_sentence(stall._replace(is_over=True), NAME) == "step 240 has ended after 61 s: the stall is over"
    two = stall_sentence(Stall(240, 61.2, behind=(1, 2), silent=(5,)), HERE)
    assert two == (
        f"{begin}rank 1 and rank 2 are not ready; rank 5 does not answer "
        "(stopped, ended, or busy in a call that holds Python's lock)"
    )
    assert stall_sentence(Stall(240, 61.2, all_ready=True), HERE).endswith(
        "all ranks are ready, the all-reduce itself does not end"
    )
    assert stall_sentence(Stall(240, 61.2, all_ready=True, unreached=(5,)), HERE).endswith(
        "the ranks that answer are ready; rank 5 cannot be asked: no connection to rank 0 since the start"
    )
    assert stall_sentence(Stall(240, 61.2), HERE).endswith("no rank is ready")
    assert stall_sentence(Stall(240, 61.2, says_ready=False), HERE).endswith("the program does not call ready()")
    assert "rank 7 on node n3 and 12 more ranks are not ready" in stall_sentence(
        Stall(0, 1, behind=tuple(range(20))), NAME
    )


def test_a_rank_speaks_for_itself():
    assert unasked_sentence(Unasked(5, 240, 70.0), HERE) == (
        "rank 5: no step has ended for 70 s, step 240 is in progress, and rank 0 does not ask: "
        "it is stopped, has ended, or cannot be reached"
    )
    assert unasked_sentence(Unasked(5, 240, 90.0, True), HERE) == (
        "rank 5: step 240 has ended after 90 s: the stall is over"
    )
