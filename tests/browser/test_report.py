"""The report of the example as people see it, and one about names that hold markup."""

from pathlib import Path

import pytest
from made_runs import build_run
from places import ROOT

from allreduce_bench.algorithms import by_default
from allreduce_bench.report import page as report

LOOKS = pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 390}, {"width": 390, "dark": True}], ids=str)
MOST_SHEETS, MOST_SCREENS, SCREEN_PX = 5, 12, 844
LEAST_CONTRAST, LEAST_LETTERS_PX, PAPER_PX = 4.5, 11.0, 718  # A4 within Chromium's margins
MARKUP = '"><img src=x onerror="hacked=1"><script>hacked=1</script><svg onload="hacked=1"></svg>'
IN_SCRIPT = "</script><script>hacked=1</script><!--<script>\u2028'-hacked=1-'"


@pytest.fixture
def shown(page, example):
    """The report of the example."""
    return page(example / "report.html")


@LOOKS
def test_says_nothing_and_asks_for_nothing(page, tab, example, look):
    tab.emulate(**look)
    tab.open(example / "report.html")
    assert tab.console() == tab.requests() == []


@pytest.mark.parametrize("look", [{}, {"width": 390, "dark": True}], ids=str)
def test_axe_finds_nothing(shown, axe, look):
    assert shown.emulate(**look).axe() == []


@LOOKS
def test_nothing_is_cut_and_letters_can_be_read(shown, look):
    shown.emulate(**look)
    assert shown.wider() == []
    letters = shown.letters()
    assert [one for one in letters if one["contrast"] < LEAST_CONTRAST] == []
    least_px = LEAST_LETTERS_PX if "width" in look else 10
    assert [one for one in letters + shown.image_letters() if one["px"] < least_px - 0.05] == []


def test_nothing_is_cut_in_print(shown, words_of_pdf):
    assert shown.emulate(width=PAPER_PX, media="print").wider() == []
    shown.emulate()
    printed = words_of_pdf(shown.pdf())
    assert "All-reduce on 2, 3, 4 ranks" in printed[0] and len(printed) <= MOST_SHEETS


def test_the_keyboard_reaches_everything_that_answers(shown):
    reached = shown.tabs()
    assert [one["name"] for one in reached if not one["seen"]] == []
    answering = "document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')"
    usable = f"[...{answering}].filter(e => e.checkVisibility() && !e.disabled).length"
    assert len(reached) == shown.evaluate(usable) > 10


def test_three_runs_of_nine_algorithms_are_whole_on_paper_and_on_a_phone(page, tmp_path, monkeypatch, axe):
    nine = ("native", *[name for name in by_default() if name != "parameter_server_sharded"])
    runs = [build_run(tmp_path / f"run{k}", algorithms=nine, ranks=(4,), sizes=(8, 1 << 20), seed=k) for k in range(3)]
    monkeypatch.setattr(report, "_models", lambda *_: ([], []))
    report.write_report(runs, tmp_path / "report.html")
    shown = page(tmp_path / "report.html")
    assert shown.evaluate("document.querySelectorAll('.chart').length") == 1 + 3 * len(runs)  # laid over each other
    assert shown.emulate(width=390).wider() == [] and shown.axe() == []
    assert shown.evaluate("document.documentElement.scrollHeight") <= MOST_SCREENS * SCREEN_PX
    assert shown.emulate(width=PAPER_PX, media="print").wider() == []
    assert shown.console() == shown.requests() == []


def test_a_run_of_nine_algorithms_takes_five_sheets_with_whole_tables(page, tmp_path, monkeypatch, words_of_pdf):
    nine = ("native", *[name for name in by_default() if name != "parameter_server_sharded"])[:9]
    run = build_run(tmp_path / "run", algorithms=nine, ranks=(2, 4, 8), sizes=tuple(8 << 2 * k for k in range(10)))
    monkeypatch.setattr(report, "_models", lambda *_: ([], []))
    shown = page(report.write_report([run], tmp_path / "report.html"))
    printed = words_of_pdf(shown.pdf())
    assert len(printed) <= MOST_SHEETS
    assert (
        sum("recursive_doubling" in sheet and "algbw" in sheet for sheet in printed) >= 1
    )  # no letters below each other
    assert any("Speed-up: time of native" in sheet for sheet in printed)  # captions stand with their figures


def test_what_a_page_holds_can_be_saved_without_its_folder(page, example, tmp_path):
    alone = tmp_path / "sent.html"
    alone.write_bytes((example / "report.html").read_bytes())
    shown = page(alone)
    saved = "[...document.querySelectorAll('figure figcaption a')].map(a => [a.download, a.href.slice(0, 14)])"
    links = dict(shown.evaluate(saved))
    assert {name.rsplit(".")[-1] for name in links} == {"svg", "csv"} and len(links) >= 8
    assert all(address.startswith("data:") for address in links.values())
    assert shown.console() == []


def test_weighs_little():
    assert (ROOT / "docs" / "example" / "report.html").stat().st_size < 1.5e6


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory) -> Path:
    """The report of a run whose hosts, reasons, commands and folder bear markup."""
    folder = tmp_path_factory.mktemp("hostile")

    def refused(launch, cell):
        return {"state": "skipped", "reason": MARKUP + IN_SCRIPT} if cell.algorithm == "two_tree" else {}

    facts = {
        "hosts": [MARKUP, MARKUP, IN_SCRIPT, IN_SCRIPT],
        "findings": [{"code": MARKUP, "level": "caution", "text": IN_SCRIPT}],
    }
    run = build_run(
        folder / MARKUP.replace("/", "∕"),
        ranks=(4,),
        sizes=(8, 65536),
        outcome=refused,
        facts=facts,
        command=["allreduce-bench", "run", "-o", IN_SCRIPT],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_models", lambda *_: ([], []))
        return report.write_report([run], folder / "report.html")


@pytest.mark.parametrize("policy", [True, False])
def test_names_that_hold_markup_are_words(page, hostile_page, policy):
    shown = page(hostile_page, policy=policy)
    assert shown.console() == shown.requests() == []
    assert shown.evaluate("typeof hacked") == "undefined"
    assert MARKUP in shown.evaluate("document.body.textContent")
    assert shown.evaluate("document.querySelectorAll('[onerror], [onload]').length") == 0
