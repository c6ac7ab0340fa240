"""The pages of `explain --all` as people see them: quiet, readable, reached by keys, without a request to a network."""

import pytest
from interpreters import FULL

from allreduce_bench.algorithms import builtin

LOOKS = pytest.mark.parametrize("look", [{}, {"width": 390, "dark": True}], ids=str)
PAGES = ("index", "ring", "hierarchical_ring", "two_tree")
LEAST_CONTRAST, LEAST_LETTERS_PX = 4.5, 11.0


@pytest.mark.parametrize("name", PAGES)
@LOOKS
def test_a_page_is_quiet_readable_and_reached_by_keys(page, site_pages, name, look):
    shown = page(site_pages / f"{name}.html").emulate(**look)
    assert shown.console() == shown.requests() == []
    assert shown.wider() == []
    letters = shown.letters()
    assert [one for one in letters if one["contrast"] < LEAST_CONTRAST or one["px"] < LEAST_LETTERS_PX - 0.05] == []
    assert [one["name"] for one in shown.tabs() if not one["seen"]] == []


@pytest.mark.parametrize("name", PAGES if FULL else PAGES[:2])
@LOOKS
def test_axe_finds_nothing(page, site_pages, axe, name, look):
    assert page(site_pages / f"{name}.html").emulate(**look).axe() == []


def test_a_reader_walks_through_all_algorithms(page, site_pages):
    shown = page(site_pages / "index.html")
    seen, file = [], shown.evaluate("document.querySelector('.cards a').getAttribute('href')")
    while file not in seen:
        seen.append(file)
        file = page(site_pages / file).evaluate("document.querySelector('a[rel=next]').getAttribute('href')")
    assert sorted(seen) == [f"{name}.html" for name in builtin()]


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_plays_to_its_end(page, site_pages, name):
    shown = page(site_pages / f"{name}.html")
    shown.evaluate("document.querySelector('#last').click()")
    shown.wait("document.querySelector('.moment.now .whole')")
