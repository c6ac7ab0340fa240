"""The glossary as values: every row of the documentation's tables, and the words of other articles."""

import pytest

from allreduce_bench.pages.gallery import site
from allreduce_bench.pages.gallery.site import GlossaryError, glossary_text, pieces, sections


def test_every_row_of_the_page_is_a_term():
    text = glossary_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and line[2:6] not in ("term", "--- ")]
    found = sections(text)
    assert sum(len(section.terms) for section in found) == len(rows) > 50
    anchors = [term.anchor for section in found for term in section.terms]
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize("word", ["share-reduce", "share-only", "scatter-reduce", "GPU", "chunk", "single master"])
def test_words_of_other_articles_are_explained(word):
    assert any(word in piece.text for term in sections(glossary_text())[-1].terms for piece in term.term)


def test_links_lose_their_targets_and_code_is_told_apart():
    (section,) = sections("## Title\n\n| term | meaning |\n| --- | --- |\n| a | see [page](x.md) and `code`. |\n")
    (term,) = section.terms
    assert [tuple(piece) for piece in term.meaning] == [("see page and ", False), ("code", True), (".", False)]
    assert pieces("") == ()


def test_a_missing_file_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(site, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    monkeypatch.setattr(site.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(site.site, "getuserbase", lambda: str(tmp_path))
    with pytest.raises(GlossaryError, match="reinstall"):
        glossary_text()
    installed = tmp_path / "share" / "allreduce-bench" / "docs"
    installed.mkdir(parents=True)
    (installed / "glossary.md").write_text("# here")
    assert glossary_text() == "# here"
