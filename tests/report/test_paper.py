"""Figures for a paper: a file a panel, as wide as asked, with letters that stay letters."""

import re

import matplotlib.image
import pytest
from made_runs import build_run

from allreduce_bench.report import page as report
from allreduce_bench.report.page import FigureFiles, write_report
from allreduce_bench.report.paper import DPI, Paper, PaperError
from allreduce_bench.units import parse_width


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return build_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """A run of few figures and panels."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    return build_run(folder, algorithms=("native", "ring"), ranks=(2,), launches=1)


@pytest.fixture(autouse=True)
def no_models(monkeypatch):
    """What a fit finds is tested elsewhere."""
    monkeypatch.setattr(report, "_models", lambda *_: ([], []))


def written(run, folder, kind: str, width: float) -> dict:
    """The files of the figures, by name, without CSV."""
    folder.mkdir(exist_ok=True)
    write_report([run], folder / "report.html", figures=FigureFiles(paper=Paper(kind, width)))
    return {path.name: path for path in (folder / "report_figures").iterdir() if path.suffix != ".csv"}


def test_each_panel_is_a_file_as_wide_as_asked_with_text_as_text(run, tmp_path):
    files = written(run, tmp_path, "svg", parse_width("84mm"))
    assert [name[:15] for name in sorted(files) if name.startswith("latency")] == ["latency-2_ranks", "latency-4_ranks"]
    for path in files.values():
        text = path.read_text()
        assert float(re.search(r'width="([\d.]+)pt"', text)[1]) == pytest.approx(84 / 25.4 * 72, abs=0.1)
        assert "<text" in text
        assert {float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", text)} == {8.0}, path.name


def test_a_width_that_the_legend_exceeds_is_refused_and_no_width_warns(run, tmp_path, recwarn):
    narrow = parse_width("40mm")
    assert written(run, tmp_path, "svg", narrow) and not recwarn
    names = ("native", "recursive_doubling@compiled-pipelined")
    long = build_run(tmp_path / "long", algorithms=names, ranks=(2,), launches=1)
    with pytest.raises(PaperError, match=r"--width 40mm: the legend of .* at least \d\dmm$"):
        written(long, tmp_path / "pages", "svg", narrow)


def test_a_pdf_holds_its_font(small_run, tmp_path):
    files = written(small_run, tmp_path, "pdf", parse_width("3.3in"))
    content = next(path for name, path in files.items() if name.startswith("latency")).read_bytes()
    assert content.startswith(b"%PDF") and b"/FontFile2" in content and b"/Type3" not in content
    (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", content)
    assert float(box) == pytest.approx(3.3 * 72, abs=0.1)


def test_a_png_has_the_resolution_of_print_and_the_page_is_the_same(small_run, tmp_path):
    files = written(small_run, tmp_path / "paper", "png", parse_width("8.4cm"))
    for path in files.values():
        assert matplotlib.image.imread(path).shape[1] == pytest.approx(8.4 / 2.54 * DPI, abs=1)
    (tmp_path / "plain").mkdir()
    plain = write_report([small_run], tmp_path / "plain" / "report.html").read_bytes()
    assert (tmp_path / "paper" / "report.html").read_bytes() == plain
