"""Formats of a run's result: what they hold, and that programs written for OSU and nccl-tests read them right."""

import csv
import json
import subprocess
from pathlib import Path

import pytest
from interpreters import interpreters
from made_runs import build_run
from page_readers import awk_last_field, osu_datatype, osu_latency, osu_version, superbench, superbench_best

from allreduce_bench.cli import options
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.report.formats import FORMATS, Result, nccl, osu
from allreduce_bench.runs.dtypes import DTYPES
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import write_summary
from allreduce_bench.runs.schema import SUMMARY, names

TEXT = {column.name for column in SUMMARY if column.kind == "text"}
NCCL_HEADER = """\
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""  # noqa: W291  # of nccl-tests 2.16, with the blanks at its ends
OSU_HEADER = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"  # of OSU 7.4


def outcome(launch, cell):
    """two_tree is wrong at 1 KiB, skipped at 64 KiB, and refused at 1 MiB."""
    if cell.algorithm == "two_tree" and cell.count == 256:
        return {"state": "wrong", "wrong": 3}
    if cell.algorithm == "two_tree" and cell.count == 16384:
        return {"state": "skipped", "reason": "needs much memory", "wrong": None}
    if cell.algorithm == "two_tree" and cell.count == 1 << 18:
        return {"state": "refused", "reason": "rank 1 of 2 never ends", "wrong": None}
    return {}


@pytest.fixture(scope="module")
def rows_and_result(tmp_path_factory) -> tuple[list[SummaryRow], Result]:
    folder = build_run(tmp_path_factory.mktemp("runs") / "run", ranks=(4, 2), outcome=outcome)
    rows = summarise(folder)
    return rows, Result.of(folder, rows)


def of(rows: list[SummaryRow], algorithm: str, ranks: int) -> list[SummaryRow]:
    return [row for row in rows if (row["algorithm"], row["ranks"]) == (algorithm, ranks)]


def tables_of(text: str) -> dict[tuple[str, str], str]:
    """The text of each table by the first words of its title: algorithm, and ranks."""
    parts = text.split("# algorithm ")[1:]
    titles = [part.splitlines()[0] for part in parts]
    return {(title.split()[0].rstrip(","), title.split(", ")[1].split()[0]): part for title, part in zip(titles, parts)}


def test_the_command_line_offers_every_format():
    assert set(options.FORMATS) == set(FORMATS)


def test_the_two_layouts_name_every_type():
    assert set(nccl.TYPES) == set(osu.DATATYPES) == set(DTYPES)


def test_csv_is_the_summary_of_the_folder(tmp_path):
    folder = build_run(tmp_path / "run", outcome=outcome)
    rows = summarise(folder)
    write_summary(folder, rows)
    assert FORMATS["csv"](Result.of(folder, rows)) == folder.summary_csv.read_text()


def test_json_has_numbers_for_numbers_and_null_for_what_is_missing(rows_and_result):
    rows, result = rows_and_result
    found = json.loads(FORMATS["json"](result))
    assert set(found) == {"schema_version", "program", "command", "plan", "mpi", "hosts", "findings", "results"}
    assert len(found["results"]) == len(rows)
    for cell, row in zip(found["results"], rows):
        assert list(cell) == names(SUMMARY)
        assert cell["time_s"] == row["time_s"] and cell["busbw_bytes_per_s"] == row.get("busbw_bytes_per_s")
        assert all(value is None or isinstance(value, str) == (name in TEXT) for name, value in cell.items())
    assert [cell["time_s"] for cell in found["results"]].count(None) == 6
    assert {repr(cell["oversubscribed"]) for cell in found["results"]} == {"0", "1"}
    assert found["mpi"]["thread_level_of_ranks"] == {"2": "single", "4": "single"}
    assert [finding["ranks"] for finding in found["findings"]] == [4]  # once, not once a launch
    assert found["hosts"] == ["node1"] and found["plan"]["ranks"] == [4, 2]


def test_json_tells_nothing_of_the_environment(rows_and_result):
    assert "OMPI_MCA_btl" not in FORMATS["json"](rows_and_result[1])


def test_long_is_one_aligned_row_a_cell(rows_and_result):
    rows, result = rows_and_result
    header, *lines = FORMATS["long"](result).splitlines()
    assert len(lines) == len(rows) and len({line.index(" done") for line in lines if " done" in line}) == 1
    place = {name: i for i, name in enumerate(header.split())}
    for line, row in zip(lines, rows):
        fields = line.split(None, len(place) - 1)
        assert (fields[place["algorithm"]], fields[place["ranks"]]) == (row["algorithm"], str(row["ranks"]))
        assert fields[place["state"]] == row["state"]
        if row["time_s"] is None:
            assert fields[place["time_us"]] == "-" and fields[place["reason"]] == row["reason"]
        else:
            microseconds = {"time_us": "time_s", "low_us": "time_low_s", "high_us": "time_high_s"}
            for name, column in {**microseconds, "min_us": "min_s", "max_us": "max_s"}.items():
                assert float(fields[place[name]]) == pytest.approx(row[column] * 1e6, rel=6e-3)
            for name in ("algbw", "busbw"):
                expected = row[f"{name}_bytes_per_s"] / 1e9
                assert float(fields[place[f"{name}_GB/s"]]) == pytest.approx(expected, rel=6e-3)


@pytest.mark.parametrize("name", ["nccl", "osu"])
def test_there_is_one_table_for_each_algorithm_and_rank_count(rows_and_result, name):
    rows, result = rows_and_result
    text = FORMATS[name](result)
    assert text.startswith("# allreduce-bench 0.")
    order = [(algorithm, ranks) for ranks in ("4", "2") for algorithm in ("native", "ring", "two_tree")]
    assert list(tables_of(text)) == order
    assert "ring (sendrecv), 4 ranks on 1 node (OVERSUBSCRIBED: more ranks than cores)\n" in text
    for (algorithm, ranks), table in tables_of(text).items():
        cells = of(rows, algorithm, int(ranks))
        shown = [int(line.split()[0]) for line in table.splitlines()[1:] if not line.startswith("#")]
        assert shown == [row["nbytes"] for row in cells if row["time_s"] is not None]


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


def test_reframe_and_ramble_read_the_osu_layout(rows_and_result):
    rows, result = rows_and_result
    text = FORMATS["osu"](result)
    for row in of(rows, "native", 4):  # the first table is what they find
        assert osu_latency(text, row["nbytes"]) == pytest.approx(row["time_s"] * 1e6, abs=0.006)
    assert (osu_version(text), osu_datatype(text)) == ("v7.4", "MPI_FLOAT")
    for (algorithm, ranks), table in tables_of(text).items():
        for row in of(rows, algorithm, int(ranks)):
            if row["time_s"] is not None:
                (line,) = [line for line in table.splitlines() if line.startswith(f"{row['nbytes']} ")]
                _, avg, least, most, iterations = map(float, line.split())
                expected = [row[key] * 1e6 for key in ("time_s", "min_s", "max_s")]
                assert [avg, least, most] == pytest.approx(expected, abs=0.006)
                assert iterations == row["repetitions"]


def test_the_osu_layout_does_not_pass_for_osu(rows_and_result):
    """Nothing but a comment's first words is OSU's banner, and what stands in its columns is said before them."""
    text = FORMATS["osu"](rows_and_result[1])
    assert text.index("median over launches of the median over repetitions of the maximum over ranks") < text.index(
        "# OSU"
    )
    banners = [line for line in text.splitlines() if line.startswith("# OSU MPI Allreduce Latency Test")]
    assert len(banners) == 6 and all("the figures are not its own" in line for line in banners)


def test_superbench_reads_the_nccl_layout(rows_and_result):
    rows, result = rows_and_result
    for (algorithm, ranks), table in tables_of(FORMATS["nccl"](result)).items():
        cells = [row for row in of(rows, algorithm, int(ranks)) if row["time_s"] is not None]
        found = superbench(table)
        assert list(found) == [row["nbytes"] for row in cells]
        for row in cells:
            read = found[row["nbytes"]]
            assert read["time"] == pytest.approx(row["time_s"] * 1e6, abs=0.6, rel=1e-3)
            assert read["algbw"] == pytest.approx(row["algbw_bytes_per_s"] / 1e9, abs=0.006)
            assert read["busbw"] == pytest.approx(row["busbw_bytes_per_s"] / 1e9, abs=0.006)
        best = max(row["busbw_bytes_per_s"] for row in cells) / 1e9
        assert superbench_best(table) == pytest.approx(best, abs=0.006)
        (mean,) = awk_last_field(table, "# Avg bus bandwidth")
        assert float(mean) == pytest.approx(sum(row["busbw_bytes_per_s"] / 1e9 for row in cells) / len(cells), rel=1e-5)
        with pytest.raises(ValueError):  # nothing was measured in place: no number to be found
            superbench(table, in_place=True)


def test_of_several_tables_superbench_reads_the_last(rows_and_result):
    text = FORMATS["nccl"](rows_and_result[1])
    assert superbench(text) == superbench(tables_of(text)["two_tree", "2"])


def test_the_line_of_out_of_bounds_values_counts_wrong_elements(rows_and_result):
    tables = tables_of(FORMATS["nccl"](rows_and_result[1]))
    assert "# Out of bounds values : 0 OK\n" in tables["ring", "2"]
    assert "# Out of bounds values : 9 FAILED\n" in tables["two_tree", "2"]  # 3 in each of 3 launches


@pytest.mark.parametrize(
    ("state", "wrong", "bounds"),
    [("wrong", 2, "2 FAILED"), ("refused", None, "0 FAILED"), ("hung", None, "0 FAILED"), ("skipped", None, "N/A")],
)
def test_a_table_without_a_time_has_no_mean(tmp_path, state, wrong, bounds):
    facts = {"state": state, "reason": "why", "wrong": wrong}
    shape = {"algorithms": ("ring",), "sizes": (8,), "ranks": (2,), "launches": 1}
    folder = build_run(tmp_path / "run", **shape, outcome=lambda *_: facts)
    text = FORMATS["nccl"](Result.of(folder, summarise(folder)))
    assert f"# Out of bounds values : {bounds}\n" in text
    assert awk_last_field(text, "Avg bus bandwidth") == ["N/A"]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_real_run_prints_each_format_and_nothing_else(python, tmp_path):
    folder = tmp_path / "run"
    words = ["run", "-n", "2", "--sizes", "0,8,64K", "-a", "native,ring", "--launches", "1", "--iters", "5"]
    first = printed(python, *words, "--format", "csv", "-o", folder)
    assert first == (folder / "summary.csv").read_text()
    assert [row["state"] for row in csv.DictReader(first.splitlines())] == ["done"] * 6
    text = {name: printed(python, "run", "--resume", "-o", folder, "--format", name) for name in FORMATS}
    rows = summarise(RunFolder(folder))
    assert text["csv"] == first and "6 of 6 cells done" in text["table"]
    assert [cell["time_s"] for cell in json.loads(text["json"])["results"]] == [row["time_s"] for row in rows]
    assert len(text["long"].splitlines()) == 7
    assert osu_latency(text["osu"], 65536) == pytest.approx(of(rows, "native", 2)[2]["time_s"] * 1e6, abs=0.006)
    assert list(superbench(text["nccl"])) == [8, 65536]  # it leaves size 0 out
    numbered = [line for name in ("osu", "nccl") for line in text[name].splitlines() if not line.startswith("#")]
    assert len(numbered) == 12 and all(line.split()[0] in ("0", "8", "65536") for line in numbered)


def printed(python: Path, *words: object) -> str:
    command = [str(python), "-m", "allreduce_bench", *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout
