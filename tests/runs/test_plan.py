"""A plan decides once what a run measures; it refuses what makes no sense and survives the way through JSON."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.cell import MOCKUPS, Cut, CutPrices
from allreduce_bench.runs.plan import LATER_FIELDS, Cell, Launch, Plan, PlanError

CHOICES = {"algorithms": ("ring", "tree", "native"), "sizes": (8, 1024), "ranks": (2, 4), "launches": 3, "seed": 7}


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"dtype": "float8"}, "unknown dtype 'float8'; known: float16, bfloat16, float32, float64, int32, int64"),
        ({"op": "mean"}, "unknown op 'mean'; known: sum, avg, prod, max, min"),
        ({"op": "avg", "dtype": "int64"}, "op avg has no exact result for int64"),
        ({"dtype": "bfloat16", "ranks": (2, 1025)}, "sum of bfloat16 over 1025 ranks: .* exactly up to 1024 ranks"),
        ({"dtype": "float16", "op": "avg", "ranks": (2049,)}, "avg of float16 over 2049 ranks"),
        ({"sizes": (8, 6)}, "6 bytes are not a whole number of float32 elements of 4 bytes"),
        ({"sizes": (12,), "dtype": "float64"}, "12 bytes are not a whole number of float64 elements of 8 bytes"),
        ({"executors": ("sendrcv",)}, "unknown executor .sendrcv.; did you mean sendrecv?"),
        ({"executors": ("native",)}, "unknown executor 'native'"),
        ({"segment_nbytes": 0}, "found 0"),
        ({"groups": "2", "ranks": (8, 5)}, "unequal groups, of 2 and 3 ranks, out of 5"),
        ({"window": 4}, "a window belongs to the executors pipelined and compiled-pipelined"),
        ({"segment_nbytes": 1022}, "1022 bytes are not a whole number"),
        ({"segment_nbytes": 4, "dtype": "float64"}, "4 bytes are not a whole number of float64 elements of 8 bytes"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_words(wrong, words):
    with pytest.raises(PlanError, match=words):
        Plan(**(CHOICES | wrong))


def test_launches_take_turns_over_the_rank_counts():
    launches = Plan(**CHOICES).planned_launches()
    assert [launch.name for launch in launches] == ["2r-1", "4r-1", "2r-2", "4r-2", "2r-3", "4r-3"]


@given(ranks=st.integers(1, 10**9 - 1), number=st.integers(1, 10**9 - 1))
def test_a_launch_is_found_again_by_its_name(ranks, number):
    launch = Launch(ranks, number)
    assert Launch.named(launch.name) == launch


@pytest.mark.parametrize(
    "text", ["", "4", "4r", "r-2", "-2", "4r-0", "0r-2", "04r-2", "4r-2.1", "4r--2", " 4r-2", "4r-2\n"]
)
def test_what_is_no_name_of_a_launch_is_refused(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + ".*example 4r-2"):
        Launch.named(text)


def test_cells_are_every_algorithm_at_every_size_in_elements():
    cells = Plan(**CHOICES, segmented=("tree",), segment_nbytes=256, floors=False).cells(Launch(2, 1))
    assert Counter(cells) == Counter(
        [
            Cell("ring", "sendrecv", 2, None),
            Cell("ring", "sendrecv", 256, None),
            Cell("tree", "sendrecv", 2, 64),
            Cell("tree", "sendrecv", 256, 64),
            Cell("native", "native", 2, None),
            Cell("native", "native", 256, None),
        ]
    )
    assert {cell.key for cell in cells} >= {
        ("ring", "sendrecv", "2", "", ""),
        ("tree", "sendrecv", "256", "64", ""),
    }


def test_floors_are_cells_too_but_that_of_no_call_has_one_size():
    cells = Plan(**CHOICES).cells(Launch(2, 1))
    floors = [cell for cell in cells if cell.executor == "floor"]
    assert len(cells) == len(set(cells)) == 6 + 5
    assert Counter((cell.algorithm, cell.count) for cell in floors) == Counter(
        [("null", 2), ("copy", 2), ("copy", 256), ("reduce", 2), ("reduce", 256)]
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
    del values["seed"]
    with pytest.raises(PlanError, match="seed"):
        Plan.from_json(values)


def test_an_algorithm_runs_by_every_executor_and_native_is_called_from_python_and_compiled():
    choices = CHOICES | {"ranks": (2,), "segmented": ("tree",), "segment_nbytes": 256, "floors": False}
    executors = {"executors": ("sendrecv", "compiled-pipelined"), "window": 3, "cuts": (Cut(2, 1024, 64),)}
    cells = Plan(**choices, **executors).cells(Launch(2, 1))
    assert Counter(cell for cell in cells if cell.count == 256) == Counter(
        [
            Cell("ring", "sendrecv", 256, None),
            Cell("ring", "compiled-pipelined", 256, 16, window=3),
            Cell("tree", "sendrecv", 256, 64),
            Cell("tree", "compiled-pipelined", 256, 64, window=3),  # cut already: its own segment
            Cell("native", "native", 256, None),
            Cell("native", "compiled", 256, None),
        ]
    )
    assert Cell("ring", "compiled-pipelined", 2, None, window=3) in cells  # no cut at this size
    assert all(Cell.from_key(cell.key) == cell for cell in cells) and len({cell.key for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    "executors, expected",
    [
        (("sendrecv",), ("native",)),
        (("pipelined", "sendrecv"), ("native",)),
        (("compiled", "compiled-pipelined"), ("compiled",)),
        (("pipelined", "compiled"), ("native", "compiled")),
    ],
)
def test_native_is_called_as_the_executors_beside_it(executors, expected):
    assert Plan(**CHOICES, executors=executors).executors_of("native") == expected


def test_executors_and_cuts_survive_json_and_plans_before_them_had_sendrecv_alone():
    prices = CutPrices(1e-6, 1e-10, 2e-10, "machine.json")
    plan = Plan(**CHOICES, executors=("pipelined",), window=2, cuts=(Cut(2, 8, 4),), cut_prices=prices)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    former = Plan(**CHOICES).to_json()
    for name in LATER_FIELDS:
        del former[name]
    assert Plan.from_json(former) == Plan(**CHOICES, placement="", inputs="same")


def test_mock_ups_are_called_from_python_and_native_beside_them():
    names = ("native", *MOCKUPS, "ring")
    plan = Plan(**(CHOICES | {"algorithms": names, "executors": ("compiled",)}))
    assert plan.competitors == ["native compiled", "native", *MOCKUPS, "ring compiled"]
    assert Plan(**(CHOICES | {"executors": ("compiled",)})).executors_of("native") == ("compiled",)
    assert {cell.executor for cell in plan.cells(Launch(2, 1)) if cell.algorithm in MOCKUPS} == {"mockup"}
