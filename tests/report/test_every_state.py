"""Every state of a cell or a verdict is said alike by the table, the page, the CSV and the JSON of a run."""

import json
from html import unescape

import pandas as pd
import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.formats import FORMATS, Result, closing_table
from allreduce_bench.report.page import write_report

SIZES = (8, 1024, 65536)
NOISY = (0.5, 2.0, 0.7, 1.6, 1.1)  # by launch


def made(tmp_path, factor, launches=5, **choices):
    """The table, the text of the page, the frame and the JSON of a made run."""
    run = build_run(
        tmp_path / "run", sizes=SIZES, ranks=(4,), launches=launches, timed=20, factor=factor, seed=3, **choices
    )
    result = Result.of(run, summarise(run))
    (tmp_path / "run.csv").write_text(FORMATS["csv"](result))
    page = unescape(write_report([run], tmp_path / "report.html").read_text())
    content = json.loads(FORMATS["json"](result))
    return " ".join(closing_table(result).split()), page, pd.read_csv(tmp_path / "run.csv"), content


def by_algorithm(**factors):
    return lambda launch, cell: factors.get(cell.algorithm, 3.0)


def noisy(launch, cell):
    return 3.0 if cell.algorithm == "two_tree" else NOISY[(launch.number + len(cell.algorithm)) % 5]


def two_levels(launch, cell):
    return 3.0 if cell.algorithm == "ring" and launch.number % 2 else 1.0


STATES = {  # state -> factors of a run, launches, standings in files, verdict in files, words in table and page
    "fastest": (by_algorithm(native=1.0, ring=0.1), 5, {"fastest", "slower"}, "ring", "ring at all sizes"),
    "equal": (by_algorithm(native=3.0, ring=0.1), 5, {"equal", "slower"}, " or ring", "(equal)"),
    "unclear": (noisy, 5, {"unclear", "slower"}, "no winner: ", "No winner"),
    "probably": (by_algorithm(native=1.0, ring=0.1), 2, {"unclear"}, "probably ring", "Probably ring"),
    "no winner": (
        by_algorithm(native=1.0, ring=0.1),
        1,
        {"unclear"},
        "no winner: few launches",
        "No winner: 5 launches",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_said_alike(tmp_path, state):
    factor, launches, standings, verdict, words = STATES[state]
    third = "ring@compiled" if state == "equal" else "two_tree"  # the same made times, but for their noise
    table, page, frame, content = made(tmp_path, factor, launches, algorithms=("native", "ring", third))
    assert {*frame["standing"].dropna()} & standings
    assert frame["verdict"].str.contains(verdict, regex=False).any()
    assert words in table and words in page
    assert [row["standing"] for row in content["results"]] == [*frame["standing"]]
    assert [row["verdict"] for row in content["results"]] == [*frame["verdict"]]


def test_two_levels_are_not_ranked_and_said_alike(tmp_path):
    table, page, frame, content = made(tmp_path, two_levels)
    doubted = frame["competitor"] == "ring"
    assert {*frame["doubt"][doubted]} == {"two states"} and frame["standing"][doubted].isna().all()
    assert {row["doubt"] for row in content["results"] if row["competitor"] == "ring"} == {"two states"}
    assert "not ranked, bimodal: two levels: ring 8 B" in table and "two levels" in page
