"""The page as a file: complete without its script, nothing from a network, nothing executed but its own."""

import json
import re
from html.parser import HTMLParser

import pytest

from allreduce_bench.pages.page import page
from allreduce_bench.web import policy

TWO = ["ring", "two_tree"]
CASES = [("ring", 16), ("two_tree", 16), ("hierarchical_ring", 16), ("rabenseifner", 16), ("naive", 16), ("tree", 16)]


def text_of(html: str) -> str:
    """What is read where no script runs."""
    seen: list[str] = []
    parser = HTMLParser()
    parser.handle_data = seen.append  # type: ignore[method-assign]
    parser.feed(re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL))
    return " ".join(" ".join(seen).split())


def test_the_rounds_of_the_classic_ring_are_pictures_with_words():
    text = text_of(page(["ring"], 4))
    rounds = re.split(r"Round \d of 6: receivers \w+|The end: every rank holds every sum", text)
    assert "0 → 1: a1, adds it: a1+b1 1 → 2: b2, adds it: b2+c2" in rounds[1]
    assert "0 → 1: d4+a4, adds it: d4+a4+b4 1 → 2: a1+b1, adds it" in rounds[2]
    assert "0 → 1: S2, keeps it" in rounds[4] and len(rounds) == 8
    assert "0 S1 S2 S3 S4 1 S1 S2" in rounds[7]
    assert "6 rounds, 156 us for 1 MiB at α = 5.00 us a message, 100 Gbit/s" in rounds[0]
    assert "Why 6 rounds?" in text and "Why trees at 8 B, and rings at 16 MiB?" in text


@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_a_page_is_one_small_file_that_asks_nothing_of_a_network(name, ranks):
    html = page([name], ranks)
    assert len(html.encode()) <= 400_000
    without_names = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|<link|<img|\bsrc=|@import|url\(|\sstyle=|\son\w+=", without_names)


def test_the_policy_is_that_of_the_style_and_the_script():
    html = page(["tree"], 5)
    styles, scripts = (re.findall(rf"<{name}>(.*?)</{name}>", html, re.DOTALL) for name in ("style", "script"))
    said = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert said and said[1].replace("&#39;", "'") == policy(styles, scripts)


@pytest.mark.parametrize("ranks", [1, 2, 32])
@pytest.mark.parametrize("name", ["ring", "two_tree"])
def test_few_and_many_ranks(name, ranks):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page([name], ranks))
    assert data and json.loads(data[1])["ranks"] == ranks


def test_two_algorithms_stand_on_one_page():
    text = text_of(page(TWO, 4))
    assert "rounds of ring?" in text and "rounds of two_tree?" in text and text.count("Round 1 of") == 2


def test_an_algorithm_of_a_hostile_name_is_text(tmp_path):
    file = tmp_path / "mine.py"
    ring = "from allreduce_bench.algorithms.ring import ring\n"
    formula = '"</script><img src=x onerror=alert(1)>"'
    file.write_text(
        f"{ring}mine = ring._replace(name='<b onclick=alert(1)>', formula={formula}, summary={formula}, "
        "module=__name__)\n",
        encoding="utf-8",
    )
    html = page([str(file)], 3)
    assert "<img" not in html and "<b onclick" not in html
    assert "&lt;b onclick" in html and "\\u003cb onclick" in html


def test_two_algorithms_are_compared_on_the_same_nodes_each_at_its_best():
    html = page(["ring", "hierarchical_ring"], 16)
    assert html.count("Nodes and ranks of each: 4x4") == 2
    alone, beside = (re.findall(r'class="total">([^<]+)<', page(names, 16))[-1] for names in (["two_tree"], TWO))
    assert (alone, beside) == ("610 us", "387 us")
    assert ", at most</p>" in page(["two_tree"], 4) and ", exact</p>" in page(["ring"], 4)


def test_an_own_algorithm_is_marked_among_those_that_come_first(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from allreduce_bench.algorithms.ring import ring\nmine = ring._replace(name='mine', module=__name__)\n"
    )
    assert '<tr class="this"><th scope="row">mine</th><td>6</td>' in page([str(file)], 4)
