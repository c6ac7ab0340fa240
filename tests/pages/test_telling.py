"""Docstrings of algorithms taken apart: nothing is lost, and each algorithm of a shared file gets its own part."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.facts import telling
from allreduce_bench.schedule.algorithm import Cost, algorithm


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_tells_its_idea_cost_use_and_source(name):
    own, told = builtin()[name], telling(builtin()[name])
    assert told.title and told.idea and own.best and own.source


@pytest.mark.parametrize("name", builtin())
def test_no_word_of_a_docstring_is_lost(name):
    told = telling(builtin()[name])
    kept = " ".join([told.title, *(part.text for part in told.idea)])
    assert kept.split() == builtin()[name].doc.split()


def test_a_drawing_keeps_its_lines():
    (drawn,) = [part for part in telling(builtin()["ring"]).idea if part.drawn]
    assert drawn.text.splitlines()[0].startswith("round") and len(drawn.text.splitlines()) == 5


def test_algorithms_of_one_file_share_its_source_alone():
    single, sharded = (builtin()[f"parameter_server{end}"] for end in ("", "_sharded"))
    assert single.source == sharded.source and single.best != sharded.best
    assert telling(single).title == telling(sharded).title
    assert telling(single).idea[0].text.startswith("Rank 0 receives")
    assert telling(sharded).idea[0].text.startswith("Rank r is the master")


def test_a_user_may_tell_nothing():
    @algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0")
    def silent(rank, size, topology, count, segment):
        yield from ()

    assert telling(silent._replace(doc="")) == ("", ())
