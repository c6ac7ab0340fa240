"""The columns of times: what stands in them, what is left out first, what colours say."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.grid import grid, in_two_lines, interval_legend
from allreduce_bench.tables import UNBOUNDED, Screen, shown


@pytest.mark.parametrize(
    "name, lines",
    [
        ("ring", ("", "ring")),
        ("recursive_doubling", ("recursive_", "doubling")),
        ("averylongname", ("", "averylongname")),
    ],
)
def test_long_names_are_broken_at_an_underscore(name, lines):
    assert in_two_lines(name) == lines


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    def outcome(launch, cell):
        return {"state": "wrong", "wrong": 3} if (cell.algorithm, cell.size_bytes) == ("two_tree", 1024) else {}

    folder = build_run(tmp_path_factory.mktemp("grid") / "run", ranks=(4,), launches=3, outcome=outcome)
    return summarise(folder)


def texts(rows, screen):
    return {" ".join(column.head).strip(): [field.text for field in column.fields] for column in grid(rows, screen)}


def test_intervals_stand_beside_times_on_a_screen_alone(rows):
    assert not any("±" in text for column in texts(rows, UNBOUNDED).values() for text in column)
    beside, alone = texts(rows, Screen(200)), texts(rows, UNBOUNDED)
    assert all("±" in text for text in beside["ring"])
    shares = [(r["time_high_s"] - r["time_low_s"]) / 2 / r["time_s"] for r in rows if r["competitor"] == "ring"]
    for share, text in zip(shares, beside["ring"], strict=True):
        assert (f"±{share:.0%}" if share >= 0.005 else "±<1%") in text
    assert [text.replace("±", " ").split()[0] for text in beside["ring"]] == [text.split()[0] for text in alone["ring"]]
    assert {key: column for key, column in beside.items() if key not in ("native", "ring", "two_tree")} == {
        key: column for key, column in alone.items() if key not in ("native", "ring", "two_tree")
    }


def test_the_legend_names_intervals_where_they_are_shown(rows):
    columns = grid(rows, Screen(200))
    assert interval_legend(columns, rows, Screen(200)) == "   ± half of the 75 % interval over launches"
    assert interval_legend(columns, rows, Screen(60)) == "" and shown(columns, Screen(60)) != columns


def test_wrong_elements_are_left_out_only_where_there_are_none(rows):
    assert {column.name for column in grid(rows, Screen(80)) if column.left_out} == {"±", "algbw"}
    clean = [row for row in rows if row["size_bytes"] != 1024]
    assert {column.name for column in grid(clean, Screen(80)) if column.left_out} == {"±", "algbw", "#wrong (all 0)"}


def styles(rows, changed):
    columns = grid([{**row, **changed} for row in rows], UNBOUNDED)
    return {(field.text.split()[-1], field.style) for column in columns[1:4] for field in column.fields}


def test_colours_say_what_marks_say_and_what_failed(rows):
    fine = [row for row in rows if row["state"] == "done"]
    complete = [row for row in fine if row["size_bytes"] != 1024]
    assert styles(complete, {"standing": "fastest", "doubt": None}) == {("*", "best")}
    assert styles(complete, {"standing": "equal", "doubt": None}) == {("=", "equal")}
    assert {style for _, style in styles(complete, {"standing": None, "doubt": "drift"})} == {"faint"}
    assert {text for text, style in styles(rows, {}) if style == "bad"} == {"wrong"}
