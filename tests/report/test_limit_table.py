"""The limit and the shares of it that the page shows."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.report.time_table import LimitLine, limit_lines, shares_text
from allreduce_bench.tables import Screen

ROW = {"competitor": "tree", "limit_s": 1.0, "of_limit": 0.5, "own_limit_s": None, "of_own_limit": None}


def test_a_share_stands_beside_that_of_the_schedule_s_own_limit():
    assert shares_text(ROW) == "50 %"
    assert shares_text({**ROW, "own_limit_s": 1.0, "of_own_limit": 0.5}) == "50 %"
    assert shares_text({**ROW, "own_limit_s": 2.0, "of_own_limit": 0.98}) == "50 % (98 %)"
    assert shares_text({**ROW, "own_limit_s": 2.0}) == "50 % (above 100 %)"
    assert shares_text({**ROW, "of_limit": None}) == "above 100 %"


def loads(launch, cell):
    """Each rank of the made runs receives and reduces three vectors, however it would be; native is not known."""
    size_bytes = cell.size_bytes
    return {} if not cell.competitor.is_ours else {"received_nbytes": 3 * size_bytes, "reduced_nbytes": 2 * size_bytes}


def test_the_page_has_a_line_for_each_size_with_a_limit(tmp_path):
    run = build_run(tmp_path / "run", ranks=[2], floors=True, outcome=loads)
    rows = summarise(run)
    lines = limit_lines(rows)
    assert [line.size_bytes for line in lines] == [1 << 16, 1 << 20, 1 << 22] and isinstance(lines[0], LimitLine)
    assert lines[0].limit_by == "local work" and "(" in lines[0].shares["ring"] and "(" not in lines[0].shares["native"]
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "<h2>Lower bounds</h2>" in page and lines[1].shares["two_tree"] in page and "Time against" in page


def test_the_table_shows_the_share_of_the_lowest_time_where_there_is_room(tmp_path):
    run = build_run(tmp_path / "run", ranks=[2], floors=True)
    rows = summarise(run)
    wide, narrow = (table(run.plan(), rows, "an MPI", screen) for screen in (Screen(200), Screen(60)))
    assert "lower bound: (p-1)/p of the reference times of copy and reduction" in wide and "left out" not in wide
    assert "lower bound: (p-1)/p" not in narrow and "eff." in narrow  # named among what is left out
