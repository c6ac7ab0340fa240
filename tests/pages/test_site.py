"""The folder of pages: links lead somewhere, nothing is loaded from a network, tables are those of the schedules."""

import re
from errno import ENOSPC
from pathlib import Path

import pytest
from markupsafe import escape
from parsed_page import ParsedPage as Page

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages import site
from allreduce_bench.pages.site import SiteError, paragraphs, write_site
from allreduce_bench.pages.teaching import FIRST
from allreduce_bench.schedule.algorithm import AlgorithmError
from allreduce_bench.web import policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "deep" / "site"
    assert write_site(path, 4) == path / "index.html"
    return path


@pytest.fixture(scope="module")
def texts(folder) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_there_is_a_page_for_every_algorithm_and_no_other_file(texts):
    expected = {"index.html", *(f"{name}.html" for name in builtin())}
    assert {*texts} == expected


def test_every_link_leads_to_a_place_of_the_pages(texts):
    parsed = {name: Page(text) for name, text in texts.items()}
    linked = set()
    for name, page in parsed.items():
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
        for target in page.values("href"):
            file, _, place = target.partition("#")
            assert (file or name) in parsed, f"{name}: {target}"
            assert not place or place in parsed[file or name].values("id"), f"{name}: {target}"
            linked.add(file)
    assert linked >= {*texts}


def test_nothing_is_loaded_and_nothing_foreign_runs(texts):
    for name, text in texts.items():
        assert not re.search(r"https?://|@import|url\(", text.replace("http://www.w3.org/2000/svg", "")), name
        page = Page(text)
        assert not page.values("src") and not page.values("style"), name
        (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        (declared,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
        assert declared == policy([style], scripts), name
        assert bool(scripts) == (name.removesuffix(".html") in builtin())


def test_all_are_compared_at_two_sizes(texts):
    rows = re.findall(r'<tr><th scope="row">(\w+)</th><td>(\d+)</td><td>(.*?)</td>', texts["index.html"])
    assert sorted(name for name, *_ in rows) == [*builtin()]
    assert ("ring", "6", "30.0 us") in rows and rows[0][:2] in (("bine_lat", "2"), ("recursive_doubling", "2"))


def test_four_algorithms_come_first_with_a_picture_and_the_rest_is_folded(texts):
    first, folded, _ = texts["index.html"].split("<details>")
    names = re.findall(r'<a href="(\w+)\.html">', first)
    assert names == [*FIRST] and first.count("<svg") == 4
    assert {*names, *re.findall(r'<a href="(\w+)\.html">', folded)} == {*builtin()}


def test_pages_of_algorithms_tell_what_a_reader_asks(texts):
    for name, own in builtin().items():
        text = texts[f"{name}.html"]
        assert '<h2 id="idea">' in text and "Same bits on all ranks: " in text
        assert text.count(str(escape(own.formula))) == 1 and str(escape(own.why)) in text
        assert f"<h1>{name} on 4 ranks</h1>" in text and 'id="panel-0"' in text
    assert "Patarasuk and Yuan" in texts["ring.html"]


@pytest.mark.parametrize("name", builtin())
def test_no_word_of_a_docstring_is_lost(name):
    own = builtin()[name]
    assert own.best and own.source
    assert " ".join(part.text for part in paragraphs(own.doc)).split() == own.doc.split()


def test_a_drawing_keeps_its_lines():
    (drawn,) = [part for part in paragraphs(builtin()["ring"].doc) if part.drawn]
    assert drawn.text.splitlines()[0].startswith("round") and len(drawn.text.splitlines()) == 5
    assert paragraphs("") == []


def test_more_ranks_than_a_picture_shows_are_refused(tmp_path):
    with pytest.raises(AlgorithmError, match="at most 32 ranks"):
        write_site(tmp_path / "site", 33)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_refused_and_stays(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("site", "dangling"):
        with pytest.raises(SiteError, match="exists"):
            write_site(tmp_path / name, 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "site"]


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def broken():
        yield "index.html", "half"
        raise OSError(ENOSPC, "disk full")

    monkeypatch.setattr(site, "pages", lambda *_: broken())
    with pytest.raises(OSError, match="disk full: .*site"):
        write_site(tmp_path / "site", 4)
    assert not list(tmp_path.iterdir())
