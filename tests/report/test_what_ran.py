"""What the library ran: said with its evidence on pages, in verdicts and below tables."""

from dataclasses import replace

import pytest
from has_message import has_message
from made_runs import build_run, identified

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import Change, verdicts
from allreduce_bench.message import say
from allreduce_bench.report.native_section import ran_lines, ran_sentences
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.report.verdict_sentence import lines
from allreduce_bench.runs.identified import keep_identified

SIZES = (8, 1 << 16, 1 << 20)
NAMES = {
    ("native", 8): ["recursive_doubling"],
    ("native", 1 << 16): ["rabenseifner"],
    ("native", 1 << 20): ["rabenseifner"],
    ("native:ring", 1 << 16): ["recursive_doubling"],
    ("native:ring", 1 << 20): ["recursive_doubling"],
}


@pytest.fixture
def folder(tmp_path):
    made = build_run(tmp_path / "run", algorithms=("native", "native:ring", "ring"), sizes=SIZES, ranks=(4,))
    keep_identified(made, identified(4, NAMES, asked="no"))
    return made


def test_neighbouring_sizes_of_one_answer_share_a_line():
    found = ran_lines({4: identified(4, NAMES, asked="no")})
    assert [(line.algorithm, line.sizes, line.ran) for line in found] == [
        ("native", "8 B", "recursive_doubling"),
        ("native", "64 KiB to 1 MiB", "rabenseifner"),
        ("native:ring", "64 KiB to 1 MiB", "recursive_doubling"),
    ]
    assert {line.evidence for line in found} == {say("identifying.by_order_and_bytes")}
    assert [line.asked for line in found] == ["", "", say("report.ran_not_asked")]


def test_other_types_and_unknown_ranks_are_said(folder):
    plan = replace(folder.plan(), ranks=(1, 2, 4), dtype="float64")
    found = {4: identified(4, NAMES, not_counted="why")}
    unknown, other, not_counted = ran_sentences(plan, found)
    assert has_message(unknown, "report.ran_unknown", ranks="2 ranks") and not_counted == "why"
    assert has_message(other, "report.ran_other_type", dtype="float32", own_dtype="float64")
    assert ran_sentences(replace(plan, algorithms=("ring",)), found) == [say("report.native_not_measured")]


def test_verdicts_name_what_native_changes_from_and_to(folder):
    (verdict,) = verdicts(summarise(folder))
    assert verdict.changes == (Change(("recursive_doubling",), ("rabenseifner",), 8, 1 << 16),)
    words = say("report.native_changes", before="recursive_doubling", after="rabenseifner", low="8 B", high="64 KiB")
    assert "native" + words in map(str, lines(verdict))


def test_sizes_between_those_of_the_run_say_where_it_changes(folder):
    between = {("native", 9984): ["recursive_doubling"], ("native", 10112): ["rabenseifner"]}
    names = dict(sorted((NAMES | between).items(), key=lambda item: item[0]))
    keep_identified(folder, identified(4, names, asked="no"))
    (verdict,) = verdicts(summarise(folder))
    assert verdict.changes == (Change(("recursive_doubling",), ("rabenseifner",), 9984, 10112),)
    words = {"before": "recursive_doubling", "after": "rabenseifner", "low": "9.75 KiB", "high": "9.875 KiB"}
    assert "native" + say("report.native_changes", **words) in map(str, lines(verdict))
    sizes = [line.sizes for line in ran_lines({4: identified(4, names)}) if line.algorithm == "native"]
    assert sizes == ["8 B to 9.75 KiB", "9.875 KiB to 1 MiB"]


def test_what_fits_both_sizes_is_no_change(folder):
    both = ["recursive_doubling", "rabenseifner"]
    keep_identified(folder, identified(4, {**NAMES, ("native", 1 << 16): both, ("native", 1 << 20): both}))
    (verdict,) = verdicts(summarise(folder))
    assert verdict.changes == () and verdict.native == ("recursive_doubling",)
    assert "native" + say("report.native_ran", names="recursive_doubling") in map(str, lines(verdict))


def test_another_algorithm_than_asked_for_is_not_ranked_and_named(folder, tmp_path, words_only):
    rows = summarise(folder)
    forced = [row for row in rows if row["algorithm"] == "native:ring"]
    assert [row["doubt"] for row in forced] == [None, "another algorithm", "another algorithm"]
    assert [row["standing"] is None for row in forced] == [False, True, True]
    text = table(folder.plan(), rows, "Open MPI")
    assert "not the algorithm that was asked for: native:ring 64 KiB (recursive_doubling ran)" in text
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert say("report.ran_not_asked") in page and "another algorithm ran" in page
    assert (tmp_path / "report_figures" / "identified.csv").read_text().count("native:ring") == 2
