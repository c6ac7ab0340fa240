"""Patience judges what ranks said, without a socket and without waiting: every second here is a number."""

import pytest

from allreduce_bench.launching.blame import ABSENCES
from allreduce_bench.launching.patience import ANSWER_S, Patience, Question, Rank, Trouble
from allreduce_bench.watching.watch import START_FACTOR

BETWEEN_CALLS = "between calls"
SILENT = next(one for state, one, _ in ABSENCES if state == "silent")

CELL = {"kind": "cell", "words": "ring 4 KiB", "facts": {"competitor": "ring", "attempt": 1}}
TIMEOUT_S = 10.0


def watched(size: int, cell: bool = True, **options) -> Patience:
    """All ranks are there, and rank 0 has named a cell, at second 0."""
    patience = Patience(size, TIMEOUT_S, 0.0, **options)
    for rank in range(size):
        patience.enter(Rank(rank, f"n{rank}", 100 + rank), 0.0)
    if cell:
        patience.hear(patience.ranks[0], CELL, 0.0)
    return patience


def answer(patience: Patience, rank: int, question: Question, at: list, now: float) -> None:
    said = {"at": at, "question": question.number, "place": [["repeat", 0, 9]], "doing": BETWEEN_CALLS, "call": None}
    patience.take_answer(patience.ranks[rank], said, now)


def ask(patience: Patience, now: float) -> Question:
    question = patience.judge(now)
    assert isinstance(question, Question)
    return question


def test_ranks_are_asked_at_half_of_the_patience_and_at_its_end_and_then_one_is_to_blame():
    patience = watched(2)
    assert patience.judge(4.9) is None
    first = ask(patience, 5.1)
    answer(patience, 0, first, [1], 5.2)
    assert patience.judge(9.9) is None
    second = ask(patience, 10.1)
    answer(patience, 0, second, [1], 10.2)
    assert second.number == first.number + 1 and patience.judge(TIMEOUT_S + ANSWER_S) is None
    trouble = patience.judge(TIMEOUT_S + ANSWER_S + 0.1)
    reason = "no progress for 10 s (--timeout); rank 1 on n1 does not respond (stopped, or its node failed)"
    assert trouble == Trouble("ring 4 KiB, 2 ranks", reason, CELL)
    assert trouble.sentence == f"ring 4 KiB, 2 ranks: {reason}"
    assert trouble.row == {"competitor": "ring", "attempt": 1, "state": "hung", "reason": reason}


def test_when_all_have_answered_nobody_waits_for_more_answers():
    patience = watched(1)
    for now in (5.1, 10.1):
        answer(patience, 0, ask(patience, now), [1], now)
    assert f"all ranks are {BETWEEN_CALLS}" in patience.judge(10.2).reason


def test_the_start_of_ranks_has_more_patience_and_no_cell_that_hung():
    patience = watched(1, cell=False)
    assert patience.judge(START_FACTOR * TIMEOUT_S / 2 - 0.1) is None
    ask(patience, START_FACTOR * TIMEOUT_S / 2 + 0.1)
    ask(patience, START_FACTOR * TIMEOUT_S + 0.1)
    trouble = patience.judge(START_FACTOR * TIMEOUT_S + ANSWER_S + 0.1)
    assert trouble.where == "start of 1 rank" and trouble.row is None
    assert trouble.reason.startswith("no progress for 50 s (5 times --timeout); rank 0 on n0 does not respond")


def test_the_start_of_ranks_that_share_cores_may_be_silent_for_longer():
    patience = watched(1, cell=False, start_s=64.0)
    assert patience.judge((START_FACTOR * TIMEOUT_S + 64.0) / 2 - 0.1) is None
    ask(patience, 60.0)
    ask(patience, 115.0)
    assert "(5 times --timeout and 64 s, as ranks share cores)" in patience.judge(118.0).reason


def test_a_rank_that_moved_between_two_answers_is_news():
    patience = watched(1)
    answer(patience, 0, ask(patience, 5.1), [1], 5.1)
    answer(patience, 0, ask(patience, 10.1), [2], 10.1)
    assert patience.judge(15.0) is None
    ask(patience, 15.2)


def test_progress_that_no_rank_can_tell_of_is_asked_for_last():
    written = iter([0, 1, 1])
    patience = Patience(2, TIMEOUT_S, 0.0, pulse=lambda: next(written))
    patience.enter(Rank(1, "n1", 101), 0.0)
    for begin in (0.0, 60.0):
        ask(patience, begin + 25.1)
        ask(patience, begin + 50.1)
        trouble = patience.judge(begin + 60.0)
        assert (trouble is None) == (begin == 0.0)


@pytest.mark.parametrize(("at_the_end", "is_hung"), [(1, True), (2, False)])
def test_what_ranks_that_are_heard_wrote_before_they_were_asked_is_no_progress(at_the_end, is_hung):
    written = iter([0, 1, at_the_end])
    patience = watched(1, pulse=lambda: next(written))
    ask(patience, 5.1)
    ask(patience, 10.1)
    trouble = patience.judge(TIMEOUT_S + ANSWER_S + 0.1)
    assert (trouble is not None) == is_hung


@pytest.mark.parametrize(("stopped", "words"), [(False, "in MPI_Init"), (True, "does not respond (stopped")])
def test_a_rank_in_mpi_init_cannot_answer_unless_it_is_stopped(stopped, words):
    patience = watched(1, cell=False, is_stopped=lambda rank: stopped)
    patience.hear(patience.ranks[0], {"kind": "starting"}, 0.0)
    ask(patience, 26.0)
    ask(patience, 51.0)
    assert words in patience.judge(54.0).reason


def test_where_only_answers_count_ranks_need_not_get_on():
    patience = watched(2, cell=False, only_answers=True)
    assert patience.judge(4.9) is None
    question = ask(patience, 5.1)
    for rank in (0, 1):
        answer(patience, rank, question, [1], 5.2)
    assert patience.judge(5.3) is None
    question = ask(patience, 10.4)
    answer(patience, 0, question, [1], 10.5)
    assert patience.judge(15.2) is None
    assert patience.judge(15.4).reason == f"rank 1 on n1 {SILENT} for 10 s (--timeout)"


@pytest.mark.parametrize(("there", "reason"), [(0, "ranks 0, 1 never connected"), (1, "rank 1 never connected")])
def test_where_only_answers_count_ranks_must_come_up(there, reason):
    patience = Patience(2, 10.0, 0.0, only_answers=True)
    for rank in range(there):
        patience.enter(Rank(rank, "n0", 100), 0.0)
    question = ask(patience, 5.1)
    for rank in range(there):
        answer(patience, rank, question, [1], 5.2)
    assert patience.judge(9.9) is None
    assert patience.judge(10.1).reason == f"{reason} for 10 s (--timeout)"


def test_ranks_that_run_unheard_are_not_waited_for():
    patience = Patience(2, 10.0, 0.0, only_answers=True)
    patience.may_be_absent = True
    for now in (5.1, 10.4, 15.7):
        ask(patience, now)
        assert patience.judge(now + 0.1) is None


def test_in_a_hurry_only_silence_is_trouble():
    patience = watched(2)
    patience.hurry()
    question = ask(patience, 1.0)
    answer(patience, 0, question, [1], 1.1)
    assert patience.judge(1.0 + ANSWER_S) is None
    reason = patience.judge(1.1 + ANSWER_S).reason
    assert reason.startswith("no progress for 4.1 s (--within); rank 1 on n1 does not respond")
    answer(patience, 1, question, [1], 4.2)
    assert patience.judge(1000.0) is None


def test_in_a_hurry_news_of_ranks_that_still_start_are_no_hang():
    patience = watched(2, cell=False)
    patience.hear(patience.ranks[0], {"kind": "starting"}, 0.5)
    patience.hurry()
    ask(patience, 1.0)
    patience.hear(patience.ranks[1], {"kind": "starting"}, 1.0 + ANSWER_S)
    ask(patience, 1.1 + ANSWER_S)
    assert patience.judge(1000.0) is None  # in MPI_Init none can answer


def test_the_first_line_that_breaks_is_a_death_after_its_grace():
    patience = watched(3)
    patience.lose(patience.ranks[1], 1.0)
    patience.lose(patience.ranks[0], 1.1)
    assert patience.judge(1.0 + ANSWER_S) is None and patience.first_to_go == "rank 1 on n1"
    assert patience.judge(1.1 + ANSWER_S) == Trouble("ring 4 KiB, 3 ranks", "rank 1 on n1 died")
    assert watched(3).death() is None


def test_without_grace_a_broken_line_is_a_death_at_once():
    patience = watched(2, grace_s=0.0)
    patience.lose(patience.ranks[1], 1.0)
    assert patience.judge(1.01).reason == "rank 1 on n1 died"


def test_the_launcher_knows_better_who_died_first_but_only_of_lines_that_broke():
    patience = watched(3)
    patience.suspect(102)
    patience.suspect(101)  # whom it names later does not count
    patience.lose(patience.ranks[0], 1.0)
    assert patience.death().reason == "rank 0 on n0 died"
    patience.lose(patience.ranks[2], 1.1)
    assert patience.death().reason == "rank 2 on n2 died"


def test_after_a_failure_broken_lines_say_nothing_for_the_failed_rank_ends_the_others():
    patience = watched(2)
    patience.hear(patience.ranks[0], {"kind": "failed", "why": "too few nodes", "pause_s": 1.0, "refused": True}, 1.0)
    patience.lose(patience.ranks[1], 2.0)
    assert patience.failure == "rank 0: too few nodes" and patience.refusal == "too few nodes"
    assert patience.first_to_go is None and patience.death() is None
    assert patience.all_gone and not patience.all_over


def test_when_all_have_ended_nothing_is_asked_any_more():
    patience = watched(2)
    for rank in patience.ranks:
        assert not patience.all_over
        patience.hear(rank, {"kind": "bye"}, 1.0)
        patience.lose(rank, 1.1)
    assert patience.all_over and patience.all_gone and patience.judge(1000.0) is None


def test_one_that_was_never_heard_of_keeps_the_others():
    patience = Patience(2, TIMEOUT_S, 0.0)
    patience.enter(Rank(0, "n0", 100), 0.0)
    questions = [ask(patience, 25.1), ask(patience, 50.1)]
    answer(patience, 0, questions[1], [1], 50.2)
    trouble = patience.judge(50.3)
    assert trouble.where == "start of 2 ranks"
    assert trouble.reason == "no progress for 50 s (5 times --timeout); rank 1 never connected"
    assert not patience.all_over


def test_what_no_rank_says_is_refused():
    patience = watched(1)
    for message in ({}, {"kind": "failed"}, {"kind": "failed", "why": "x", "pause_s": "soon"}):
        with pytest.raises((KeyError, ValueError)):
            patience.hear(patience.ranks[0], message, 1.0)


@pytest.mark.parametrize(("timeout_s", "pause_s"), [(8.0, 1.0), (4000.0, 5.0)])
def test_judging_is_seldom_until_something_is_open(timeout_s, pause_s):
    patience = Patience(1, timeout_s, 0.0)
    assert patience.pause_s == pause_s
    patience.hurry()
    assert patience.pause_s == 0.2
