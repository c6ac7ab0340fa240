"""Maps of winners: what they show is what the frames say, and nothing more."""

import pytest
from drawn_maps import cells_of, texts_of
from matplotlib.patches import Rectangle

from allreduce_bench.report import figures

ALGORITHMS = ("native", "ring", "two_tree", "recursive_doubling")
SIZES = (8, 1024, 65536, 1 << 20)
RANKS = (2, 4, 8)


def test_winners_are_those_of_the_summary(rows):
    won = figures.winners(rows).set_index(["ranks", "size_bytes"])
    ranked = rows[rows["standing"].notna()]
    lowest = ranked.loc[ranked.groupby(["ranks", "size_bytes"])["time_s"].idxmin()].set_index(["ranks", "size_bytes"])
    assert (8, 1 << 20) not in won.index  # one algorithm alone wins nothing
    assert len(won) == len(RANKS) * len(SIZES) - 1
    for key, row in won.iterrows():
        assert row["lowest"] == lowest.loc[key, "competitor"] and row["time_s"] == lowest.loc[key, "time_s"]
        assert row["standing"] == lowest.loc[key, "standing"]
        assert row["winner"] == (row["lowest"] if row["standing"] == "fastest" else "")
    large = won.loc[(4, 1 << 20)]
    assert large["winner"] == "ring" and large["over"] == "native" and large["speedup"] == pytest.approx(3, rel=0.1)
    small = won.loc[(4, 8)]  # alike but for the noise
    assert small["winner"] == "" and small["lowest"] in ("native", "recursive_doubling")


def test_speedup_of_native_is_over_the_second(rows):
    won = figures.winners(rows[rows["competitor"].isin(["native", "two_tree"])])
    assert set(won["over"]) == {"two_tree"} and (won["speedup"] > 1).all()
    without = figures.winners(rows[rows["competitor"] != "native"])
    assert "native" not in set(without["over"]) and (without["speedup"] >= 1).all()


def test_map_has_the_colours_of_the_other_figures_and_grey_where_nobody_wins(rows):
    won = figures.winners(rows)
    figure = figures.winner_map(rows, won)
    (axes,) = figure.axes
    drawn, styled = cells_of(axes), figures.styles(rows["competitor"])
    assert len(drawn) == len(won) and (SIZES.index(1 << 20), RANKS.index(8)) not in drawn
    for row in won.to_dict("records"):
        shape = drawn[SIZES.index(row["size_bytes"]), RANKS.index(row["ranks"])]
        colour = styled[row["winner"]]["color"] if row["winner"] else "#d5ead9" if row["gains"] else "#d9d9d9"
        assert shape.get_facecolor() == Rectangle((0, 0), 1, 1, facecolor=colour).get_facecolor()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["2", "4", "8"]
    assert axes.get_xlabel() and axes.get_ylabel() and {"3.0"} & texts_of(axes) and {"?", "="} & texts_of(axes)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"ring", "no winner", "nothing to compare"} <= labels


def test_where_several_are_equal_and_native_is_slower_the_map_says_by_how_much(rows):
    same = rows[rows["ranks"] == 4].assign(
        standing=rows["competitor"].map(lambda name: "slower" if name == "native" else "equal")
    )
    same["time_s"] = same["competitor"].map(lambda name: 3e-5 if name == "native" else 2e-5)
    won = figures.winners(same)
    assert won["gains"].all() and {*won["winner"]} == {""}
    (axes,) = figures.winner_map(same, won).axes
    assert {"= 1.5"} <= texts_of(axes)
    assert not figures.winners(same.assign(standing="equal"))["gains"].any()


def test_one_number_of_ranks_is_one_row(rows):
    one = rows[rows["ranks"] == 4]
    (axes,) = figures.winner_map(one, figures.winners(one)).axes
    assert len(axes.get_yticks()) == 1


def test_one_algorithm_has_no_map(rows):
    ring = rows[rows["competitor"] == "ring"]
    assert figures.winner_map(ring, figures.winners(ring)) is None
