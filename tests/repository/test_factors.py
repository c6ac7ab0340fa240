"""Whoever divides the numbers of a table gets the factor of the sentence: in what is printed, and on every page."""

import html
import re

import pytest
from divided import factors_of, ratios_of
from made_runs import build_run
from places import ROOT
from shown_commands import PAGES

from allreduce_bench.comparison.conditions import read_sides
from allreduce_bench.comparison.formats import FORMATS
from allreduce_bench.comparison.judgement import compare
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.report.table import table
from allreduce_bench.report.verdict_sentence import verdict_sentences
from allreduce_bench.runs.folder import RunFolder


def assert_divides(text: str) -> int:
    """How many factors of the text its tables give."""
    found = [*factors_of(text), *ratios_of(text)]
    for one in found:
        assert one.said == one.divided, one.sentence
        assert one.low <= float(one.said) <= one.high, one.sentence
    return len(found)


@pytest.mark.parametrize("page", PAGES)
def test_factors_of_pages_divide(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    of_factors = re.compile(r"\d\s+times\s+as\s+fast\s+as[^.]*?\([\d.]+\s+in\s+the\s+worst\s+of")
    assert len({one.sentence for one in factors_of(text)}) == len(of_factors.findall(text))
    assert_divides(text)


def test_there_are_factors_on_the_first_page():
    assert factors_of((ROOT / "README.md").read_text(encoding="utf-8"))


def test_there_are_ratios_on_the_page_of_compare():
    assert ratios_of((ROOT / "docs" / "compare.md").read_text(encoding="utf-8"))


def test_the_factors_of_the_example_run_divide_and_its_page_says_the_same():
    folder = RunFolder(ROOT / "docs" / "example")
    rows = summarise(folder)
    assert assert_divides(table(folder.plan(), rows, "MPI")) > 0
    page = html.unescape(re.sub(r"<[^>]+>", "", (folder.path / "report.html").read_text(encoding="utf-8")))
    for words in (sentence for verdict in verdicts(rows) for sentence in verdict_sentences(verdict)):
        assert " ".join(words.split()) in " ".join(page.split())


@pytest.mark.parametrize("seed", range(4))
def test_what_is_printed_divides(tmp_path, seed):
    factors = {"native": 1.0, "ring": 0.5, "two_tree": 1.37}

    def factor(launch, cell):
        return factors[cell.algorithm] * (3.0 if (launch.number, cell.size_bytes) == (2, 8) else 1.0)

    for place in ("base", "new"):
        build_run(tmp_path / place, launches=5, seed=seed + (place == "new"), factor=factor)
    folder = RunFolder(tmp_path / "base")
    assert assert_divides(table(folder.plan(), summarise(folder), "MPI")) > 0
    sides = read_sides([tmp_path / "base"], [tmp_path / "new"])
    assert assert_divides(FORMATS["table"](compare(*sides, 0.05))) > 0
