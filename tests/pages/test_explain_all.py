"""`explain` and `explain --all` as people type them."""

import re

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.pages import site


def bench(*words):
    return CliRunner().invoke(main, ["explain", *words])


@pytest.fixture
def asked(monkeypatch) -> list:
    """What is asked for instead of made."""
    calls: list = []

    def page(*words):
        calls.append(words)
        return iter([("index.html", "text")])

    monkeypatch.setattr(site, "pages", page)
    return calls


def test_a_folder_of_pages_is_written_and_its_first_page_told(tmp_path, asked):
    result = bench("--all", "-o", str(tmp_path / "site"))
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}/site/index.html\n")
    assert bench("--all", "-n", "4", "-o", str(tmp_path / "other")).exit_code == 0
    assert (tmp_path / "site" / "index.html").read_text() == "text"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--all"], "--all writes"),
        (["--all", "ring", "-o", "site"], re.escape("leave out ring")),
        (["--all", "--count", "3", "-o", "site"], re.escape("leave out --count")),
        (["--all", "--run", "x", "-o", "site"], re.escape("leave out --run")),
        (["--all", "-n", "2,3", "-o", "site"], "explain takes"),
        ([], "type 'allreduce-bench explain ring'"),
        (["ring", "4", "5"], "single rank count, found 4,5"),
        (["ring", "-n", "4", "--run", "/no/such"], "/no/such: no such folder"),
    ],
)
def test_bad_use_is_told_in_one_line(words, sentence, asked, tmp_path):
    result = bench(*words)
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert re.search(sentence, result.stderr)
    assert not asked and not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_refused(tmp_path, asked):
    result = bench("--all", "-o", str(tmp_path))
    assert result.exit_code == 2 and f"-o {tmp_path}: exists" in result.stderr and not asked
