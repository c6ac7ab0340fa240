"""Several runs in one frame."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summary
from allreduce_bench.report.page import common_frame


def test_runs_that_differ_in_seed_and_launches_are_of_one_plan(tmp_path):
    changes = {"a": {}, "b": {"launches": 4, "choices": {"seed": 7}}, "c": {"sizes": (8, 1024)}}
    folders = [build_run(tmp_path / name, ranks=(2,), **changed) for name, changed in changes.items()]
    frame = common_frame(folders, [summary([folder]) for folder in folders])
    assert frame.groupby("run")["plan"].first().to_dict() == {"a": 0, "b": 0, "c": 1}
    assert frame["created"].str.len().min() > 9


def test_a_single_run_has_nothing_in_common(tmp_path):
    folder = build_run(tmp_path / "a")
    assert common_frame([folder], [summary([folder])]) is None
