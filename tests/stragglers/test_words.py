"""What is said, word for word."""

from functools import partial

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

SINCE = "since step "

NAME = namer((0, 0, 1, 1, 1, 1) + (1,) * 20, ("n1", "n3"))
HERE = namer((0,) * 6, ("n1",))


def test_a_slow_rank_and_its_recovery():
    slow = Alert("slow", 5, 240, 0.118, 9.13, 228)
    assert alert_sentence(slow, NAME) == say(
        "stragglers.slower_others",
        who="step 240: rank 5 on node n3 is",
        share="12 %",
        since=SINCE + "228",
        z=9.1,
        others="",
    )
    assert alert_sentence(slow._replace(node=1), HERE).endswith("(z 9.1)" + say("stragglers.most_ranks_node"))
    assert alert_sentence(Alert("recovered", 5, 300, 0.0, 0.1, 290), HERE) == say(
        "stragglers.fast_others_again", who="step 300: rank 5 is", since=SINCE + "290"
    )


def test_two_groups_and_many_ranks_at_once_are_one_sentence():
    groups = Alert("groups", 2, 40, 0.6, 9.13, 0, ranks=(2, 3))
    assert alert_sentences([groups], HERE) == [
        say(
            "stragglers.step_ranks_two_groups",
            step=40,
            ranks="rank 2 and rank 3",
            ranks_2="are",
            share="60 %",
            since=SINCE + "0",
            z=9.1,
        )
    ]
    many = [Alert("slow", rank, 40, 0.25 + rank / 100, 20.0 - rank, 30) for rank in range(12)]
    (told,) = alert_sentences(many, HERE)
    assert told.endswith(
        say(
            "stragglers.slower_others_more",
            who="rank 7 and 4 more ranks are",
            share="25 to 36 %",
            since=SINCE + "30",
            alerts=9.0,
        )
    )
    assert len(alert_sentences(many[:3], HERE)) == 3
    recovered = [alert._replace(kind="recovered") for alert in many]
    assert alert_sentences(recovered, HERE)[0].endswith(
        say("stragglers.fast_others_again", who="are", since=SINCE + "30")
    )


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
    stalled = partial(say, "stragglers.no_step_ended_step", stall_s=61, step=240)
    assert stall_sentence(stall, NAME) == stalled(causes="rank 5 on node n3 is not ready")
    assert stall_sentence(stall._replace(is_over=True), NAME) == say(
        "stragglers.step_ended_after_stall", step=240, stall_s=61
    )
    silent = say("stragglers.not_answer_stopped_ended", silent="rank 5", either="does")
    two = stall_sentence(Stall(240, 61.2, behind=(1, 2), silent=(5,)), HERE)
    assert two == stalled(causes=f"rank 1 and rank 2 are not ready; {silent}")
    assert stall_sentence(Stall(240, 61.2, all_ready=True), HERE).endswith(say("stragglers.ranks_ready_reduce_itself"))
    assert stall_sentence(Stall(240, 61.2, all_ready=True, unreached=(5,)), HERE).endswith(
        say("stragglers.ranks_answer_ready") + "; " + say("stragglers.cannot_asked_no_connection", unreached="rank 5")
    )
    assert stall_sentence(Stall(240, 61.2), HERE).endswith(say("stragglers.no_rank_ready"))
    assert stall_sentence(Stall(240, 61.2, says_ready=False), HERE).endswith(say("stragglers.rank_late_not_known"))
    named, _, many = stall_sentence(Stall(0, 1, behind=tuple(range(20))), NAME).partition(" and 12 more ranks ")
    assert named.endswith(", rank 7 on node n3") and many == "are not ready"


def test_a_rank_speaks_for_itself():
    assert unasked_sentence(Unasked(5, 240, 70.0), HERE) == say(
        "stragglers.no_step_ended_step_progress", name="rank 5", stall_s=70, step=240
    )
    assert unasked_sentence(Unasked(5, 240, 90.0, True), HERE) == say(
        "stragglers.step_ended_after_stall_over", name="rank 5", step=240, stall_s=90
    )
