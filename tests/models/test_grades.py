"""A model has the grade of the worst of the times that it was fitted to, and where their vectors lay."""

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


def test_a_model_has_the_placement_of_its_run(tmp_path):
    frame = points([build_run(tmp_path / "a", algorithms=("ring",), ranks=(2, 3, 4), choices={"placement": "numpy"})])
    models = fit_all(frame)
    assert [model.placement for model in models] == ["numpy"]
    assert CompetingModels(models).where.endswith("placement numpy")
    assert fit_all(frame.assign(placement=None))[0].placement == "unknown"


def test_models_that_compete_have_the_worst_of_their_grades():
    group = CompetingModels([hand_model("ring"), hand_model("two_tree")])
    assert group.grade == "unknown"
