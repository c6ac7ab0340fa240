"""Launches in which the library is told to use algorithms: their names, their cells, and how they are chosen."""

import pytest

from allreduce_bench.runs.cell import ALL_FORCED, Launch, beside
from allreduce_bench.runs.competitor import NATIVE
from allreduce_bench.runs.launch_choice import chosen_launches
from allreduce_bench.runs.plan import Plan

FORCED = ("native:default", "native:ring", "native:tree")
OF_ONE_START = {"sizes": (8, 1024), "ranks": (2, 4), "launches": 2, "seed": 1}
PLAN = Plan((NATIVE, *FORCED, "ring"), **OF_ONE_START, forced_launches=(ALL_FORCED,))
AT_START = Plan((NATIVE, *FORCED[1:], "ring"), **OF_ONE_START, forced_launches=("ring", "tree"))


def measured(plan: Plan, launch: Launch) -> set[str]:
    return {cell.algorithm for cell in plan.cells(launch)}


@pytest.mark.parametrize("launch", [Launch(4, 2), Launch(4, 2, "forced"), Launch(16, 1, "topology_aware_reduce_bcast")])
def test_the_name_of_a_launch_says_all_of_it(launch):
    assert Launch.named(launch.name) == launch
    assert Launch.named(beside(launch.name)) == launch._replace(forced="")


@pytest.mark.parametrize("name", ["4r-1-", "4r-1-Forced", "4r-1-1", "4r-1-a-b", "4r-1-a.b", "4r-1-\u00e4"])
def test_no_other_name_is_one(name):
    with pytest.raises(ValueError):
        Launch.named(name)


def test_they_take_turns_with_the_untouched_launches():
    names = [launch.name for launch in PLAN.planned_launches()]
    assert names == ["2r-1", "4r-1", "2r-1-forced", "4r-1-forced", "2r-2", "4r-2", "2r-2-forced", "4r-2-forced"]
    assert [launch.forced for launch in AT_START.planned_launches()[::2]] == ["", "ring", "tree"] * 2


def test_each_launch_measures_what_belongs_into_it():
    floors = {"floor:null", "floor:copy", "floor:reduce"}
    assert measured(PLAN, Launch(2, 1)) == measured(AT_START, Launch(2, 1)) == {NATIVE, "ring", *floors}
    assert measured(PLAN, Launch(2, 1, ALL_FORCED)) == {*FORCED}
    assert measured(AT_START, Launch(2, 1, "tree")) == {"native:tree"}
    orders = [[cell.key for cell in PLAN.cells(Launch(2, number, ALL_FORCED))] for number in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("2r-2", "2r-2 2r-2-forced"),
        ("2r-2-forced,4r-1-untouched", "4r-1 2r-2-forced"),
        ("-1-forced", "2r-1-forced 4r-1-forced"),
        ("4r-untouched", "4r-1 4r-2"),
    ],
)
def test_only_chooses_them_by_their_way(text, names):
    assert [launch.name for launch in chosen_launches(PLAN, text)] == names.split()
