"""The table of placements, in text and on the page, and what the verdict says of them."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.models.points import points, points_of_summary
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.report.winners_elsewhere_table import placement_lines, placement_rows, placement_sentences
from allreduce_bench.tables import Screen


def placed_run(path, slow: float = 9.0):
    """Native takes `slow` times as long where numpy puts vectors."""

    def factor(launch, cell):
        return slow if (cell.placement, cell.algorithm) == ("numpy", "native") else 1.0

    choices = {"placement": ("page", "numpy")}
    return build_run(path, ranks=(2,), sizes=(1024, 65536), launches=5, factor=factor, choices=choices)


def test_the_table_and_the_verdict_tell_what_changes(tmp_path, words_only):
    folder = placed_run(tmp_path / "run")
    rows = summarise(folder)
    head, first, second = placement_rows(rows)
    assert head[:2] == ["size", "placement"] and head[-1] == "fastest"
    assert [first[0], second[0], first[1]] == ["1 KiB", "64 KiB", "numpy"]
    ratio = float(first[head.index("native")].partition(" x")[2].split()[0])
    assert abs(ratio - 9) < 0.5
    (sentence,) = placement_sentences(rows)
    text = table(folder.plan(), rows, "MPI")
    assert sentence in text.replace("\n", " ") and first[head.index("native")] in text
    assert all(len(line) <= 60 for line in placement_lines(rows, Screen(width=60)))
    page = write_report([folder], tmp_path / "report.html").read_text()
    assert "Where vectors lie" in page


def test_verdict_models_and_points_take_the_first_placement_alone(tmp_path):
    plain = build_run(tmp_path / "plain", ranks=(2,), sizes=(1024, 65536), launches=5)
    folder = placed_run(tmp_path / "run")
    rows, plain_rows = summarise(folder), summarise(plain)
    assert [verdict.stretches and verdict.stretches[0].leaders for verdict in verdicts(rows)] == [
        verdict.stretches and verdict.stretches[0].leaders for verdict in verdicts(plain_rows)
    ]
    assert len(points([folder])) == len(points([plain]))
    assert len(points_of_summary(rows, folder.attempts(), "run")) == len(points([plain]))
