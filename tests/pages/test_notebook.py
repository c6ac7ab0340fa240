"""`explain` in a notebook."""

import re

from allreduce_bench.pages.notebook import explain


def test_it_shows_itself_as_a_moving_picture_with_its_text():
    shown = explain("ring", 2)._repr_html_()
    assert '<img alt="ring on 2 ranks, 2 rounds.' in shown and "data:image/svg+xml;base64,PHN2Zy" in shown
    assert "rank 0 (a) sends a1 to rank 1 (b), which adds it" in shown


def test_it_prints_as_the_text_of_the_command():
    assert repr(explain("ring", 3)).startswith("ring on 3 ranks: rank 0 is a, rank 2 is c")


def test_names_of_algorithms_are_escaped(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(
        "from allreduce_bench.algorithms.ring import ring\n"
        "mine = ring._replace(name='<b>\"mine\"', formula='<i>', module=__name__)\n"
    )
    shown = explain(str(own), 2)._repr_html_()
    assert not re.search(r"<b>|<i>", shown) and "&lt;b&gt;&quot;mine&quot; on 2 ranks" in shown
