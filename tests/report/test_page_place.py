"""A page never takes the place of a page about other runs."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.report import page as report
from allreduce_bench.report.page_place import default_page, fingerprints
from allreduce_bench.runs.folder import RunFolder


@pytest.fixture
def runs(tmp_path) -> list[RunFolder]:
    return [
        build_run(tmp_path / name, sizes=(8,), ranks=(2,), launches=1, choices={"seed": seed})
        for seed, name in enumerate("abc")
    ]


def write_page(folders: list[RunFolder]) -> Path:
    path = default_page(folders)
    path.write_text(f'<head>\n<meta name="runs" content="{fingerprints(folders)}">\n{path}')
    return path


def test_the_page_about_one_run_stands_in_it_and_is_made_anew(runs, tmp_path):
    assert write_page(runs[:1]) == tmp_path / "a" / "report.html" == default_page(runs[:1])


def test_the_page_about_several_runs_stands_in_the_working_folder_whatever_their_order(runs, tmp_path):
    assert write_page(runs[:2]) == default_page(runs[1::-1]) == Path("report.html")


def test_a_page_about_other_runs_stays(runs, tmp_path):
    pages = [write_page(runs[:1]), write_page(runs[:2]), write_page(runs), write_page(runs[1:])]
    names = ("a/report.html", "report.html", "report-2.html", "report-3.html")
    assert [tmp_path / page for page in pages] == [tmp_path / name for name in names]
    assert all(path.read_text().endswith(str(path)) for path in pages)
    assert default_page(runs) == pages[2]


def test_a_page_about_several_runs_that_stands_in_one_of_them_stays(runs, tmp_path):
    write_page(runs).replace(tmp_path / "a" / "report.html")
    assert default_page(runs[:1]) == tmp_path / "a" / "report-2.html"


def test_a_file_that_does_not_say_what_it_is_about_stays_in_the_working_folder(runs, tmp_path):
    for path in (tmp_path / "report.html", tmp_path / "a" / "report.html"):
        path.write_text("<p>mine</p>")
    assert default_page(runs) == Path("report-2.html")
    assert default_page(runs[:1]) == tmp_path / "a" / "report.html"


def test_a_working_folder_that_is_a_run_keeps_its_own_page(runs, tmp_path, monkeypatch):
    write_page(runs[:1])
    monkeypatch.chdir(tmp_path / "a")
    assert default_page([RunFolder(Path("."))]) == Path("report.html")
    assert default_page([RunFolder(Path(".")), RunFolder(Path("../b"))]) == Path("report-2.html")


def test_what_is_no_file_at_the_name_of_a_page_is_an_error(runs, tmp_path):
    os.mkfifo(tmp_path / "report.html")
    with pytest.raises(OSError, match="FIFO"):
        default_page(runs)


def test_the_command_takes_that_name_unless_it_is_given_one(runs, monkeypatch):
    def write(folders, output, *_, **__) -> Path:
        output.write_text(f'<meta name="runs" content="{fingerprints(folders)}">')
        return output

    monkeypatch.setattr(report, "write_report", write)
    words = (["a", "b"], ["a", "b", "c"], ["b", "a"], ["a"], ["a", "-o", "report.html"])
    said = [CliRunner().invoke(main, ["report", *these]).stdout.strip() for these in words]
    assert said == ["report.html", "report-2.html", "report.html", "a/report.html", "report.html"]


def test_what_stands_in_the_way_is_named_in_one_line(runs, tmp_path):
    os.mkfifo(tmp_path / "report.html")
    result = CliRunner().invoke(main, ["report", "a", "b"])
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1 and "FIFO" in result.stderr


@pytest.mark.parametrize("name", ["run.json", "summary.csv", "page.pdf", "page"])
def test_a_page_has_the_name_of_a_page(runs, name):
    kept = runs[0].run_json.read_bytes()
    result = CliRunner().invoke(main, ["report", "a", "-o", f"a/{name}"])
    assert result.exit_code == 2 and f"error: -o a/{name}" in result.stderr
    assert runs[0].run_json.read_bytes() == kept


def test_figures_are_not_written_through_a_link(runs, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "page_figures").symlink_to("elsewhere")
    result = CliRunner().invoke(main, ["report", "a", "-o", "page.html"])
    assert result.exit_code == 2 and ("page_figures" in result.stderr and "figures need" in result.stderr)
    assert not list((tmp_path / "elsewhere").iterdir()) and not (tmp_path / "page.html").exists()
