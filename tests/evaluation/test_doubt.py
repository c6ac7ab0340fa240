"""What speaks against a time."""

import pytest
from made_rows import made_row, rank
from made_runs import build_run, identified

from allreduce_bench.evaluation.doubts import (
    ANOTHER,
    BARRIERS,
    BELOW_FLOOR,
    DEFINITIONS,
    DRIFT,
    INVALID,
    OTHER_DEFINITION,
    STATES,
    doubt_of,
    passed_floors,
)
from allreduce_bench.evaluation.summary import summarise

NOT_RING = identified(4, {("native:ring", 8): ["recursive_doubling"]}, asked="no").ran[0]


@pytest.mark.parametrize(
    "changed, doubt",
    [
        ({}, None),
        ({"invalid": 2}, None),
        ({"invalid": 20}, INVALID),
        ({"call_floor_s": 1.1}, BELOW_FLOOR),
        ({"copy_floor_s": 1.1}, None),  # a call of 8 bytes costs more than their copy
        ({"time_definition": "completion + max_local"}, DEFINITIONS),
        ({"drift": 1.4}, None),
        ({"drift": 1.6}, DRIFT),
        ({"drift": 0.6}, DRIFT),
        ({"drift": 1.6, "time_low_s": 0.5, "time_high_s": 1.0}, None),  # its interval says as much
        ({"launch_states": ("low", "high")}, STATES),
        ({"drift": 9.0, "call_floor_s": 1.1}, BELOW_FLOOR),
        ({"call_floor_s": 1.1, "ran": NOT_RING}, ANOTHER),
    ],
)
def test_the_gravest_doubt_is_named(changed, doubt):
    assert doubt_of(made_row("ring", 8, [1.0] * 3, **changed)) == doubt


def test_a_copy_is_a_floor_between_ranks_from_64_kib_on():
    changed = {"copy_floor_s": 2.0, "call_floor_s": 0.5}
    assert passed_floors(made_row("ring", 1 << 16, [1.0], **changed)) == {"copy_floor_s": 2.0}
    assert passed_floors(made_row("ring", 1 << 16, [1.0], ranks=1, **changed)) == {}


def test_times_of_another_definition_are_not_ranked_among_the_others():
    rows = [made_row(name, 8, [time_s] * 3) for name, time_s in (("native", 1.0), ("ring", 2.0), ("tree", 3.0))]
    rows[0]["time_definition"] = "completion"
    rows = rank(rows)
    assert [row["doubt"] for row in rows] == [OTHER_DEFINITION, None, None]
    assert rows[0]["standing"] is None and {row["standing"] for row in rows[1:]} != {None}


def test_short_calls_that_went_on_by_barriers_are_not_ranked(tmp_path):
    """They should have begun at a time, and the others did."""

    def call(launch, cell, number):
        return {"start": "barrier" if cell.algorithm == "ring" and launch.number == 2 else "round_time"}

    facts = {"sync": {"way": "round_time", "why": "2 ranks on a node of 2 usable cores can all wait for a time"}}
    folder = build_run(tmp_path / "run", ranks=(2,), sizes=(8, 1 << 16), facts=facts, call=call)
    rows = {(row["competitor"], row["size_bytes"]): row for row in summarise(folder)}
    assert {cell for cell, row in rows.items() if row["doubt"] == BARRIERS} == {("ring", 8)}
    assert rows["ring", 8]["standing"] is None and rows["ring", 1 << 16]["standing"] is not None
    assert rows["ring", 8]["start"] == rows["ring", 1 << 16]["start"] == "barrier + round_time"


def test_what_has_no_time_has_no_doubt():
    (row,) = rank([made_row("ring", 8, [1.0], time_s=None)])
    assert row["doubt"] is None


def test_an_algorithm_that_did_not_run_is_not_ranked_and_hides_no_winner():
    rows = [made_row(name, 8, [time_s] * 5) for name, time_s in (("native:ring", 1.0), ("ring", 2.0), ("tree", 3.0))]
    rows[0]["ran"] = NOT_RING
    assert [row["standing"] for row in rank(rows)] == [None, "fastest", "slower"]
