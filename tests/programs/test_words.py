"""What is said, word for word."""

from allreduce_bench.lateness.step_alarm import Alert
from allreduce_bench.programs.stalls import Stall
from allreduce_bench.programs.watchdog import Unasked
from allreduce_bench.programs.words import alert_sentence, namer, stall_sentence, unasked_sentence

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
