"""What pictures say in words."""

from allreduce_bench.pages.drawing import drawing, round_sentence, title


def test_titles():
    assert title(drawing("ring", 4)) == "ring on 4 ranks, 6 rounds"
    assert title(drawing("naive", 2)) == "naive on 2 ranks, 1 round"
    assert title(drawing("ring", 1)) == "ring on 1 rank, 0 rounds"


def test_rounds_say_whether_receivers_add():
    ring = drawing("ring", 4)
    assert round_sentence(ring, 0) == "round 1 of 6: receivers add"
    assert round_sentence(ring, 3) == "round 4 of 6: receivers keep"
    assert round_sentence(ring, 6) == "end: every rank holds every sum"
    adding, keeping = ring.rounds[0], ring.rounds[3]
    both = adding._replace(messages=adding.messages[:1] + keeping.messages[1:2])
    assert round_sentence(ring._replace(rounds=(both,)), 0) == "round 1 of 1: add (solid), keep (dashed)"
