"""One browser for all tests of this folder; they are skipped by name where there is none."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import PROGRAMS, Browser, program, running_browser
from browser_page import AXE, Page
from places import ROOT


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of the whole session."""
    path = program()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is on PATH")
    with running_browser(path) as running:
        yield running


@pytest.fixture(scope="session")
def tab(browser) -> Page:
    """The one tab; another would be a process of its own, which takes longer than most tests."""
    return Page(browser)


@pytest.fixture
def page(tab) -> Callable[..., Page]:
    """`page(path)` opens a file on a light screen of 1280 pixels; its further arguments are those of `Page.open`."""
    tab.emulate()
    return tab.open


@pytest.fixture(scope="session")
def axe() -> None:
    """Skips where axe-core is not installed."""
    if not AXE.exists():
        pytest.skip("no axe-core: `make .axe/stamp` installs it by npm")


@pytest.fixture(scope="session")
def example(tmp_path_factory) -> Path:
    """The folder of the example run, with its report as the code of today writes it, without its models."""
    from allreduce_bench.report import page as report
    from allreduce_bench.runs.folder import RunFolder

    folder = tmp_path_factory.mktemp("example") / "example"
    shutil.copytree(ROOT / "docs" / "example", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_models", lambda *_: ([], []))
        report.write_report([RunFolder(folder)], folder / "report.html")
    return folder


@pytest.fixture(scope="session")
def site_pages(tmp_path_factory) -> Path:
    """The folder of `explain --all`."""
    from allreduce_bench.pages import site

    return site.write_site(tmp_path_factory.mktemp("pages") / "site", 8).parent


@pytest.fixture
def words_of_pdf(tmp_path) -> Callable[[bytes], list[str]]:
    """The words of each page of a PDF, by pdftotext; skips where there is none."""

    def read(document: bytes) -> list[str]:
        path: Path = tmp_path / "print.pdf"
        path.write_bytes(document)
        try:
            said = subprocess.run(["pdftotext", "-layout", path, "-"], check=True, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("no pdftotext: Debian's poppler-utils has it")
        return said.stdout.split("\f")[:-1]

    return read
