"""Rounds as SVG: pills hide neither boxes nor each other, boxes hold what ranks hold, the file is whole."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from places import ROOT

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.pages.drawing import drawing
from allreduce_bench.pages.layout import WIDTH, layout_of
from allreduce_bench.pages.pictures import Pill, Scene, arrows, labels, moment, pills, round_title, svg, title
from allreduce_bench.schedule.algorithm import AlgorithmError


def scene(algorithm: str, ranks: int, **options) -> Scene:
    drawn = drawing(algorithm, ranks, **options)
    return Scene(drawn, layout_of(drawn))


def placed(found: Scene, number: int) -> list[Pill]:
    return pills(found, arrows(found, number))


def labelled(found: Scene, number: int) -> list[str]:
    return sorted(pill.text for pill in placed(found, number))


@pytest.mark.parametrize("ranks", [2, 6, 13, 16])
@pytest.mark.parametrize("name", builtin())
def test_no_label_covers_a_box_or_another_label(name, ranks):
    found = scene(name, ranks)
    wide, high = found.layout.box_width / 2, found.layout.box_height / 2
    boxes = [(*place, wide, high) for places in found.layout.places for place in places]
    for number in range(len(found.drawing.rounds)):
        areas = [(*pill.at, pill.width / 2, pill.height / 2) for pill in placed(found, number) if pill.text]
        assert all(w <= x <= WIDTH - w and h <= y <= found.layout.height - h for x, y, w, h in areas)
        for one, other in [*combinations(areas, 2), *((area, box) for area in areas for box in boxes)]:
            assert abs(one[0] - other[0]) >= one[2] + other[2] or abs(one[1] - other[1]) >= one[3] + other[3]


@pytest.mark.parametrize(("name", "ranks"), [("ring", 8), ("tree", 16), ("two_tree", 8), ("rabenseifner", 8)])
def test_every_message_has_a_label_where_there_is_room(name, ranks):
    found = scene(name, ranks)
    assert all(pill.text for number in range(len(found.drawing.rounds)) for pill in placed(found, number))


def test_the_classic_sequence_of_a_ring():
    ring = scene("ring", 4)
    assert labelled(ring, 0) == ["a1", "b2", "c3", "d4"]
    assert labelled(ring, 1) == ["a1+b1", "b2+c2", "c3+d3", "d4+a4"]
    assert [labelled(ring, number) for number in (3, 4, 5)] == 3 * [["S1", "S2", "S3", "S4"]]


def test_labels_are_shortened():
    message = drawing("rabenseifner", 8).rounds[1].messages[0]
    assert labels(message, "abcdefgh") == ("a3+b3 a4+b4", "a3+b3 a4+b4", "3–4")
    sums = drawing("ring", 8).rounds[2].messages[0]
    assert [len(form) for form in labels(sums, "abcdefgh")] == [8, 7, 1]


def test_a_message_of_two_trees_travels_in_both():
    found = scene("two_tree", 8)
    first = found.drawing.rounds[0]
    both = first.messages[0]._replace(blocks=(0, 1), content=(frozenset({0}), frozenset({1})))
    drawn = found.drawing._replace(rounds=(first._replace(messages=(both,)),))
    one, other = arrows(found._replace(drawing=drawn), 0)
    assert (one.forms[0], other.forms[0]) == ("a1", "b2") and one.start[1] < other.start[1]


def test_two_opposite_arrows_are_apart():
    there, back, *_ = arrows(scene("recursive_doubling", 2), 0)
    assert abs(there.start[1] - back.start[1]) > 10


def test_arrows_of_what_is_kept_are_dashed_and_who_has_all_sums_is_outlined():
    ring = scene("ring", 4)
    assert "keeps" not in moment(ring, 0) and moment(ring, 3).count("keeps") == 4
    assert [moment(ring, number).count('class="whole"') for number in (0, 5, 6)] == [0, 0, 1]


def test_bars_are_as_high_as_ranks_are_added_up():
    ring = scene("ring", 4)
    high = ring.layout.box_height * 0.26
    for number in range(7):
        bars = re.findall(r'fill="(#\w+)" d="((?:M[\d. ]+v-[\d.]+h[\d.]+v[\d.]+z)+)"', moment(ring, number))
        assert len(bars) == 4
        for block, (_, path) in enumerate(bars):
            shares = [float(tall) / high for tall in re.findall(r"v-([\d.]+)", path)]
            assert shares == pytest.approx([len(held[block]) / 4 for held in ring.held(number)], abs=0.01)


def test_many_blocks_share_a_bar():
    assert moment(scene("ring", 16), 0).count("<path fill") == 1


def test_titles():
    assert title(drawing("ring", 4)) == "ring on 4 ranks, 6 rounds"
    assert title(drawing("naive", 2)) == "naive on 2 ranks, 1 round"
    ring = drawing("ring", 4)
    assert round_title(ring, 0) == "Round 1 of 6: receivers add"
    assert round_title(ring, 3) == "Round 4 of 6: receivers keep"
    assert round_title(ring, 6) == "The end: every rank holds every sum"
    adding, keeping = ring.rounds[0], ring.rounds[3]
    both = adding._replace(messages=adding.messages[:1] + keeping.messages[1:2])
    assert round_title(ring._replace(rounds=(both,)), 0) == "Round 1 of 1: add (solid), keep (dashed)"


@pytest.mark.parametrize(("name", "ranks"), [("ring", 1), ("ring", 4), ("two_tree", 9), ("hierarchical_ring", 32)])
def test_a_file_is_xml_with_a_panel_for_each_round_and_one_for_the_end(name, ranks):
    found = scene(name, ranks)
    root = ElementTree.fromstring(svg(found))
    panels = root.findall("{*}svg")
    assert len(panels) == len(found.drawing.rounds) + 1
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert {element.get("href") for element in root.findall(".//{*}use")} == {f"#{one}" for one in ids}


def test_too_many_rounds_are_refused_in_one_sentence():
    with pytest.raises(AlgorithmError, match="two_tree.*fewer than 100"):
        svg(scene("two_tree", 32, segment=1, count=64))


def test_a_name_of_markup_is_text():
    ring = scene("ring", 2)
    named = ring._replace(drawing=ring.drawing._replace(algorithm="</title><script>"))
    assert "<script>" not in svg(named) and ElementTree.fromstring(svg(named)).findtext("{*}title")


def test_the_command_of_the_readme_makes_its_picture(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    words = re.search(r"allreduce-bench (explain .*-o )ring\.svg ", readme)
    assert words and "](docs/ring.svg)" in readme.split("\n## ")[0]
    assert CliRunner().invoke(main, [*words[1].split(), str(tmp_path / "ring.svg")]).exit_code == 0
    assert (tmp_path / "ring.svg").read_text() == (ROOT / "docs" / "ring.svg").read_text()
