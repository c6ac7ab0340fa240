"""Floors and cold cells: measured beside the all-reduces, told from them, never mixed with them."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from interpreters import FULL, in_turn, interpreters
from made_runs import COLD, SIZES, build_run, floor_s

from allreduce_bench.cli import main
from allreduce_bench.evaluation.summary import summarise, summary
from allreduce_bench.report import caveats
from allreduce_bench.report.caveats import find_caveats
from allreduce_bench.report.figure import bound_curves
from allreduce_bench.report.figures.sizes import chart_times
from allreduce_bench.report.live_chart import NO_SWITCHES
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.runs.schema import CACHES, FLOORS

REFERENCE_TIMES = "reference times: "

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
KINDS = [("bfloat16", "max"), ("int64", "prod"), ("float16", "prod"), ("float64", "avg")]
COLUMNS = dict(zip(FLOORS, ("call_floor_s", "copy_floor_s", "reduce_floor_s")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> RunFolder:
    return build_run(tmp_path_factory.mktemp("runs") / "run", cache="cold", floors=True)


@pytest.fixture(scope="module")
def rows(folder) -> list[dict]:
    return summarise(folder)


def text_of(folder: RunFolder, rows: list[dict]) -> str:
    return table(folder.plan(), rows, "Some MPI 1.0", every_note=True)


def test_floors_are_columns_of_every_row_and_no_rows(rows):
    assert len(rows) == 3 * len(SIZES) * 2
    assert not any(row["competitor"].startswith("floor:") for row in rows)
    for row in rows:
        for name, column in COLUMNS.items():
            expected = floor_s(name, row["size_bytes"]) * COLD
            assert row[column] == pytest.approx(expected, rel=0.1)  # the fastest call, or the lowest median


def test_without_floors_their_columns_are_missing_and_not_zero(tmp_path, words_only):
    folder = build_run(tmp_path / "run", launches=1)
    rows = summarise(folder)
    assert all(row[column] is None for row in rows for column in COLUMNS.values())
    assert "reference times:" not in text_of(folder, rows)
    assert "--no-reference-times" in write_report([folder], tmp_path / "report.html").read_text()


def test_the_closing_table_names_the_cold_cache_and_floors_in_one_line(folder, rows):
    text = text_of(folder, rows)
    titles = [line for line in text.splitlines() if line.startswith("allreduce, ")]
    assert ["cache cold" in title for title in titles] == [True]
    assert "30 of 30 cells done" in text
    lines = [line for line in text.splitlines() if line.startswith(REFERENCE_TIMES)]
    assert len(lines) == 2 and max(map(len, lines)) <= 100
    assert lines[0].removeprefix(REFERENCE_TIMES).startswith("empty call 0.") and "local copy of 4 MiB" in lines[0]


def test_the_chart_of_times_has_a_line_for_each_floor(folder):
    frame = summary([folder])

    def references(rows):
        chart = chart_times(rows, bound_curves({}, 8, 1 << 22), NO_SWITCHES)
        return {line.name for panel in chart.panels for line in panel.lines if line.kind.startswith("reference")}

    words = {"reference: empty call", "reference: local copy", "reference: local reduction"}
    assert references(frame) == words
    assert not references(frame.assign(**dict.fromkeys(COLUMNS.values(), float("nan"))))


def test_a_time_below_a_floor_is_said(rows):
    def badges(found):
        return [finding.badge for finding in find_caveats(found, [])]

    assert "times below a reference time" not in badges(rows)
    short = [{**row} for row in rows if row["size_bytes"] in (8, 1 << 20) and row["ranks"] == 2]
    for row in short:
        row |= {"time_s": 5e-8, "time_high_s": 5e-8}
    texts = next(finding for finding in find_caveats(short, []) if "times below" in finding.badge).texts
    assert len(texts) == 3 * 3  # no call at both sizes, the copy at 1 MiB only
    assert sum(f"8 B, 2 ranks, took 0.0500 us, {caveats.FLOORS['call_floor_s']} 0." in text for text in texts) == 3
    assert any(f"native 1 MiB, 2 ranks, took 0.0500 us, {caveats.FLOORS['copy_floor_s']}" in text for text in texts)


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def marks(folder: Path) -> list[dict]:
    return RunFolder(folder).marks()


@needs_mpi
@pytest.mark.parametrize("cache", CACHES)
def test_a_run_measures_floors_in_either_state_of_the_cache(python, run_on_ranks, tmp_path, cache):
    in_turn(1, python)
    numbers = (1, 2, 3, 4, 5, 8) if FULL else (1, 2, 5)
    words = [
        "-n",
        ",".join(map(str, numbers)),
        "--sizes",
        "0,8,192K",
        "-a",
        "native,ring",
        "--launches",
        1,
        "--iters",
        3,
    ]
    words += ["--sync", "barrier"]  # a start on the clock that a busy machine misses is a further call
    result = run_on_ranks(*words, "--warmups", 1, "--cache", cache, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert f"{6 * len(numbers)} of {6 * len(numbers)} cells done, 0 wrong elements." in result.stdout
    shown = CliRunner().invoke(main, ["show", "-v", str(tmp_path / "run")]).stdout
    assert shown.count(f"{REFERENCE_TIMES}empty call ") == len(numbers)
    found = marks(tmp_path / "run")
    assert len(found) == len(numbers) * (2 * 3 + 1 + 3 + 3) and {mark["state"] for mark in found} == {"done"}
    for mark in found:
        own = not mark["competitor"].startswith("floor:")
        assert own == (mark["wrong"] == "0") == (mark["same_bits"] in ("0", "1")), mark
        assert mark["calls"] == "4"
    rows = summarise(RunFolder(tmp_path / "run"))
    assert len(rows) == len(numbers) * 6
    assert all(row[column] > 0 for row in rows for column in COLUMNS.values())
    assert all((fact["cold_nbytes"] > 0) == (cache == "cold") for fact in RunFolder(tmp_path / "run").attempts())


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize(("dtype", "op"), KINDS if FULL else KINDS[:2])
def test_every_kind_of_element_has_its_floors_cold_too(run_on_ranks, tmp_path, dtype, op):
    words = ["-n", 2, "--sizes", "8,4K", "-d", dtype, "--op", op, "-a", "ring", "--launches", 1, "--iters", 5]
    result = run_on_ranks(*words, "--cache", "cold", "-o", tmp_path / "run")
    assert result.returncode == 0 and "2 of 2 cells done, 0 wrong elements." in result.stdout, result.stderr
    assert all(row[column] > 0 for row in summarise(RunFolder(tmp_path / "run")) for column in COLUMNS.values())


@needs_mpi
def test_floors_that_are_missing_are_resumed_and_nothing_else(run_on_ranks, tmp_path):
    folder = tmp_path / "run"
    words = ["-n", 2, "--sizes", "8,4K", "-a", "native,ring", "--launches", 1, "--iters", 3, "--cache", "cold"]
    assert run_on_ranks(*words, "-o", folder).returncode == 0
    (path,) = folder.glob("launches/*.cells.csv")
    lines = path.read_text().splitlines(keepends=True)
    lost = [line for line in lines if line.startswith(("floor:copy,", "floor:null,"))]
    assert len(lost) == 3
    path.write_text("".join(line for line in lines if line not in lost))
    assert any(row["copy_floor_s"] is None for row in summarise(RunFolder(folder)))
    result = run_on_ranks("--resume", "-o", folder)
    assert result.returncode == 0 and "4 of 4 cells done" in result.stdout, result.stderr
    found = [mark for mark in marks(folder) if mark["attempt"] == "2"]
    assert sorted((mark["competitor"], int(mark["size_bytes"])) for mark in found) == [
        ("floor:copy", 8),
        ("floor:copy", 4096),
        ("floor:null", 8),
    ]
    assert all(row[column] > 0 for row in summarise(RunFolder(folder)) for column in COLUMNS.values())


@needs_mpi
def test_cold_buffers_count_as_memory():
    from allreduce_bench.measuring.context import Context, Party
    from allreduce_bench.measuring.skipping import unfit
    from allreduce_bench.schedule.algorithm import Topology

    class Comm:
        size = 2

    plan, real = Plan(("native",), (1 << 20,), (2,), 1, seed=1), Topology.one_node(2)
    one_party = Party(Comm(), real, real), ((range(2), real),)
    memory = {"memory_per_rank": 13 << 20, "cold_nbytes": 32 << 20}
    context = Context(Comm(), plan, Launch(2, 1), real, real, {}, None, None, *one_party, **memory)
    cell = Cell("native", 1 << 20)
    assert unfit(context, cell) is None
    reason = unfit(replace(context, plan=replace(plan, cache="cold")), cell)
    assert reason.startswith("needs 89.4 MiB of buffers") and "half of the 13 MiB" in reason
