"""The pages for readers: every command runs, or parses where it needs what a test lacks; links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
from click import Context
from interpreters import FULL, interpreters
from made_runs import build_run
from places import ROOT
from run_notebooks import same
from shown_commands import (
    MAY_FAIL,
    PAGES,
    PARSED,
    SHORTER,
    SLOW,
    Shown,
    blocks,
    expanded,
    own_algorithm,
    run_here,
    run_page,
    shown_commands,
)

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.launching.patience import Report, blame

DOCS = ROOT / "docs"
MARKDOWN = [
    *ROOT.glob("*.md"),
    *(path for name in ("docs", "jobs", "results", "analysis", "tests") for path in (ROOT / name).rglob("*.md")),
]
ALL = [shown for page in PAGES for shown in shown_commands(page)]
WITH_RUN = ("docs/models.md", "docs/own-algorithm.md")  # where results/ holds a run before the first command
MAKEFILE = re.sub("#.*", "", (ROOT / "Makefile").read_text())
MAKE = re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE)
EXTRAS = re.findall(r"^(\w+) =", (ROOT / "setup.cfg").read_text().split("[options.extras_require]")[1], re.MULTILINE)


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_make_leaves_the_environment_of_the_user_alone():
    assert MAKE and ".venv-openmpi" in MAKEFILE and not re.search(r"\.venv(?!-)", MAKEFILE)


def test_every_page_is_in_the_index():
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", (ROOT / "README.md").read_text()))
    assert linked == {path.name for path in DOCS.glob("*.md")}


def test_the_table_of_algorithms_is_complete():
    table = re.findall(r"^\| `(\w+)` \|", (DOCS / "which-algorithm.md").read_text(), re.MULTILINE)
    assert sorted(table) == sorted(builtin())


def parse(shown: Shown) -> Context:
    """The command with its words understood, and not run. Raises click's exceptions, which a test fails with."""
    name, *words = shlex.split(shown.words)
    command = main.get_command(None, name)
    assert command is not None, f"no command '{name}'"
    return command.make_context(name, [*expanded(words)])


@pytest.mark.parametrize(
    "shown", [shown for shown in ALL if shown.words], ids=lambda shown: f"{shown.page}: {shown.words}"
)
def test_a_command_and_its_options_exist(shown, tmp_path, monkeypatch):
    monkeypatch.setattr("allreduce_bench.cli.kept_runs.newest_run", lambda: Path("results/newest"))
    (tmp_path / "mine.py").write_text(own_algorithm())
    parse(shown)


def test_the_job_of_the_page_about_ci_has_the_commands_that_it_shows_and_are_run():
    page = (DOCS / "ci.md").read_text()
    of_job = re.findall(r"^ {10}(allreduce-bench .*)$", page, re.MULTILINE)
    shown = {shown.line for shown in ALL if shown.page == "docs/ci.md"}
    assert len(of_job) == 4 and set(of_job) == shown


def test_an_option_that_is_none_is_seen():
    with pytest.raises(Exception, match="--hots"):
        parse(Shown("", "", "", "run --hots n1"))
    with pytest.raises(Exception, match="8Q"):
        parse(Shown("", "", "", "run --sizes 8Q"))


def test_what_is_said_of_commands_is_said_of_some():
    words = [shown.words for shown in ALL]
    for pattern in [*PARSED, *SLOW, *SHORTER, MAY_FAIL]:
        assert any(re.search(pattern, word) for word in words), pattern
    assert len(ALL) > 60


@pytest.mark.parametrize("shown", [shown for shown in ALL if not shown.words], ids=lambda shown: shown.line)
def test_what_other_programs_are_given_exists(shown):
    words = shlex.split(shown.line)
    if words[0] == "make":
        assert words[1] in MAKE
    for name in re.findall(r"\[(\w+)\]", shown.line) if "pip" in shown.line else []:
        assert name in EXTRAS
    for word in words[1:]:
        if re.match(r"(jobs|tests|allreduce_bench)/", word):
            assert (ROOT / word).exists(), word


def make_runs(page: str, folder) -> None:
    """The runs that a page takes for granted."""
    names = [folder / "one"] if page in WITH_RUN else []
    names += [folder / name for name in ("monday", "today", "nightly-1", "nightly-2")] * (
        page in ("docs/compare.md", "docs/which-algorithm.md")
    )
    for seed, path in enumerate(names):
        build_run(path, sizes=(8, 65536, 262144, 1 << 20), seed=seed)


@pytest.mark.docs
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("page", [page for page in PAGES[1:] if any(shown.words for shown in shown_commands(page))])
def test_the_commands_of_a_page_run_one_after_the_other(page, desk):
    make_runs(page, desk / "results")
    run_page(page, FULL)


def test_the_python_of_the_pages_runs(desk):
    (code,) = [block for block in blocks((ROOT / "results" / "README.md").read_text()) if block.startswith("import ")]
    names: dict = {}
    exec(code, names)
    assert {"competitor", "time_s"} <= set(names["summary"].columns)


def test_the_hang_is_named_in_the_words_that_are_said():
    def waiting(rank: int, partner: int, host: str) -> Report:
        call = {"step": 2, "source": partner, "dest": None, "sent": {}, "received": {}}
        return Report(host, "there", [1, 2], "", call | {"received": {str(partner): 1}})

    reports = {0: waiting(0, 3, "h1"), 1: waiting(1, 0, "h1"), 2: Report("h2", "silent"), 3: waiting(3, 2, "h2")}
    text = " ".join((DOCS / "troubleshooting.md").read_text().split())
    assert "no progress for 60 s (--timeout)" in text and f"{blame(reports)}; finished" in text


@pytest.mark.docs
def test_what_is_shown_as_predicted_is_what_is_predicted(desk):
    fit, predict = (shown.words for shown in shown_commands("docs/models.md") if "lumi" in shown.words)
    assert run_here(shlex.split(fit))[0] == 0
    printed = [line.strip() for line in run_here(shlex.split(predict))[1].splitlines()]
    (shown,) = [block for block in blocks((DOCS / "models.md").read_text()) if "time (us)\n" in block]
    for line in filter(None, map(str.strip, shown[shown.index("time (us)") :].splitlines())):
        assert any(same(other, line) for other in printed), line
