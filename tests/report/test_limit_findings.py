"""A time below what the links allow is no share of it: not in the file, not in the table, not on the page."""

import csv
import json

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.acceptance import AcceptanceLimit, judge
from allreduce_bench.evaluation.summary import record_summary, summarise, summary
from allreduce_bench.report.caveats import limit_findings
from allreduce_bench.report.figure import FigureData
from allreduce_bench.report.figures.sizes import draw_bandwidth
from allreduce_bench.report.formats import FORMATS
from allreduce_bench.report.formats.result import Result
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table

MIB = 1 << 20
CAUSES = ("the stated rate is wrong", "another path (several links, shared memory)", "in kernel buffers")
LINK = "hsn0, {} from --link-rate"
RIGHT, TOO_LOW = 10e9, 5e9  # bytes/s: the made times are those of 10 GB/s and more


def run_on_two_nodes(path, link_rate_bytes_per_s, factor=lambda launch, cell: 1.0):
    """4 ranks on 2 nodes: 2(N-1)/N n bytes a node, 3/2 n a rank at 10 GB/s."""
    return build_run(
        path,
        ranks=[4],
        facts={"nodes": 2, "hosts": ["n1", "n1", "n2", "n2"], "findings": []},
        outcome=lambda launch, cell: {"nodes": 2, "wire": "hsn0=4000000", "internode_nbytes": 3900000},
        choices={"link_rate_bytes_per_s": link_rate_bytes_per_s},
        factor=factor,
    )


def large(rows, algorithm):
    return next(row for row in rows if (row["competitor"], row["size_bytes"]) == (algorithm, 4 * MIB))


def shares_of_table(text):
    """The column `eff.` of its sizes, which have no wrong elements."""
    return [words[-2] for line in text.splitlines() if (words := line.split())[-1:] == ["0"]]


def test_a_time_that_the_links_allow_has_a_share_and_no_finding(tmp_path):
    run = run_on_two_nodes(tmp_path / "a", RIGHT)
    rows = summarise(run)
    assert all(0 < row["of_limit"] <= 1 for row in rows) and limit_findings(rows) == []
    assert "links allow" not in table(run.plan(), rows, "an MPI")
    assert json.loads(FORMATS["json"](Result.of(run, rows)))["findings"] == []


def test_a_time_below_the_limit_has_no_share_and_is_named_with_likely_causes_everywhere(tmp_path, words_only):
    run = run_on_two_nodes(tmp_path / "a", TOO_LOW)
    rows = record_summary(run)
    passing = [row for row in rows if row["time_s"] < row["limit_s"]]
    assert {row["size_bytes"] for row in passing} == {MIB, 4 * MIB} and large(rows, "ring") in passing
    assert all((row["of_limit"] is None) == (row in passing) for row in rows)
    with open(run.summary_csv, newline="") as file:
        assert [line["of_limit"] == "" for line in csv.DictReader(file)] == [row in passing for row in rows]
    (found,) = limit_findings(rows)
    assert found["text"].startswith(f"faster than the link allows ({LINK.format('40 Gbit/s')}), up to 1.3")
    assert "ring (1 MiB, 4 MiB)" in found["text"] and "at 4 ranks" in found["text"]
    assert all(cause in found["effect"] for cause in CAUSES) and "may be noise" not in found["effect"]
    text = table(run.plan(), rows, "an MPI")
    assert text.splitlines().count(found["text"]) == text.splitlines().count(found["effect"]) == 1
    shares = shares_of_table(text)
    assert all(share.endswith("%") for share in shares[:3]) and shares[3:] == ["-", "-"]
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "links allow" in page and CAUSES[0] in page and "efficiency</th>" in page
    content = json.loads(FORMATS["json"](Result.of(run, rows)))
    assert content["findings"] == [found] and found["code"] == "limit" and found["ranks"] == 4
    assert [cell["of_limit"] for cell in content["results"]] == [row["of_limit"] for row in rows]


def test_noise_may_pass_a_limit_that_the_interval_holds(tmp_path):
    """Two launches lie 3 % below the limit, one 30 % above."""
    name = "native"

    def factor(launch, cell):
        return (0.65 if launch.name[-1] != "1" else 0.9) if cell.algorithm == name else 2.0

    run = run_on_two_nodes(tmp_path / "a", RIGHT, factor)
    row = large(rows := summarise(run), name)
    assert row["time_s"] < row["limit_s"] < row["time_high_s"] and row["of_limit"] is None
    (found,) = limit_findings(rows)
    assert "intervals contain" in found["effect"]


@pytest.mark.parametrize(("rate", "passes"), [(RIGHT, False), (TOO_LOW, True)])
def test_what_is_accepted_beyond_the_limit_says_so(tmp_path, rate, passes):
    run = run_on_two_nodes(tmp_path / "a", rate)
    (judgement,) = judge([AcceptanceLimit("busbw", 4 * MIB, 5e9)], run.plan(), summarise(run))
    assert judgement.met and judgement.sentence.startswith("accepted: native 4 MiB, 4 ranks: busbw")
    assert ("link allows" in judgement.sentence) == passes


@pytest.mark.parametrize(("rate", "passes"), [(RIGHT, False), (TOO_LOW, True)])
def test_the_line_of_full_links_stays_where_points_pass_it_and_the_caption_says_so(tmp_path, rate, passes):
    drawing = draw_bandwidth(FigureData(summary([run_on_two_nodes(tmp_path / "a", rate)]), []))
    (line,) = [line for panel in drawing.live.panels for line in panel.lines if line.name == "link rate"]
    assert line.y == pytest.approx([1.5 * rate / 1e9] * len(line.x))  # 2(p-1)/p over 2(N-1)/N
    assert ("links allow" in drawing.caption) == passes
