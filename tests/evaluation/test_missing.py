"""Missing cells in groups, whoever found them missing."""

from dataclasses import asdict

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.missing import MissingCell, explain_rows, group_missing, not_begun_sentences
from allreduce_bench.runs.schema import MISSING


@pytest.fixture
def plan(tmp_path):
    return build_run(tmp_path / "run", ranks=(2,), sizes=(8, 64), launches=3, algorithms=("native", "ring")).plan()


def cells_of(plan, name: str, numbers=(1, 2, 3), state=MISSING, reason="why") -> list[MissingCell]:
    launches = [launch for launch in plan.planned_launches() if launch.number in numbers]
    return [
        MissingCell(of, cell, state, reason) for of in launches for cell in plan.cells(of) if cell.algorithm == name
    ]


def test_cells_that_are_missing_alike_are_one_group(plan):
    (group,) = group_missing(plan, cells_of(plan, "ring", numbers=(2, 3)))
    assert group.sentence == "ring 8 B, 64 B at 2 ranks: launches 2, 3: why" and group.number == 4


def test_what_failed_comes_first_and_is_no_cell_that_was_not_begun(plan):
    found = [*cells_of(plan, "native", (1,)), *cells_of(plan, "ring", (1,), "wrong", "3 wrong elements")]
    assert [group.state for group in group_missing(plan, found)] == ["wrong", MISSING]
    assert not_begun_sentences(plan, found) == ["native 8 B, 64 B at 2 ranks: launch 1: why"]


def test_rows_without_a_time_have_each_reason_once(plan):
    found = cells_of(plan, "ring")
    found += [one._replace(reason="other") for one in found]
    row = {"ranks": 2, "state": MISSING, "reason": "", **asdict(found[0].cell)}
    done = {**row, "state": "done"}
    assert explain_rows([row, done], found) == [{**row, "reason": "why; other"}, done]
