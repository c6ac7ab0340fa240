"""The first page: short, and its commands run, and its example is what its command prints."""

import re

import pytest
from interpreters import FULL, interpreters
from places import ROOT
from shown_commands import output_below, run_page

from allreduce_bench.machine.traffic import sent_bytes
from allreduce_bench.units import format_size, parse_size

README = ROOT / "README.md"
MOST_LINES = 150


def test_it_is_read_in_a_few_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def shape(text: str) -> dict[str, list]:
    """What a run's table shows, whatever was measured: its header, columns, sizes, and the kinds of closing lines."""
    above, grid, closing, *_ = ([line.strip() for line in part.splitlines()] for part in text.strip("\n").split("\n\n"))
    of_load = (
        "grade: ",
        "noise: ",
        "lower bound: ",
        "time (us): ",
    )  # what else the machine did, and whether a bound is known beside it
    header = [line for line in above if not line.startswith(of_load)]
    cells, *_, reference, traffic = closing  # between them lines that depend on the times
    return {
        "header": [re.sub(r"(\d+ ranks on 1 node).*", r"\1, LIBRARY", line) for line in header],
        "columns": [[word for word in line.split() if word != "eff."] for line in grid[:2]],
        "sizes": [line.split()[:2] for line in grid[2:]],
        "closing": [re.sub(r"^\d+ of \d+", "N of N", cells), reference.split()[:3], traffic],
    }


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_its_commands_run_one_after_the_other_and_the_first_prints_what_is_shown(desk):
    sizes = re.search(r"run -n 2,4 --sizes (\S+)", README.read_text())[1].split(",")
    assert [words[:2] for words in shape(output_below(README, "allreduce-bench run -n 2,4"))["sizes"]] == [
        format_size(parse_size(size)).split() for size in sizes
    ]
    printed = run_page("README.md", FULL)
    (table,) = (text for words, text in printed.items() if words.startswith("run -n 2,4"))
    if sent_bytes():  # else nothing here counts what the network carried, and the last line is absent
        kept, shown = shape(table), shape(output_below(README, "allreduce-bench run -n 2,4"))
        shown["sizes"] = [size for size in shown["sizes"] if FULL or size in kept["sizes"]]  # it was shortened
        assert kept == shown
