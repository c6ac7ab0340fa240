"""The pages of `explain --all` as a whole: every link leads to a page and a place in it, and print fits on paper."""

import pytest

from allreduce_bench.algorithms import builtin

PAPER_PX = 718  # A4 within Chromium's margins; what is wider is printed smaller, and then cut
LINKS = """[...document.querySelectorAll('a[href]')].map(e => {
  const url = new URL(e.href); return [url.href.split('#')[0], decodeURIComponent(url.hash.slice(1))];
})"""


def test_every_link_leads_somewhere(page, site_pages):
    anchors, asked = {}, set()
    paths = sorted(site_pages.glob("*.html"))
    for path in paths:
        shown = page(path)
        assert shown.console() == shown.requests() == [], path.name
        anchors[path.as_uri()] = set(shown.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        asked |= {tuple(link) for link in shown.evaluate(LINKS)}
    assert {path.stem for path in paths} >= {"index", *builtin()}
    assert {address for address, _ in asked} == anchors.keys()  # every page is linked, and nothing else is
    assert [link for link in asked if link[1] and link[1] not in anchors[link[0]]] == []


@pytest.mark.parametrize("name", ["index", "two_tree"])
def test_nothing_is_cut_in_print(page, site_pages, name):
    assert page(site_pages / f"{name}.html").emulate(width=PAPER_PX, media="print").wider() == []
