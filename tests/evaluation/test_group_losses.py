"""Losses of groups from runs of known times, and what is said of them."""

import pytest
from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.evaluation.cell_times import by_size
from allreduce_bench.evaluation.group_losses import is_sure, worst_losses
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import ALL_EQUAL, verdicts
from allreduce_bench.models.points import points
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.report.verdict_sentence import REASONS, lines
from allreduce_bench.runs.groups import format_group_times, parse_group_times

LOSS = (1.5, 2.0)  # of two groups
ALONE_S = 1e-3


def call(launch, cell, repetition) -> dict:
    """Each launch has a time of its own, and the noise of a call is the same in all groups."""
    alone_s = ALONE_S * (1 + launch.number / 10) * (1 + repetition / 1000)
    times = [None if cell.groups == "alone" and number else alone_s for number in range(2)]
    if cell.groups == "together":
        times = [alone_s * loss for loss in LOSS]
    return {"group_times_s": format_group_times(times), "time_s": max(time for time in times if time is not None)}


@pytest.fixture
def folder(tmp_path):
    facts = {"groups": {"ranks": [[0, 1], [2, 3]], "alone": [0, 0]}}
    return build_run(tmp_path / "run", ranks=(4,), choices={"groups": "2"}, call=call, facts=facts)


def test_a_loss_is_made_within_a_launch(folder):
    rows = summarise(folder)
    for row in rows:
        times = parse_group_times(row["group_times_s"])
        assert row["group_ranks"] == "2 2"
        if row["groups"] == "together":
            assert parse_group_times(row["group_loss"]) == pytest.approx(LOSS, rel=1e-3)
            assert [times[1] / times[0]] == pytest.approx([LOSS[1] / LOSS[0]], rel=1e-3)
            assert list(worst_losses(row).values()) == pytest.approx([2.0] * 3, rel=1e-3) and is_sure(worst_losses(row))
        else:
            assert times[1] is None and row.get("group_loss") is None


def test_one_launch_is_not_sure():
    assert not is_sure({"4r-1": 2.0}) and not is_sure({"a": 0.9, "b": 1.2, "c": 1.0})


def test_one_group_alone_competes_with_nobody(folder):
    rows = summarise(folder)
    assert all(row["groups"] == "together" for group in by_size(rows).values() for row in group)
    assert len(rows) == 2 * sum(map(len, by_size(rows).values()))
    assert str(lines(verdicts(rows)[-1])[-1]) == f"no winner: {REASONS[ALL_EQUAL]}" and "5 %" in REASONS[ALL_EQUAL]
    assert all(row["busbw_bytes_per_s"] == pytest.approx(row["nbytes"] / row["time_s"]) for row in rows)


def test_alpha_and_beta_are_not_fitted_to_groups(folder):
    assert points([folder]).empty


def test_the_table_and_the_report_tell_each_group(folder, tmp_path, words_only):
    text = table(folder.plan(), summarise(folder), "an MPI")
    assert "out of place" in text
    assert "groups at 64 KiB: native 1810, 2413 us, alone 1207 us, loss 1.50, 2.00" in text
    assert "largest loss" in text and "not significant" not in text
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert "<strong>1.50, 2.00</strong>" in page and "layout alone" in page
    assert "several groups" in page


def test_groups_of_another_kind_are_not_compared(folder, tmp_path):
    other = build_run(tmp_path / "other", ranks=(4,), choices={"groups": "mod:2"}, call=call)
    refused = CliRunner().invoke(main, ["compare", str(folder.path), str(other.path)])
    assert refused.exit_code == 2 and "groups: 2 groups of 2 ranks (consecutive)" in refused.output
