"""Marks of cells that their ranks did not finish: also after a line that was cut off."""

from made_runs import build_run

from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.recorder import mark_unfinished_cell

LAUNCH = Launch(2, 1)


def test_a_mark_is_not_glued_to_a_line_that_was_cut_off(tmp_path):
    folder = build_run(tmp_path / "run", sizes=(8,), ranks=(2,), launches=1, unsealed=True)
    path = folder.launches / "2r-1.1.cells.csv"
    *lines, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, last[:25]]))
    cell = folder.plan().cells(LAUNCH)[-1]
    mark_unfinished_cell(
        folder, LAUNCH, {**cell.__dict__, "ranks": 2, "size_bytes": 8, "state": "hung", "reason": "late"}
    )
    assert [row["state"] for row in folder.marks()] == ["done"] * (len(lines) - 1) + ["hung"]
    assert folder.damages() == [] and cell.key not in folder.finished(LAUNCH)
