"""The winner table of arrival patterns, in text and on the page."""

from html import unescape

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.models.points import points, points_of_summary
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.report.winners_elsewhere_table import arrival_lines, arrival_rows, arrival_tables
from allreduce_bench.tables import Screen


def delayed_run(path, **changed):
    """Ring takes half as long under ramp, the others twice as long."""

    def factor(launch, cell):
        return 1.0 if not cell.arrival else 0.5 if cell.algorithm == "ring" else 2.0

    choices = {"arrival": ("ramp",), "late_by": "1ms"}
    return build_run(path, ranks=(2,), sizes=(1024,), launches=5, factor=factor, choices=choices, **changed)


def test_the_table_names_who_suffers_least(tmp_path):
    rows = summarise(delayed_run(tmp_path / "run"))
    head, none, ramp = arrival_rows(rows)
    assert head[:3] == ["size", "arrival", "late by"] and head[-2:] == ["shortest", "least affected"]
    assert none[:3] == ["1 KiB", "none", "-"] and none[-1] == "-"
    assert ramp[:2] == ["1 KiB", "ramp"] and ramp[-1] == "ring"
    ratio_of = {name: float(ramp[head.index(name)].partition(" x")[2].split()[0]) for name in ("ring", "native")}
    assert abs(ratio_of["ring"] - 0.5) < 0.03 and abs(ratio_of["native"] - 2) < 0.12
    assert [title for title, _ in arrival_tables(rows)] == ["2 ranks"]
    assert all(len(line) <= 60 for line in arrival_lines(rows, Screen(width=60)))


def test_the_verdict_the_models_and_the_table_take_cells_without_delays_alone(tmp_path):
    plain = build_run(tmp_path / "plain", ranks=(2,), sizes=(1024,), launches=5)
    folder = delayed_run(tmp_path / "run")
    rows = summarise(folder)
    plan = folder.plan()
    assert len(points([folder])) == len(points([plain])) == len(points_of_summary(rows, folder.attempts(), "run"))
    undelayed = [row for row in rows if not row["arrival"]]
    assert verdicts(rows) == verdicts(undelayed)
    text = table(plan, rows, "an MPI")
    assert text.count("least affected") == 1 and "6 of 6 cells done" in text
    assert "least affected" not in table(plain.plan(), summarise(plain), "an MPI")


def test_the_page_has_the_table_and_says_what_was_injected(tmp_path, words_only):
    page = write_report([delayed_run(tmp_path / "run")], tmp_path / "page.html").read_text()
    assert "<h2>Arrival patterns</h2>" in page and "least affected" in page
    assert "patterns ramp" in unescape(page)
    plain = build_run(tmp_path / "plain", ranks=(2,), sizes=(1024,), launches=3)
    page = write_report([plain], tmp_path / "page.html").read_text()
    assert "Arrival patterns" not in page and "not seen" in page
