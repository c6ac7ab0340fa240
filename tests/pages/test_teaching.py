"""Answers beside a picture: prices that are those of the formulas, and the times of a run."""

import shutil

import pytest
from places import ROOT

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import subject
from allreduce_bench.pages.teaching import (
    ALPHA_S,
    BETA_S_PER_BYTE,
    FIRST,
    SIZE_BYTES,
    busy_sentence,
    cuts,
    fastest_cut,
    price_subject,
    read_measured,
    ways,
)
from allreduce_bench.runs.rows import RunError

EXAMPLE = ROOT / "docs" / "example"


def pieces(name: str, **options) -> list[int]:
    found = cuts(subject(name, 8, **options), name, None)
    return sorted(cut.count // cut.segment for cut in found)


def test_pipelines_come_in_several_cuts_and_others_in_one():
    assert pieces("tree") == pieces("two_tree") == [1, 2, 4, 8, 16, 32]
    assert pieces("ring") == [1]
    assert pieces("tree", count=24, segment=8) == [1, 2, 3, 4, 8]
    assert fastest_cut(subject("tree", 8), "tree", None, 8)[0].segment == subject("tree", 8).count


@pytest.mark.parametrize("ranks", [4, 6, 16])
def test_the_price_of_a_ring_is_its_formula(ranks):
    expected = 2 * (ranks - 1) * (ALPHA_S + BETA_S_PER_BYTE * SIZE_BYTES / ranks)
    assert price_subject(subject("ring", ranks)).time == pytest.approx(expected)


def test_few_messages_win_at_8_bytes_and_few_bytes_at_16_mebibytes():
    found = {way.name: way for way in ways(["naive"], 8, None)}
    assert [*found][0] == "recursive_doubling" and [*found][-1] == "ring" and {*found} == {"naive", *FIRST}
    assert [found[name].messages for name in FIRST] == [14, 8, 3, 6]
    assert found["ring"].vectors == found["rabenseifner"].vectors == 14 / 8 < found["tree"].vectors
    assert ways(["torus:2x3"], 8, None) == ways([], 8, None)  # it needs six ranks


def test_who_is_busy():
    assert busy_sentence([[(0, 1), (1, 0)]], 2).endswith(
        "use 100 % of what they could send and receive, over 2 directed links; no rank is idle in any round."
    )
    assert "25 % " in busy_sentence([[(0, 1)], [(1, 2)]], 4) or "12 % " in busy_sentence([[(0, 1)], [(1, 2)]], 4)
    assert "1 rank idle in 2 of 2 rounds" in busy_sentence([[(0, 1)], [(1, 2)]], 4)


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_says_why_it_takes_so_many_rounds(name):
    assert builtin()[name].why.endswith(".")


def test_a_run_tells_its_own_times():
    found = read_measured(EXAMPLE, ["ring"], None)
    assert (found.ranks, found.names) == (4, ("native", "ring@pipelined"))
    assert found.title == f"Measured in {EXAMPLE} on 4 ranks: medians of the launches"
    assert [row[0] for row in found.table] == ["size", "8 B", "128 B", "1 KiB", "128 KiB", "1 MiB", "2 MiB"]
    assert read_measured(EXAMPLE, ["ring", "two_tree"], 2).names == ("native", "ring@pipelined", "two_tree@pipelined")


def test_times_that_are_not_reliable_are_the_shortest(monkeypatch):
    from allreduce_bench.evaluation import summary

    honest = summary.summarise
    monkeypatch.setattr(summary, "summarise", lambda run: [row | {"grade": "not reliable"} for row in honest(run)])
    found, row = read_measured(EXAMPLE, ["ring"], 4), honest.__globals__["RunFolder"](EXAMPLE)
    least = {(one["competitor"], one["size_bytes"]): one["min_s"] for one in honest(row) if one["ranks"] == 4}
    assert "not reliable" in found.title and found.rows[0][1] == (least["native", 8], least["ring@pipelined", 8])


@pytest.mark.parametrize(
    ("names", "ranks", "sentence"),
    [
        (["tree"], None, "did not measure tree; it has native, ring@pipelined, two_tree@pipelined"),
        (["ring"], 8, "did not measure ring on 8 ranks; it has 2, 3, 4 ranks"),
    ],
)
def test_what_a_run_did_not_measure_is_told(names, ranks, sentence):
    with pytest.raises(RunError, match=sentence):
        read_measured(EXAMPLE, names, ranks)


def test_a_folder_that_is_no_run_is_told(tmp_path):
    shutil.copy(EXAMPLE / "summary.csv", tmp_path)
    with pytest.raises(RunError, match=r"no run\.json"):
        read_measured(tmp_path, ["ring"], None)
