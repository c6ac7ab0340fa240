"""Formats of a run's result: each is offered, and the tables of those that know one algorithm at a time."""

import csv
import json

import pytest
from interpreters import in_turn, interpreters
from made_results import of, tables_of
from page_readers import osu_latency, superbench

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.formats import FORMATS, nccl, osu
from allreduce_bench.runs import control
from allreduce_bench.runs.dtypes import DTYPES
from allreduce_bench.runs.folder import RunFolder

NCCL_HEADER = """\
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""  # noqa: W291  # of nccl-tests 2.16, with the blanks at its ends
OSU_HEADER = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"  # of OSU 7.4


def test_the_command_line_offers_every_format():
    assert set(control.FORMATS) == set(FORMATS)


def test_the_two_layouts_name_every_type():
    assert set(nccl.TYPES) == set(osu.DATATYPES) == set(DTYPES)


@pytest.mark.parametrize("name", ["nccl", "osu"])
def test_there_is_one_table_for_each_algorithm_and_rank_count(rows_and_result, name):
    rows, result = rows_and_result
    text = FORMATS[name](result)
    assert text.startswith("# allreduce-bench 0.")
    order = [(algorithm, ranks) for ranks in ("4", "2") for algorithm in ("native", "ring", "two_tree")]
    assert list(tables_of(text)) == order
    assert "competitor ring, 4 ranks on 1 node (OVERSUBSCRIBED" in text and "OVERSUBSCRIBED" in text
    for (algorithm, ranks), table in tables_of(text).items():
        cells = of(rows, algorithm, int(ranks))
        shown = [int(line.split()[0]) for line in table.splitlines()[1:] if not line.startswith("#")]
        assert shown == [row["size_bytes"] for row in cells if row["time_s"] is not None]


@pytest.mark.parametrize("name", ["nccl", "osu"])
def test_a_cell_without_a_time_is_a_comment_with_its_reason(rows_and_result, name):
    table = tables_of(FORMATS[name](rows_and_result[1]))["two_tree", "2"]
    for words in (
        "1 KiB: wrong: 3 wrong elements",
        "64 KiB: skipped: needs much memory",
        "1 MiB: refused: rank 1 of 2",
    ):
        assert f"\n# {words}" in table


def test_the_layouts_are_the_originals_to_the_blank(rows_and_result):
    assert FORMATS["nccl"](rows_and_result[1]).count(NCCL_HEADER) == 6
    assert FORMATS["osu"](rows_and_result[1]).count(OSU_HEADER) == 6


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_real_run_prints_each_format_and_nothing_else(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"

    def printed(*words: object) -> str:
        result = run_on_ranks(*words, "-o", folder)
        assert result.returncode == 0, result.stderr
        return result.stdout

    words = ["-n", 2, "--sizes", "0,8,64K", "-a", "native,ring", "--launches", 1, "--iters", 5]
    first = printed(*words, "--format", "csv")
    assert first == (folder / "summary.csv").read_text()
    assert [row["state"] for row in csv.DictReader(first.splitlines())] == ["done"] * 6
    text = {name: printed("--resume", "--format", name) for name in FORMATS}
    rows = summarise(RunFolder(folder))
    assert text["csv"] == first and "6 of 6 cells done" in text["table"]
    assert [cell["time_s"] for cell in json.loads(text["json"])["results"]] == [row["time_s"] for row in rows]
    assert len(text["long"].splitlines()) == 7
    assert osu_latency(text["osu"], 65536) == pytest.approx(of(rows, "native", 2)[2]["time_s"] * 1e6, abs=0.006)
    assert list(superbench(text["nccl"])) == [8, 65536]  # it leaves size 0 out
    numbered = [line for name in ("osu", "nccl") for line in text[name].splitlines() if not line.startswith("#")]
    assert len(numbered) == 12 and all(line.split()[0] in ("0", "8", "65536") for line in numbered)
