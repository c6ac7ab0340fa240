"""The section of the page on lost ranks."""

import json

import pytest
from click.testing import CliRunner
from places import ROOT

from allreduce_bench.cli import main
from allreduce_bench.report.pictures import write_pictures
from allreduce_bench.runs.rows import RunError
from allreduce_bench.survive.section import COLOURS, losses_section, read_losses


def outcome(way, phases_s, **others):
    facts = {
        "algorithm": "ring",
        "size_bytes": 65536,
        "way": way,
        "state": "recovered",
        "reason": "",
        "phases_s": phases_s,
    }
    rest = dict.fromkeys(("ranks_left", "steps_lost", "ratio", "predicted_ratio"))
    return {**facts, "total_s": sum(phases_s.values()) or None, **rest, **others}


def written(path, *outcomes):
    failures = [
        {"kind": "kill", "whom": "3", "call": 20, "phase": "", "delay_s": 0.0},
        {"kind": "kill", "whom": "1", "call": None, "phase": "shrink", "delay_s": 0.0},
    ]
    content = {"library": "Open MPI 5.0.11", "ranks": 4, "failures": failures, "outcomes": outcomes}
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def file(tmp_path):
    return written(
        tmp_path / "survive.json",
        outcome("ulfm", {"notice": 0.01, "shrink": 0.002, "result": 0.004}, ratio=0.5),
        outcome("ulfm", {"notice": 0.03, "shrink": 0.002, "result": 0.004}, ratio=0.7),
        outcome("restart", {"notice": 0.01, "start": 2.5, "result": 0.02}, state="restarted", steps_lost=3),
        outcome("ulfm", {}, algorithm="<b>", state="unavailable", reason="no ULFM & nothing else"),
    )


def test_launches_are_medians_and_the_rest_is_said(file):
    found = losses_section(file)
    rows = [dict(zip(found["head"], row)) for row in found["rows"]]
    assert [(row["way"], row["launches"], row["ended"]) for row in rows] == [
        ("ulfm", "2", "recovered"),
        ("restart", "1", "restarted"),
        ("ulfm", "1", "unavailable"),
    ]
    assert rows[0]["notice"] == "20.0 ms" and rows[0]["total"] == "26.0 ms (16.0 ms to 36.0 ms)"
    assert (rows[0]["after/before"], rows[1]["steps lost"], rows[2]["total"]) == ("0.60", "3", "-")
    assert found["sentences"] == ["ulfm: unavailable: no ULFM & nothing else"]


def test_the_figure_has_a_panel_for_each_way_and_its_numbers(file):
    (sketch,) = losses_section(file)["pictures"]
    picture = sketch.draw()
    assert len(picture.figure.axes) == 2 and "1@shrink" in picture.caption
    assert picture.numbers["time_s"].sum() == pytest.approx(0.02 + 0.002 + 0.004 + 2.53)
    assert [*COLOURS] == ["notice", "revoke", "agree", "shrink", "end", "start", "schedule", "binding", "result"]


def test_where_no_way_was_gone_to_its_end_there_is_a_reason_instead(tmp_path):
    path = written(tmp_path / "none.json", outcome("ulfm", {}, state="failed", reason="no progress in time"))
    (sketch,) = losses_section(path)["pictures"]
    assert isinstance(sketch.draw(), str)


@pytest.mark.parametrize("name", [r"./$\frac$.py", "x" * 100_000, "a\nb\0"], ids=["formula", "long", "unprintable"])
def test_names_are_drawn_whatever_they_are(tmp_path, name):
    path = written(tmp_path / "odd.json", outcome("ulfm", {"notice": 1.0}, algorithm=name))
    (sketch,) = losses_section(path)["pictures"]
    write_pictures(sketch.draw(), tmp_path, "")


def test_very_many_bars_are_a_sentence(tmp_path):
    path = written(tmp_path / "many.json", *(outcome("ulfm", {"notice": 1.0}, algorithm=f"a{n}") for n in range(61)))
    (sketch,) = losses_section(path)["pictures"]
    assert "61" in sketch.draw()


@pytest.mark.parametrize("odd", [{"phases_s": {"notice": -1.0}}, {"ratio": -0.5}, {"size_bytes": -8}], ids=str)
def test_what_is_negative_is_refused(tmp_path, odd):
    path = written(tmp_path / "odd.json", outcome("ulfm", {"notice": 1.0}))
    content = json.loads(path.read_text())
    content["outcomes"][0] |= odd
    path.write_text(json.dumps(content))
    with pytest.raises(RunError, match=next(iter(odd))):
        read_losses(path)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"library": 1, "ranks": 4, "failures": [], "outcomes": []}'])
def test_what_is_no_such_file_is_one_sentence(tmp_path, content):
    path = tmp_path / "odd.json"
    path.write_text(content)
    for odd in (path, tmp_path / "none"):
        with pytest.raises(RunError, match=odd.name):
            read_losses(odd)


def test_the_page_holds_it_escaped(file, tmp_path, words_only):
    page = tmp_path / "page.html"
    words = ["report", str(ROOT / "docs" / "example"), "-o", str(page), "--survive", str(file)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    section = text[text.index('<section id="losses">') :]
    assert "&lt;b&gt;" in section and "<b>" not in section and "data:image" in section
    assert (tmp_path / "page_figures" / "losses.csv").exists()
