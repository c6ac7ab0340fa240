"""What the calls of a cell say, against numbers computed by hand; and calls that must not count."""

from pathlib import Path

import pytest
from made_runs import WARMUPS, build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.report import caveats
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.runs.folder import RunFolder


def one_cell(path: Path, times: list[list[float]], *, timed: int | None = None, **told) -> RunFolder:
    """A run of one cell; `times`: of each launch the calls, warm-ups first. `told` as in build_run."""
    change = told.pop("call", lambda launch, cell, number: {})

    def call(launch, cell, number):
        return {"time_s": times[launch.number - 1][number], **change(launch, cell, number)}

    calls = len(times[0]) - WARMUPS
    told = {"algorithms": ["ring"], "sizes": [8], "ranks": [2], **told}
    return build_run(path, launches=len(times), timed=calls, call=call, **told)


def row_of(folder: RunFolder) -> SummaryRow:
    (row,) = summarise(folder)
    return row


HAND = [  # microseconds; after two warm-ups of 30 and 10
    [30, 10, 4, 4, 4, 5, 5, 5, 6, 6, 6],
    [20, 10, 4, 4, 4, 4, 4, 4, 4, 4, 40],
    [45, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9],
]


def test_every_statistic_by_hand(tmp_path):
    def outcome(launch, cell):
        values = {"imb_t_max_s": launch.number, "nccl_tests_s": 10 * launch.number, "clock_error_s": launch.number / 10}
        return {**values, "stopped": ("precision", "time", "precision")[launch.number - 1]}

    def call(launch, cell, number):
        return {
            "osu_avg_s": number,
            "global_s": (1 + launch.number) * number,
            "arrival_skew_s": 1 + number % 2,
        }

    row = row_of(
        one_cell(tmp_path / "run", [[us * 1e-6 for us in launch] for launch in HAND], outcome=outcome, call=call)
    )
    expected = {
        "launches": 3,
        "repetitions": 27,
        "invalid": 0,
        "stopped": "precision + time",
        "time_s": 5e-6,  # of 5, 4 and 9
        "spread_low_s": 4e-6,
        "spread_high_s": 9e-6,
        "interval": "launches",
        "min_s": 4e-6,
        "max_s": 40e-6,
        "p5_s": None,  # needs 72 calls
        "p25_s": 5e-6,  # the 7th of 27, each over the median of its launch: 1
        "p75_s": 5e-6,  # the 21st: 1
        "p95_s": None,
        "p99_s": None,
        "p99_9_s": None,
        "outliers": 1,  # 40
        "lag1": None,  # needs 10 calls a launch
        "drift": 1.0,  # of 6/4, 1 and 1
        "first_penalty": 5.0,  # of 30/5, 20/4 and 45/9
        "osu_avg_s": 6.0,  # of the mean of 2 to 10
        "global_s": 18.0,  # of 12, 18 and 24
        "completion_s": 17.0,  # of 11, 17 and 23: global_s less arrival_skew_s
        "arrival_skew_s": 1.0,
        "imb_t_max_s": 2.0,
        "nccl_tests_s": 20.0,
        "clock_error_s": pytest.approx(0.3),  # the largest
        "time_definition": "max_local",
    }
    assert {name: row[name] for name in expected} == {
        name: pytest.approx(value) if isinstance(value, float) else value for name, value in expected.items()
    }
    assert (row["time_low_s"], row["time_high_s"]) == (4e-6, 9e-6)  # of 3 launches their range


def test_one_launch_has_the_interval_of_its_calls_two_the_hull(tmp_path):
    first, second = [1, 1, *range(100, 140)], [1, 1, *range(300, 340)]
    one = row_of(one_cell(tmp_path / "one", [first]))
    two = row_of(one_cell(tmp_path / "two", [first, second]))
    assert one["interval"] == two["interval"] == "repetitions"
    assert (one["time_low_s"], one["time_high_s"]) == (one["spread_low_s"], one["spread_high_s"]) == (100, 139)
    assert (two["time_low_s"], two["time_high_s"]) == (100, 339)  # a walk in one direction: nothing is known
    assert (two["spread_low_s"], two["spread_high_s"]) == (119.5, 319.5)


@pytest.mark.parametrize(("timed", "kind"), [(1, "range"), (5, "range"), (6, "repetitions")])
def test_too_few_calls_of_a_launch_tell_nobody_from_the_fastest(tmp_path, timed, kind):
    folder = build_run(tmp_path / "few", timed=timed, launches=1, algorithms=["native", "ring"], sizes=[8], ranks=[4])
    rows = sorted(summarise(folder), key=lambda row: row["time_s"])
    assert rows[1]["time_s"] > 1.2 * rows[0]["time_s"]
    assert [row["interval"] for row in rows] == [kind, kind]
    assert rows[0]["standing"] == "unclear"  # of one launch, anyway


def test_many_calls_carry_every_quantile(tmp_path):
    row = row_of(build_run(tmp_path / "more", timed=3700, launches=1, algorithms=["ring"], sizes=[8], ranks=[2]))
    shares = [row[name] for name in ("min_s", "p5_s", "p25_s", "time_s", "p75_s", "p95_s", "p99_s", "p99_9_s", "max_s")]
    assert shares == sorted(shares) and len(set(shares)) == len(shares)
    assert abs(row["lag1"]) < 0.1 and 0.99 < row["drift"] < 1.01
    assert row["first_penalty"] == pytest.approx(3, rel=0.1)
    assert 0 < row["outliers"] < 0.02 * 3700  # of a normal distribution 0.7 %


def test_invalid_calls_are_in_no_statistic_but_counted(tmp_path):
    def call(launch, cell, number):
        return {"valid": False, "time_s": -1e9} if number % 2 else {"osu_avg_s": 3.0}

    row = row_of(one_cell(tmp_path / "run", [[2.0] * 22] * 3, call=call))
    assert (row["invalid"], row["repetitions"], row["launches"]) == (30, 30, 3)
    assert row["min_s"] == row["max_s"] == row["time_s"] == 2.0
    assert row["osu_avg_s"] == 3.0 and row["first_penalty"] == 1.0


def test_an_invalid_first_call_has_no_penalty(tmp_path):
    row = row_of(one_cell(tmp_path / "run", [[2.0] * 12], call=lambda launch, cell, number: {"valid": number > 0}))
    assert row["first_penalty"] is None and row["invalid"] == 0  # a warm-up


def test_a_launch_without_a_valid_call_is_no_launch_of_the_cell(tmp_path):
    def call(launch, cell, number):
        return {"valid": launch.number != 2}

    row = row_of(one_cell(tmp_path / "run", [[2.0] * 12, [9.0] * 12], call=call))
    assert (row["launches"], row["repetitions"], row["invalid"], row["time_s"]) == (1, 10, 10, 2.0)


@pytest.mark.parametrize(
    ("times", "valid", "reason"),
    [
        ([2.0] * 12, False, "none of the 10 calls was valid (a rank started late, or its clock ran backwards)"),
        ([0.0] * 12, True, "the clock resolution is too coarse"),
    ],
)
def test_a_cell_without_a_usable_time_has_none_and_says_why(tmp_path, times, valid, reason):
    folder = one_cell(tmp_path / "run", [times], call=lambda launch, cell, number: {"valid": valid})
    row = row_of(folder)
    assert (row["state"], row["reason"], row["time_s"], row["launches"]) == ("left out", reason, None, 0)
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert reason in page and "No cell was measured" in page


def test_what_was_not_told_stays_missing(tmp_path):
    nothing = {"osu_avg_s": None, "global_s": None, "completion_s": None, "arrival_skew_s": None}
    unknown = {"stopped": None, "imb_t_max_s": None, "clock_error_s": None}
    told = {"outcome": lambda launch, cell: unknown, "call": lambda launch, cell, number: nothing}
    row = row_of(one_cell(tmp_path / "run", [[2.0] * 12] * 3, **told))
    assert {row[name] for name in (*nothing, *unknown, "nccl_tests_s")} == {None}
    assert row["lag1"] is None  # all calls took the same time


def said(folder: RunFolder) -> dict[str, str]:
    """The text of each caveat but the good news, by its badge."""
    found = caveats.find_caveats(summarise(folder), [])
    return {caveat.badge: caveat.texts[0] for caveat in found if caveat.level != "good"}


def test_nothing_is_said_of_good_calls(tmp_path):
    assert said(build_run(tmp_path / "run", timed=40)) == {}


def test_times_of_different_definitions_are_said_and_named(tmp_path):
    def call(launch, cell, number):
        return {"time_definition": "completion"} if cell.algorithm == "ring" and launch.number == 2 else {}

    folder = build_run(tmp_path / "run", ranks=(2,), sizes=(8,), algorithms=("native", "ring"), call=call)
    ring = summarise(folder)[1]
    assert ring["time_definition"] == "completion + max_local"
    assert said(folder)["different timing methods"].startswith("1 of 2 cells were timed by another method")


def test_much_that_was_invalid_is_said_and_little_is_not(tmp_path):
    def call(launch, cell, number):
        return {"valid": number % (5 if cell.algorithm == "ring" else 19) != 4}

    folder = build_run(tmp_path / "run", ranks=(2,), sizes=(8, 1024), timed=38, call=call)
    text = said(folder)["many invalid calls"]
    assert text.startswith("2 of 6 cells") and text.endswith(": ring (8 B, 1 KiB) at 2 ranks")
    note = next(line for line in table(folder.plan(), summarise(folder), "an MPI").splitlines() if "invalid" in line)
    assert note.startswith("not ranked, invalid calls (a rank started late, or its clock ran backwards): ring 8 B (")


def test_why_cells_ended_is_counted(tmp_path, words_only):
    def outcome(launch, cell):
        return {"stopped": "time" if (cell.algorithm, launch.number) == ("ring", 2) else "precision"}

    folder = build_run(tmp_path / "run", sizes=(8, 1024), outcome=outcome)
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert "precision in 12, time in 4 of 12 cells" in page
