"""The pictures of a run, and the files of each."""

from urllib.parse import unquote_to_bytes

import pandas as pd
from made_runs import build_run
from matplotlib import layout_engine
from matplotlib.figure import Figure

from allreduce_bench.evaluation.summary import summary
from allreduce_bench.report.figure import Drawing
from allreduce_bench.report.pictures import model_pictures, time_pictures, write_pictures


def test_a_picture_has_three_files(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    picture = Drawing(figure, "A caption.", pd.DataFrame({"x": [1.5]}))
    written = write_pictures(picture, "a", tmp_path, "1_", as_files=True)
    assert {path.name for path in tmp_path.iterdir()} == {"1_a.png", "1_a.svg", "1_a.csv"}
    assert (tmp_path / "1_a.csv").read_text() == "x\n1.5\n"
    assert (written["caption"], written["stem"]) == ("A caption.", "a")
    assert written["files"] == [f"{tmp_path.name}/1_a.{kind}" for kind in ("png", "svg", "csv")]
    saved = unquote_to_bytes(written["data"].removeprefix("data:image/svg+xml,"))
    assert saved == (tmp_path / "1_a.svg").read_bytes()


def test_a_picture_that_is_not_asked_for_is_in_the_page_only(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    written = write_pictures(Drawing(figure, "A caption.", pd.DataFrame({"x": [1.5]})), "a", tmp_path, "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert written["files"] == [f"{tmp_path.name}/a.csv"]
    assert written["data"].startswith("data:image/svg+xml,")


def test_a_picture_is_laid_out_once(tmp_path, monkeypatch):
    layouts = []
    monkeypatch.setattr(layout_engine, "do_constrained_layout", lambda *_, **__: layouts.append(1))
    figure = Figure(layout="constrained")
    figure.subplots().plot([1, 2])
    write_pictures(Drawing(figure, "A caption.", pd.DataFrame({"x": [1.5]})), "a", tmp_path, "", as_files=True)
    assert len(layouts) == 1


def test_what_cannot_be_drawn_is_left_out(tmp_path):
    frame = summary([build_run(tmp_path / "a", sizes=(0,), ranks=(2,))])
    assert time_pictures(frame, []) == []
    assert {sketch.draw() for sketch in model_pictures(frame, [])} == {None}
