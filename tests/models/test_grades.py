"""A model has the grade of the worst of the times that it was fitted to, and where their vectors lay."""

import pandas as pd
import pytest
from hand_models import hand_model
from made_runs import build_run

from allreduce_bench.models.model import worst
from allreduce_bench.models.points import points, with_grades
from allreduce_bench.models.prediction import CompetingModels
from allreduce_bench.models.series import fit_all


@pytest.mark.parametrize(
    "grades, expected",
    [
        (["good", "provisional", "good"], "provisional"),
        (["provisional", "not reliable"], "not reliable"),
        (["good", "unknown"], "unknown"),
        (["unknown", "provisional"], "provisional"),
        (["good"], "good"),
        ([], "unknown"),
    ],
)
def test_the_worst_counts(grades, expected):
    assert worst(grades) == expected


def test_a_model_has_the_worst_grade_of_its_ranks(tmp_path):
    folder = build_run(tmp_path / "a", algorithms=("ring",), ranks=(2, 3, 4))
    graded = with_grades(points([folder]), [folder])
    assert graded["grade"].notna().all()
    changed = graded.assign(grade=graded["grade"].mask(graded["ranks"] == 3, "not reliable"))
    assert [model.grade for model in fit_all(changed)] == ["not reliable"]
    assert [model.grade for model in fit_all(points([folder]))] == ["unknown"]


def test_times_of_two_placements_are_two_series(tmp_path):
    both = points([build_run(tmp_path / "a", algorithms=("ring",), ranks=(2, 3, 4))])
    aligned, random = (
        both.assign(placement=pd.Series(name, index=both.index, dtype="string")) for name in ("page", "numpy")
    )
    models = fit_all(pd.concat([aligned, random.assign(time_s=2 * random["time_s"])], ignore_index=True))
    assert [model.placement for model in models] == ["page", "numpy"]
    assert CompetingModels(models[:1]).where.endswith("placement page")
    assert fit_all(both)[0].placement == "page"
    assert fit_all(both.assign(placement=None))[0].placement == "unknown"


def test_models_that_compete_have_the_worst_of_their_grades():
    group = CompetingModels([hand_model("ring"), hand_model("two_tree")])
    assert group.grade == "unknown"
