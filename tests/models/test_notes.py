"""Equal notes of several series are one line."""

from allreduce_bench.models.words import joined_notes


def test_equal_notes_stand_once_in_the_order_of_their_appearance():
    notes = joined_notes([("ring", ["crowded", "off by 4"]), ("tree", ["off by 5", "crowded"])])
    assert notes == ["ring, tree: crowded", "ring: off by 4", "tree: off by 5"]


def test_what_holds_for_all_of_many_series_does_not_name_them():
    assert joined_notes([(name, ["crowded"]) for name in "abc"]) == ["all series: crowded"]
    assert joined_notes([("a", ["crowded"]), ("b", []), ("c", ["crowded"])]) == ["a, c: crowded"]


def test_no_series_have_no_notes():
    assert joined_notes([]) == []
