"""How far ranks have come, in words: never by how much time."""

from has_message import has_message

from allreduce_bench.message import say
from allreduce_bench.stragglers.progress import DEAD, NO_RECORD, Count, Held, Missing, Progress, Unlike
from allreduce_bench.stragglers.progress_sentences import (
    MOST_RANKS,
    NO_TIMES,
    SNAPSHOT,
    WHY,
    progress_sentences,
    progress_table,
)
from allreduce_bench.tables import UNBOUNDED, Screen

ABORTED, SYSTEM_ERROR = "aborted", "system error"


def made(entered, left=None, **others):
    ranks = tuple(range(others.pop("ranks", len(entered))))
    count = Count(others.pop("collective", ""), entered, left or {})
    return Progress("f", "flight-recorder", "0", ranks, others.pop("hosts", {}), (count,), **others)


def test_who_has_not_entered_a_call_that_others_wait_in():
    one = made({0: 7, 1: 6, 2: 7}, {0: 6, 1: 6, 2: 6}, held=(Held(7, "all_reduce", 4000, (0, 2), (1,)),))
    held, last = progress_sentences(one)
    behind, waiting = held.split("; ")
    assert behind.startswith("rank 1 has not ") and behind.endswith("entered call 7, all_reduce of 4,000 bytes")
    assert waiting.startswith("ranks 0,2 have entered") and waiting.endswith("and wait") and last == SNAPSHOT
    assert progress_table(one, UNBOUNDED)[1].split() == ["1", "6", "6", "1"]


def test_a_call_that_everybody_entered_and_nobody_left():
    held = (Held(7, "barrier", None, (0,), ()),)
    told, others = progress_sentences(made({0: 7, 1: 7}, {0: 6, 1: 7}, held=held))[0].split("; ")
    assert told.startswith("rank 0 has entered call 7, barrier, ") and told.endswith(" not left it")
    assert others == say("stragglers.every_rank_entered")
    begun = made({0: 7, 1: 7}, {0: 6, 1: 7}, held=(held[0]._replace(started=(0,)),))
    assert progress_sentences(begun)[0].endswith(
        say("stragglers.every_rank_entered") + say("stragglers.gpu_begun", started="rank 0")
    )
    gone = made({0: 7}, {0: 6}, ranks=2, held=held, missing=(Missing(1, NO_RECORD),))
    assert progress_sentences(gone)[0].endswith(" not left it; " + say("stragglers.nothing_known", silent="rank 1"))
    assert progress_sentences(gone)[1] == "rank 1: no file"


def test_counts_alone_say_who_is_behind():
    one = made({0: 1407, 1: 1406, 2: 1407, 3: 1400}, collective="AllReduce", hosts={1: "a", 3: "b"})
    assert progress_sentences(one)[0] == (
        "AllReduce calls: rank 3 is 7 behind, rank 1 is 1 behind; ranks 0,2 reached call 1407"
    )
    assert [line.split()[0] for line in progress_table(one, UNBOUNDED)] == ["rank", "3", "1", "0", "2"]


def test_an_error_of_many_ranks_is_one_sentence():
    one = made(dict.fromkeys(range(9), 7), ranks=9, failed={**dict.fromkeys(range(8), ABORTED), 8: SYSTEM_ERROR})
    assert progress_sentences(one)[:2] == [
        f"ranks 0-7 report an error: {ABORTED}",
        f"rank 8 reports an error: {SYSTEM_ERROR}",
    ]


def test_ranks_that_do_not_do_the_same_dead_ones_and_errors():
    one = made(
        {0: 7, 1: 7},
        ranks=3,
        hosts={2: "n2"},
        unlike=(Unlike(7, {"all_reduce of 8 bytes": (0,), "broadcast": (1,)}),),
        missing=(Missing(2, DEAD),),
        failed={1: SYSTEM_ERROR},
    )
    assert progress_sentences(one) == [
        say("stragglers.call_ranks_do_not", number=7, done="rank 0: all_reduce of 8 bytes; rank 1: broadcast"),
        f"{WHY[DEAD]} rank 2 (on n2)",
        f"rank 1 reports an error: {SYSTEM_ERROR}",
        SNAPSHOT,
    ]


def test_where_all_are_even_that_is_said_and_no_more():
    assert progress_sentences(made({0: 31, 1: 31}, {0: 31, 1: 31})) == [
        say(
            "stragglers.nobody_behind_nobody_missing",
            ranks="both",
            has="ranks",
            made="have entered the same 31 collective calls and left them",
        ),
        NO_TIMES,
    ]
    assert has_message(
        progress_sentences(Progress("f", "nccl-ras", "0", (0, 1), {}, ()))[0],
        "stragglers.nobody_behind_nobody_missing",
        made="made no collective call",
    )


def test_many_ranks_are_cut_and_it_fits_a_terminal():
    one = made({rank: 9 - (rank == 99) for rank in range(100)}, hosts=dict.fromkeys(range(100), "n" * 20))
    lines = progress_table(one, UNBOUNDED)
    assert lines[1].split()[0] == "99" and len(lines) == 1 + MOST_RANKS + 1 and "84 ranks more" in lines[-1]
    assert max(map(len, progress_table(one, Screen(40)))) <= 40
    assert "%" not in "".join(progress_sentences(one))
