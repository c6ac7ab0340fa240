"""A rank that somebody else kills is named; ranks that the launcher ended after a loss are not."""

from types import SimpleNamespace

import pytest

from allreduce_bench.survive.ways import Event, Launch


def launch(*died: int, failing: tuple[int, str] | None = None) -> Launch:
    """A launch of four ranks, two on each host, in which these died, in this order."""
    made = Launch.__new__(Launch)
    hosts = ["h1", "h1", "h2", "h2"]
    ranks = [SimpleNamespace(rank=rank, host=host) for rank, host in enumerate(hosts)]
    made.ranks, made.supervisor = 4, SimpleNamespace(patience=SimpleNamespace(ranks=ranks))
    made.watched = SimpleNamespace(process=SimpleNamespace(poll=lambda: None), first_words="")
    made.events = [Event("died", 0.0, {"rank": rank, "host": hosts[rank]}) for rank in died]
    if failing:
        made.events.insert(0, Event("failing", 0.0, {"rank": failing[0], "what": failing[1]}))
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (launch(2, 0, 1, 3), "rank 2 on h2 was killed, and not by survive"),
        (launch(3, 1, failing=(3, "kill")), "rank 1 on h1 was killed, and not by survive"),
        (launch(3, 1, 0, 2, failing=(3, "kill")), "no progress in time"),
        (launch(3, 2, failing=(3, "host")), "no progress in time"),
        (launch(), "no progress in time"),
    ],
)
def test_why_a_launch_does_not_go_on(made, words):
    assert made.why() == words
