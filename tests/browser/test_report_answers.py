"""The figures of the report answer: what they show on hover and focus, hide and show, and open is what was measured."""

import json
import re
from collections.abc import Iterator

import pandas as pd
import pytest
from places import ROOT

from allreduce_bench.units import format_size, format_time, three_digits

EXAMPLE = ROOT / "docs" / "example"
TIMES = "(document.querySelectorAll('.chart')[1])"  # the charts: speed-up, time, bus bandwidth
HINT = f"{TIMES}.querySelector('[role=status]')"


@pytest.fixture
def shown(page, example):
    """The report of the example."""
    return page(example / "report.html")


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str, str], dict]:
    """(competitor, ranks in words, size in words) -> the row of summary.csv."""
    rows = pd.read_csv(EXAMPLE / "summary.csv")
    rows = rows[rows["time_s"].notna() & (rows["size_bytes"] > 0)]
    rows["name"] = rows["competitor"]
    return {
        (row["name"], f"{row['ranks']} ranks", format_size(row["size_bytes"])): row for row in rows.to_dict("records")
    }


def hints(page, panel: int) -> Iterator[str]:
    """What the chart of times says of each value of a panel, reached by the arrow keys."""
    page.evaluate(f"{TIMES}.querySelectorAll('.panel svg')[{panel}].focus()")
    first = None
    while (said := page.evaluate(f"{HINT}.textContent")) != first:
        first = first or said
        yield said
        page.press("ArrowRight")


def test_each_value_of_a_chart_is_that_of_the_summary(shown, measured):
    found = {}
    for panel in range(len({ranks for _, ranks, _ in measured})):
        for said in hints(shown, panel):
            name, ranks, rest = said.split(" · ")
            size, words = rest.split(": ", 1)
            found[name, ranks.removesuffix(" (oversubscribed)"), size] = words
    assert found.keys() == measured.keys()
    for key, words in found.items():
        row = measured[key]
        interval = f"[{three_digits(row['time_low_s'] * 1e6)}, {three_digits(row['time_high_s'] * 1e6)}]"
        assert words.startswith(format_time(row["time_s"])), key
        assert interval in words and f"{row['launches']} launches" in words, key


@pytest.mark.parametrize("name", ["ring@pipelined", "native"])
def test_the_pointer_finds_the_value_that_it_points_at(shown, measured, name):
    """The largest vector of the last panel, where lines are furthest from each other."""
    shown.evaluate(f"""(() => {{
      const marks = [...{TIMES}.querySelectorAll('.panel:last-child .series[data-name="{name}"] path')];
      marks.filter(e => e.classList.contains('mark')).pop().id = 'pointed';
    }})()""")
    shown.hover("#pointed")
    shown.wait(f"!{HINT}.hidden")
    said = shown.evaluate(f"{HINT}.textContent")
    assert said.startswith(f"{name} · 4 ranks")
    assert f"2 MiB: {format_time(measured[name, '4 ranks', '2 MiB']['time_s'])}" in said
    box = shown.evaluate(f"(b => [b.left, b.right, b.top, innerWidth])({HINT}.getBoundingClientRect())")
    assert box[0] >= 0 and box[1] <= box[3] and box[2] >= 0


def pressed(page, words: str) -> None:
    """Press the button of these words in the chart of times."""
    buttons = f"[...{TIMES}.querySelectorAll('button')]"
    page.evaluate(f"{buttons}.forEach(e => {{ e.id = e.textContent === {json.dumps(words)} ? 'asked' : ''; }})")
    page.click("#asked")


def drawn(page, name: str) -> int:
    """How many values of a series all charts show."""
    return page.evaluate(f"document.querySelectorAll('.series[data-name=\"{name}\"] .mark').length")


def test_buttons_hide_and_show_series_in_all_charts(shown):
    before, others = drawn(shown, "ring@pipelined"), drawn(shown, "two_tree@pipelined")
    assert before > 20
    pressed(shown, "ring@pipelined")
    assert (drawn(shown, "ring@pipelined"), drawn(shown, "two_tree@pipelined")) == (0, others)
    states = (
        "[...document.querySelectorAll(`button[data-name='ring@pipelined']`)].map(e => e.getAttribute('aria-pressed'))"
    )
    assert set(shown.evaluate(states)) == {"false"}
    shown.press(" ")  # it still has the focus
    assert drawn(shown, "ring@pipelined") == before and set(shown.evaluate(states)) == {"true"}


def test_buttons_hide_rank_counts_and_turn_the_axis(shown):
    titles = f"[...{TIMES}.querySelectorAll('.panel-title')].map(e => e.textContent)"
    assert shown.evaluate(titles) == ["2 ranks", "3 ranks", "4 ranks"]
    pressed(shown, "2 ranks")
    assert shown.evaluate(titles) == ["3 ranks", "4 ranks"]
    marks = f"[...{TIMES}.querySelectorAll('.panel svg text')].map(e => e.textContent)"
    logarithmic = shown.evaluate(marks)
    pressed(shown, "logarithmic")
    assert "0" in set(shown.evaluate(marks)) - set(logarithmic)
    assert shown.console() == []


def test_the_calls_of_a_cell_are_those_of_its_launches(shown):
    shown.evaluate(f"{TIMES}.querySelector('.panel svg').focus()")
    shown.press("Enter")
    shown.wait("document.querySelector('.calls circle, .calls .call')")
    titles = shown.evaluate("[...document.querySelectorAll('.calls title')].map(e => e.textContent)")
    said = {name: float(us) for name, us in (re.search(r"launch (\S+): (\S+) us", one).groups() for one in titles)}
    assert [*said] == [f"2r-{number}" for number in range(1, 6)]
    for name, median_us in said.items():
        rows = pd.read_csv(EXAMPLE / "launches" / f"{name}.1.calls.csv")
        own = rows[(rows["competitor"] == "native") & (rows["size_bytes"] == 8) & ~rows["warmup"].astype(bool)]
        assert median_us == pytest.approx(own["time_s"].median() * 1e6, rel=0.01)


def test_the_map_of_winners_answers_to_pointer_and_keys(shown):
    said = "document.querySelector('.said').textContent"
    shown.evaluate("document.querySelector('table.map td[tabindex=\"0\"]').focus()")
    assert shown.evaluate(said).startswith("8 B on 4 ranks: native 224 us, 1.40 times as fast as")
    shown.press("ArrowDown", "ArrowRight")
    assert shown.evaluate(said).startswith("128 B on 3 ranks: native")
    shown.evaluate("[...document.querySelectorAll('table.map td')].pop().id = 'last'")
    shown.hover("#last")
    shown.wait(f"{said}.startsWith('2 MiB on 2 ranks')")
    shown.press("Enter")
    shown.wait("document.querySelector('.winners + .calls circle')")


def test_tables_sort_and_come_back(shown):
    cells = "[...document.querySelector('table.sorts').tBodies[0].rows].map(r => r.cells[1].textContent)"

    def times_s() -> list[float]:
        found = (re.search(r"([\d.]+) (us|ms|s)", text) for text in shown.evaluate(cells))
        return [float(one[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[one[2]] for one in found]

    written = times_s()
    shown.evaluate("document.querySelectorAll('table.sorts thead tr:last-child th')[1].id = 'head'")
    for order in (sorted(written), sorted(written, reverse=True), written):
        shown.click("#head button")
        assert times_s() == order
    assert written != sorted(written, reverse=True)


def test_all_of_it_is_there_without_script(page, example):
    plain = page(example / "report.html", scripts=False)
    assert plain.console() == [] and not plain.evaluate("document.querySelector('.chart, .live, button')")
    shown = "[...document.querySelectorAll('figure img')].filter(e => e.checkVisibility()).length"
    assert plain.evaluate(shown) >= 3
    folded = "[...document.querySelectorAll('details')].every(e => e.querySelector(':scope > summary'))"
    assert plain.evaluate(folded)  # so that they open without script
    assert plain.evaluate("document.querySelectorAll('table.map td b').length") >= 7
