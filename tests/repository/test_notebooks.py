"""The notebooks of `analysis/` run from top to bottom, and still say what they are kept with."""

import re
import sys
from pathlib import Path

import pytest
from interpreters import FULL, interpreters
from run_notebooks import ANALYSIS, NOTEBOOKS, execute, read, said, same

from allreduce_bench.pages.notebook import explain
from allreduce_bench.schedule import elements


def test_each_notebook_is_listed_in_the_readme_beside_them():
    listed = re.findall(r"\[(\w+\.ipynb)\]\(\1\)", (ANALYSIS / "README.md").read_text(encoding="utf-8"))
    assert listed == [path.name for path in NOTEBOOKS]


STORY = ANALYSIS / "07_from_naive_to_two_tree.ipynb"  # measures the machine that it runs on
LONG = "--launches 3 --iters 5"


def shorten(notebook) -> None:
    """Fewer launches and calls of the run that it starts."""
    (cell,) = [cell for cell in notebook.cells if LONG in cell.source]
    cell.source = cell.source.replace(LONG, "--launches 2 --iters 2 --identify=never")


@pytest.mark.docs
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_says_what_it_is_kept_with(path):
    if path == STORY and Path(sys.executable) not in interpreters():
        pytest.skip("this interpreter finds no MPI, and the notebook measures")
    kept, own = read(path), read(path)
    if path == STORY and not FULL:
        shorten(own)
    for cell, (before, now) in enumerate(zip(said(kept), said(execute(own)))):
        assert same(before, now), f"code cell {cell} of {path.name} says\n{now}\nbut is kept with\n{before}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_output_and_without_paths(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in cells)
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)
    assert not re.search(r"/(home|root|tmp|work|usr|Users)/", str([cell.outputs for cell in cells]))


def test_the_exercise_of_the_story_is_checked(capsys):
    cells = [cell.source for cell in read(STORY).cells if cell.cell_type == "code"]
    (count,) = [source.split("\n\n\n")[0] for source in cells if source.startswith("def busiest")]
    (exercise,) = [source for source in cells if source.startswith("answer = ")]
    names = {"explain": explain, "elements": elements}
    exec(count, names)
    for answers, verdict in (((1470, 2520, 1680), "right"), ((1471, 1680, 2520), "not right")):
        named = dict(zip(("ring", "tree", "two_tree"), answers))
        exec(re.sub(r"answer = \{.*\}", f"answer = {named}", exercise), names)
        said_of_answers = capsys.readouterr().out.splitlines()
        assert [line.partition(": ")[2].partition(";")[0] for line in said_of_answers] == 3 * [verdict]


@pytest.mark.parametrize(
    "one, other, alike",
    [
        ("ring   1.23 us", "ring 1.24 us", True),  # the last digit
        ("ring 1.23 us", "ring 1.35 us", False),
        ("ring 1.23 us", "tree 1.23 us", False),
        ("error −3 %", "error 3 %", False),
        ("44,689 us", "44,690 us", True),
        ("-0.0 %", "0.1 %", True),
        ("8 ranks", "9 ranks", False),
        ("5e-06", "5e-05", False),
        ("ring 8", "ring 8 9", False),
    ],
)
def test_what_counts_as_the_same(one, other, alike):
    assert same(one, other) == alike
