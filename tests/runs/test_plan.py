"""A plan decides once what a run measures; it refuses what makes no sense and survives the way through JSON."""

import json
import re
from collections import Counter

import pytest

from allreduce_bench.runs.plan import Cell, Cut, CutPrices, Launch, Plan, PlanError

CHOICES = {"competitors": ("ring", "tree", "native"), "sizes": (8, 1024), "ranks": (2, 4), "launches": 3, "seed": 7}


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"dtype": "float8"}, "unknown dtype 'float8'; known: float16, bfloat16, float32, float64, int32, int64"),
        ({"op": "mean"}, "unknown op 'mean'; known: sum, avg, prod, max, min"),
        ({"op": "avg", "dtype": "int64"}, "op avg has no exact result for int64"),
        ({"dtype": "float16", "op": "avg", "ranks": (2049,)}, "avg of float16 over 2049 ranks"),
        ({"sizes": (8, 6)}, "--sizes: 6 bytes are not a whole number of float32 elements of 4 bytes"),
        ({"competitors": ("ring@sendrcv",)}, "unknown way .sendrcv.; did you mean sendrecv?"),
        ({"competitors": ("ring@pipelined:3",)}, "ring@pipelined:3: 3 bytes are not a whole number"),
        ({"segment_nbytes": 0}, "found 0"),
        ({"groups": "2", "ranks": (8, 5)}, "unequal groups, of 2 and 3 ranks, out of 5"),
        ({"window": 4}, "a window belongs to pipelined and compiled-pipelined"),
        ({"segment_nbytes": 1022}, "--segment: 1022 bytes are not a whole number"),
        ({"in_place": True, "cache": "both"}, "--in-place .* not --cache both"),
        ({"in_place": True, "energy": True}, "--energy .* not --in-place"),
        ({"in_place": True, "back_to_back": 9}, "--in-place .* calls --back-to-back have no time"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_words(wrong, words):
    with pytest.raises(PlanError, match=words):
        Plan(**(CHOICES | wrong))


@pytest.mark.parametrize(
    "text", ["", "4", "4r", "r-2", "-2", "4r-0", "0r-2", "04r-2", "4r-2.1", "4r--2", " 4r-2", "4r-2\n"]
)
def test_what_is_no_name_of_a_launch_is_refused(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + ".*example 4r-2"):
        Launch.named(text)


def test_cells_are_every_algorithm_at_every_size():
    cells = Plan(**CHOICES, segmented=("tree",), segment_nbytes=256, floors=False).cells(Launch(2, 1))
    assert Counter(cells) == Counter(
        [
            Cell("ring", 8, None),
            Cell("ring", 1024, None),
            Cell("tree", 8, 64),
            Cell("tree", 1024, 64),
            Cell("native", 8, None),
            Cell("native", 1024, None),
        ]
    )
    assert {cell.key for cell in cells} >= {
        ("ring", "8"),
        ("tree", "1024"),
    }


def test_floors_are_cells_too_but_that_of_no_call_has_one_size():
    cells = Plan(**CHOICES).cells(Launch(2, 1))
    floors = [cell for cell in cells if cell.competitor.is_reference]
    assert len(cells) == len(set(cells)) == 6 + 5
    assert Counter((cell.competitor, cell.size_bytes) for cell in floors) == Counter(
        [("floor:null", 8), *((f"floor:{name}", size) for name in ("copy", "reduce") for size in (8, 1024))]
    )


def test_conditions_change_no_cell_and_no_order():
    plan, launch = Plan(**CHOICES), Launch(4, 1)
    conditions = {"cache": "cold", "groups": "2", "placement": "numpy"}
    assert Plan(**(CHOICES | {"ranks": (4,)}), **conditions).cells(launch) == plan.cells(launch)
    assert plan.cells(launch) != plan.cells(Launch(4, 2))
    with pytest.raises(PlanError, match="cache"):
        Plan.from_json({**plan.to_json(), "cache": "both"})


def test_the_order_of_cells_is_random_but_repeatable():
    def order(seed, launch):
        return Plan(**(CHOICES | {"seed": seed, "sizes": tuple(range(4, 400, 4))})).cells(launch)

    assert order(1, Launch(2, 1)) == order(1, Launch(2, 1))
    assert order(1, Launch(2, 1)) != order(2, Launch(2, 1))
    assert order(1, Launch(2, 1)) != order(1, Launch(2, 2))
    assert Counter(order(1, Launch(2, 1))) == Counter(order(2, Launch(4, 3)))


def test_a_plan_survives_json():
    plan = Plan(**CHOICES, files=("/x/mine.py",), op="max", iters=5, segment_nbytes=64, pretend_ranks_per_node=2)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_plan_with_missing_or_unknown_fields_is_refused():
    values = Plan(**CHOICES).to_json()
    with pytest.raises(PlanError, match="colour"):
        Plan.from_json(values | {"colour": 1})
    for name in ("seed", "sizes"):
        with pytest.raises(PlanError, match=f"missing: {name}"):
            Plan.from_json({field: value for field, value in values.items() if field != name})


def test_a_plan_without_a_field_that_was_added_later_has_its_default():
    values = Plan(**CHOICES).to_json()
    del values["compute_s"], values["start"]["bind_to"], values["cut_prices"]
    assert Plan.from_json(values) == Plan(**CHOICES)


def test_each_way_is_a_cell_cut_as_planned_or_as_its_name_says():
    names = ("native", "native@compiled", "ring", "tree")
    names += ("ring@compiled-pipelined", "ring@pipelined:32", "tree@compiled-pipelined", "tree@pipelined:128")
    choices = CHOICES | {"competitors": names, "ranks": (2,), "segmented": ("tree",), "segment_nbytes": 256}
    cells = Plan(**choices, floors=False, window=3, cuts=(Cut(2, 1024, 64),)).cells(Launch(2, 1))
    assert Counter(cell for cell in cells if cell.size_bytes == 1024) == Counter(
        [
            Cell("ring", 1024, None),
            Cell("ring@compiled-pipelined", 1024, 16, window=3),
            Cell("ring@pipelined:32", 1024, 8, window=3),
            Cell("tree", 1024, 64),
            Cell("tree@compiled-pipelined", 1024, 64, window=3),  # cut already: its own segment
            Cell("tree@pipelined:128", 1024, 32, window=3),
            Cell("native", 1024, None),
            Cell("native@compiled", 1024, None),
        ]
    )
    assert Cell("ring@compiled-pipelined", 8, None, window=3) in cells  # no cut at this size
    assert all(Cell.from_key(cell.key).key == cell.key for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)


def test_ways_and_cuts_survive_json():
    prices = CutPrices(1e-6, 1e-10, 2e-10, "machine.json")
    plan = Plan(**CHOICES | {"competitors": ("ring@pipelined:4K",)}, window=2, cuts=(Cut(2, 8, 4),), cut_prices=prices)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
