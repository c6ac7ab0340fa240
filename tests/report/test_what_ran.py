"""What the library ran: said with its evidence on pages, in verdicts and below tables."""

from dataclasses import replace

import pytest
from made_runs import build_run, identified

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.page import write_report
from allreduce_bench.report.ran_section import ran_lines, ran_sentences
from allreduce_bench.report.table import table
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
    assert {line.evidence for line in found} == {"order + bytes"}
    assert [line.asked for line in found] == ["", "", "no: not ranked"]


def test_other_types_and_unknown_ranks_are_said(folder):
    plan = replace(folder.plan(), ranks=(1, 2, 4), dtype="float64")
    found = {4: identified(4, NAMES, not_counted="why")}
    unknown, other, not_counted = ran_sentences(plan, found)
    assert "Unknown at 2 ranks" in unknown and not_counted == "why"
    assert "with float32 and" in other and "run measured float64 and" in other
    assert ran_sentences(replace(plan, competitors=("ring",)), found) == ["native was not measured."]


def test_another_algorithm_than_asked_for_is_not_ranked_and_named(folder, tmp_path, words_only):
    rows = summarise(folder)
    forced = [row for row in rows if row["competitor"] == "native:ring"]
    assert [row["doubt"] for row in forced] == [None, "another algorithm", "another algorithm"]
    assert [row["standing"] is None for row in forced] == [False, True, True]
    text = table(folder.plan(), rows, "Open MPI")
    assert "not the algorithm that was asked for: native:ring 64 KiB (recursive_doubling ran)" in text
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert "not ranked" in page and "another algorithm ran" in page
    assert (tmp_path / "report_figures" / "identified.csv").read_text().count("native:ring") == 2
