"""Docstrings of algorithms taken apart: nothing is lost, and each algorithm of a shared file gets its own part."""

from collections import Counter

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.gallery.facts import telling
from allreduce_bench.schedule.algorithm import Cost, algorithm

ALGORITHMS_IN = Counter(found.module for found in builtin().values())  # a file


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_tells_its_idea_cost_use_and_source(name):
    told = telling(builtin()[name])
    assert told.title and told.idea and told.best and told.source
    assert told.cost.startswith("Cost of n bytes") and "Sent" in told.cost
    assert not any("Best:" in part.text or "Source:" in part.text for part in told.idea)


@pytest.mark.parametrize("name", [name for name, found in builtin().items() if ALGORITHMS_IN[found.module] == 1])
def test_no_word_of_a_docstring_is_lost(name):
    told = telling(builtin()[name])
    kept = " ".join([told.title, *(part.text for part in told.idea), told.cost, told.best, told.source])
    words = [word for word in builtin()[name].doc.split() if word not in ("Best:", "Source:")]
    assert sorted(kept.split()) == sorted(words)


def test_a_drawing_keeps_its_lines():
    (drawn,) = [part for part in telling(builtin()["ring"]).idea if part.drawn]
    assert drawn.text.splitlines()[0].startswith("round") and len(drawn.text.splitlines()) == 5


def test_algorithms_of_one_file_share_its_source_alone():
    single, sharded = (telling(builtin()[f"parameter_server{end}"]) for end in ("", "_sharded"))
    assert single.source == sharded.source and single.best != sharded.best
    assert "rank 0 receives" in single.idea[0].text and "rank r is the master" in sharded.idea[0].text
    assert "(p-1) n by the master" in single.cost and "2(p-1)/p n" in sharded.cost


def test_a_user_may_tell_nothing():
    @algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0")
    def silent(rank, size, topology, count, segment):
        yield from ()

    assert telling(silent._replace(doc="")) == ("", (), "", "", "")
