"""The first page: short, and its commands run, and its example is what its command prints."""

import itertools
import re

import pytest
from interpreters import FULL, interpreters
from places import ROOT
from shown_commands import output_below, run_page

from allreduce_bench.units import format_size, parse_size

README = ROOT / "README.md"
MOST_LINES = 150


def test_it_is_read_in_a_few_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def shape(text: str) -> dict[str, object]:
    """What the first table of a run shows, whatever was measured and however wide: title, marks, columns, sizes."""
    lines = [line.strip() for line in text.strip("\n").splitlines()]
    (first,) = (number for number, line in enumerate(lines) if line.startswith("2 ranks on 1 node"))
    above, below = lines[:first], lines[first + 1 :]
    absent = ("eff.", "#wrong")  # where no bound is known, or the screen is narrow
    sizes = [line for line in itertools.takewhile(lambda line: line, below[2:]) if re.match(r"\d+ [KM]?i?B ", line)]
    return {
        "title": above[0].rpartition(", ")[0],
        "marks": next(line for line in above if line.startswith("* fastest")).partition("   (")[0],
        "columns": [word for line in below[:2] for word in line.split() if word not in absent],
        "sizes": [line.split()[:2] for line in sizes],
        "verdict": any(line.startswith("2 ranks: ") for line in below),
    }


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_its_commands_run_one_after_the_other_and_the_first_prints_what_is_shown(desk):
    sizes = re.search(r"run -n 2,4 --sizes (\S+)", README.read_text())[1].split(",")
    assert [words[:2] for words in shape(output_below(README, "allreduce-bench run -n 2,4"))["sizes"]] == [
        format_size(parse_size(size)).split() for size in sizes
    ]
    printed = run_page("README.md", FULL)
    (table,) = (text for words, text in printed.items() if words.startswith("run -n 2,4"))
    kept, shown = shape(table), shape(output_below(README, "allreduce-bench run -n 2,4"))
    shown["sizes"] = [size for size in shown["sizes"] if FULL or size in kept["sizes"]]  # it was shortened
    assert kept == shown
