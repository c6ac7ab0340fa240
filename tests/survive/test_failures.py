"""What is lost, as users write it."""

import pytest

from allreduce_bench.survive import HOST, KILL, STOP, Failure, Request, parse_failure


def test_a_rank_or_a_host_and_a_moment():
    assert parse_failure(KILL, "3@20") == Failure(KILL, "3", 20)
    assert parse_failure(STOP, " 03@1+0.5ms").words == "stop 3@1+0.5ms"
    assert parse_failure(KILL, "2@shrink") == Failure(KILL, "2", phase="shrink")
    assert parse_failure(HOST, "n-3.site@7").rank is None


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (KILL, "3", "expected"),
        (KILL, "h3@20", "expected"),
        (HOST, "@20", "expected"),
        (KILL, "3@0", "calls count"),
        (KILL, "3@result", "rank a phase"),
        (HOST, "h3@shrink", "rank a phase"),
        (KILL, "3@shrink+1ms", "rank a phase"),
    ],
)
def test_what_makes_no_sense_is_refused(kind, text, said):
    with pytest.raises(ValueError, match=said):
        parse_failure(kind, text)


def test_a_host_is_the_same_with_and_without_its_domain_but_an_address_is_whole():
    assert Failure(HOST, "h3", 20).is_of(0, "h3.site") and not Failure(HOST, "h3", 20).is_of(0, "h4.site")
    assert not Failure(HOST, "10.0.0.3", 20).is_of(0, "10.0.0.4")


def test_a_request_is_read_as_it_was_written():
    request = Request("ring", 8, 4, 0, 40, "/c", 8, True, (Failure(KILL, "3", 20),))
    assert Request.from_json(request.to_json()) == request
