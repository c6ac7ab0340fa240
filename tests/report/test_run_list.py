"""The list of runs: a line a run at any width."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import record_summary
from allreduce_bench.report.run_list import HEADER, run_lines
from allreduce_bench.runs.inventory import kept_runs
from allreduce_bench.tables import Screen


@pytest.fixture
def results(tmp_path):
    facts = {"hosts": ["n1", "n1", "n2", "n2"], "nodes": 2}
    folder = build_run(tmp_path / "a", sizes=(8, 1 << 20), ranks=(2, 4), launches=1, facts=facts)
    record_summary(folder)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    return tmp_path


def test_a_line_says_what_was_run_where_and_how_far(results):
    lines = {line.split()[0]: line for line in run_lines(kept_runs(results), results)}
    assert lines["run"].split() == [*HEADER]
    for words in ("n1 +1", " 2,4 ", "native, ring +1", "8 B to 1 MiB", "100 %", "provisional"):
        assert words in lines["a"]
    assert lines["broken"].endswith("unreadable") and len(lines) == 3


@pytest.mark.parametrize("width", range(40, 201, 20))
def test_no_line_is_wider_than_the_screen(results, width):
    lines = run_lines(kept_runs(results), results, Screen(width))
    assert max(map(len, lines)) <= width
    assert "100 %" in "\n".join(lines) and "unreadable" in "\n".join(lines)
    assert ("left out: nodes" in "\n".join(lines)) == (width < 120)


def test_the_list_of_a_run_names_the_run(results):
    assert run_lines(kept_runs(results / "a"), results / "a")[1].startswith("a ")
