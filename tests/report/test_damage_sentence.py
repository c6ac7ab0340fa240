"""Damages in words: file, cell, what was found, what to do; on stderr and on the page."""

from html import unescape

from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.report.damage_sentence import MOST_DAMAGES, damage_caveats, damage_report


def test_a_damage_is_one_line_of_fit_and_a_warning_of_the_page(tmp_path):
    folder = build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=1)
    path, marks = folder.launches / "2r-1.1.calls.csv", folder.launches / "2r-1.1.cells.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[4:]]))
    line = (
        f"{marks}: damaged: native 8 B: its row, or one of its calls in 2r-1.1.calls.csv, was changed or is lost; "
        f"measure it again: allreduce-bench run --resume -o {folder.path}"
    )
    found = damage_report(folder)
    assert found.damages == [line] and "0 of 1 launches are complete; left: 2r-1" in found.missing
    (caveat,) = damage_caveats(found)
    assert caveat.badge == "DAMAGED FILES" and caveat.texts[0] == line
    result = CliRunner().invoke(main, ["fit", str(folder.path)])
    assert result.stderr.splitlines()[0] == f"warning: {line}"
    CliRunner().invoke(main, ["report", str(folder.path)])
    assert line in unescape((folder.path / "report.html").read_text())


def test_many_damages_are_counted(tmp_path):
    folder = build_run(tmp_path / "run", sizes=(8,), ranks=(2,), launches=MOST_DAMAGES + 3)
    for path in folder.launches.glob("2r-?.1.json"):
        path.write_bytes(b"")
    (folder.launches / "2r-10.1.cells.csv").unlink()
    found = damage_report(folder).damages
    assert len(found) == MOST_DAMAGES + 1 and found[-1].endswith("and 2 more damages")
