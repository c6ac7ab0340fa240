"""The gallery as people see it: quiet, readable, reached by keys, and without a request to any network."""

import pytest
from interpreters import FULL

from allreduce_bench.algorithms import builtin

LOOKS = pytest.mark.parametrize("look", [{}, {"width": 390, "dark": True}], ids=str)
PAGES = ("index", "lesson", "maps", "glossary", "ring", "hierarchical_ring", "two_tree")
LEAST_CONTRAST, LEAST_LETTERS_PX = 4.5, 11.0


@pytest.mark.parametrize("name", PAGES)
@LOOKS
def test_a_page_is_quiet_readable_and_reached_by_keys(page, gallery, name, look):
    shown = page(gallery / f"{name}.html").emulate(**look)
    assert shown.console() == shown.requests() == []
    assert shown.wider() == []
    letters = shown.letters()
    assert [one for one in letters if one["contrast"] < LEAST_CONTRAST or one["px"] < LEAST_LETTERS_PX - 0.05] == []
    assert [one["name"] for one in shown.tabs() if not one["seen"]] == []


@pytest.mark.parametrize("name", PAGES if FULL else PAGES[:-2] + ("two_tree",))
@LOOKS
def test_axe_finds_nothing(page, gallery, axe, name, look):
    assert page(gallery / f"{name}.html").emulate(**look).axe() == []


def test_a_reader_walks_through_all_algorithms(page, gallery):
    shown = page(gallery / "index.html")
    seen, file = [], shown.evaluate("document.querySelector('.cards a').getAttribute('href')")
    while file not in seen:
        seen.append(file)
        file = page(gallery / file).evaluate("document.querySelector('.next a[rel=next]').getAttribute('href')")
    assert sorted(seen) == [f"{name}.html" for name in builtin()]


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_plays_to_its_end(page, gallery, name):
    shown = page(gallery / f"{name}.html")
    shown.evaluate("document.querySelector('#last').click()")
    shown.wait("document.querySelectorAll('.rank.whole').length === document.querySelectorAll('.rank').length")
