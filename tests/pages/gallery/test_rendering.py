"""What all pages of the gallery have: where they stand among the others, and the looks of algorithms."""

import re

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import contrast
from allreduce_bench.pages.gallery.site import render, shared


def test_every_algorithm_has_its_own_look():
    look = shared("index.html", "title")["look"]
    assert [*look.colours] == [*look.codes] == [*builtin()]
    assert len(set(look.colours.values())) == len(builtin())
    assert all(contrast(colour, "#ffffff") >= 4.5 for colour in look.colours.values())  # of the letters on it
    assert len(set(look.dashes.values())) == len(look.dashes)


def test_a_page_says_where_it_stands_and_escapes_what_it_shows():
    text = render("glossary", "<b>title</b>", sections=[])
    assert re.findall(r'<a href="([^"]+)" aria-current="page">', text) == ["glossary.html"]
    assert "<b>" not in text and "&lt;b&gt;title" in text
