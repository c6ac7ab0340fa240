"""Maps of winners, models beside times, time over ranks: what they show is what the frames say, and nothing more."""

import numpy as np
import pytest
from hand_models import hand_model, hand_models
from made_runs import ALPHA_S, build_run
from matplotlib.patches import Rectangle

from allreduce_bench.evaluation import frames
from allreduce_bench.models.curves import at, choices, held, over_ranks
from allreduce_bench.report import figures

ALGORITHMS = ("native", "ring", "two_tree", "recursive_doubling")
SIZES = (8, 1024, 65536, 1 << 20)
RANKS = (2, 4, 8)


def factor(launch, cell):
    """Ring thrice as fast at 1 MiB; native and recursive doubling are equal at 8 B."""
    return 0.33 if cell.algorithm == "ring" and cell.count * 4 == 1 << 20 else 1.0


def unmeasured(launch, cell):
    """At 8 ranks only ring got as far as 1 MiB."""
    return None if launch.ranks == 8 and cell.count * 4 == 1 << 20 and cell.algorithm != "ring" else {}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    fields = {"algorithms": ALGORITHMS, "sizes": SIZES, "ranks": RANKS}
    return frames.summary([build_run(folder, **fields, factor=factor, outcome=unmeasured)])


@pytest.fixture(scope="module")
def models():
    return hand_models(ALGORITHMS, RANKS)


def cells_of(axes) -> dict[tuple[int, int], Rectangle]:
    """(column, row) -> the rectangle drawn there."""
    return {(round(one.get_x() + 0.5), round(one.get_y() + 0.5)): one for one in axes.patches}


def texts_of(axes) -> set[str]:
    return {text.get_text() for text in axes.texts}


def test_winners_are_those_of_the_summary(rows):
    won = figures.winners(rows).set_index(["ranks", "nbytes"])
    best = rows[rows["rank_of_best"] == "best"].set_index(["ranks", "nbytes"])
    assert (8, 1 << 20) not in won.index  # one algorithm alone wins nothing
    assert len(won) == len(RANKS) * len(SIZES) - 1
    for key, row in won.iterrows():
        assert row["winner"] == best.loc[key, "algorithm"] and row["time_s"] == best.loc[key, "time_s"]
    large = won.loc[(4, 1 << 20)]
    assert large["winner"] == "ring" and large["over"] == "native" and large["speedup"] == pytest.approx(3, rel=0.1)
    assert large["ties"] == ""
    small = won.loc[(4, 8)]  # alike but for the noise
    assert {small["winner"], *small["ties"].split()} == {"native", "recursive_doubling"}


def test_speedup_of_native_is_over_the_second(rows):
    won = figures.winners(rows[rows["algorithm"].isin(["native", "two_tree"])])
    assert set(won["over"]) == {"two_tree"} and (won["speedup"] > 1).all()
    without = figures.winners(rows[rows["algorithm"] != "native"])
    assert "native" not in set(without["over"]) and (without["speedup"] >= 1).all()


def test_map_has_the_colours_of_the_other_figures_hatched_ties_and_blanks(rows):
    won = figures.winners(rows)
    figure = figures.winner_map(rows, won)
    (axes,) = figure.axes
    drawn, styled = cells_of(axes), figures.styles(rows["algorithm"])
    assert len(drawn) == len(won) and (SIZES.index(1 << 20), RANKS.index(8)) not in drawn
    for row in won.to_dict("records"):
        shape = drawn[SIZES.index(row["nbytes"]), RANKS.index(row["ranks"])]
        expected = Rectangle((0, 0), 1, 1, facecolor=styled[row["winner"]]["color"]).get_facecolor()
        assert shape.get_facecolor() == expected
        assert bool(shape.get_hatch()) == bool(row["ties"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["2", "4", "8"]
    assert axes.get_xlabel() and axes.get_ylabel() and "3.0" in texts_of(axes)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"ring", "tied with another\n(95 %)", "nothing to compare"} <= labels


def test_one_number_of_ranks_is_one_row(rows):
    one = rows[rows["ranks"] == 4]
    (axes,) = figures.winner_map(one, figures.winners(one)).axes
    assert len(axes.get_yticks()) == 1


def test_one_algorithm_has_no_map(rows):
    ring = rows[rows["algorithm"] == "ring"]
    assert figures.winner_map(ring, figures.winners(ring)) is None
    assert figures.choice_map(ring, choices(ring, held(ring, [hand_model("ring", RANKS)]))) is None


def test_models_lie_beside_the_times_that_they_were_made_of(rows, models):
    compared = held(rows, models)
    timed = rows[rows["time_s"].notna()]
    assert len(compared) == len(timed)
    true = compared[
        (compared["algorithm"] == "recursive_doubling")
        | ((compared["algorithm"] == "ring") & (compared["nbytes"] < 1 << 20))
    ]
    assert true["ratio"].to_numpy() == pytest.approx(1, abs=0.05)
    assert (compared["ratio"] * compared["time_s"]).to_numpy() == pytest.approx(compared["model_s"].to_numpy())


def test_regret_is_the_price_of_believing_the_models(rows, models):
    chosen = choices(rows, held(rows, models)).set_index(["ranks", "nbytes"])
    assert (chosen["regret"] >= 1).all() and set(chosen.loc[chosen["regret"] > 1, "fastest"]) <= {*ALGORITHMS}
    assert chosen.index.tolist() == [(p, n) for p in RANKS for n in SIZES if (p, n) != (8, 1 << 20)]
    wrong = [*models[1:], hand_model("native", RANKS, factor=9.0, priced_as="recursive_doubling")]
    assert "native" not in set(choices(rows, held(rows, wrong))["chosen"])
    only = held(rows, [model for model in models if model.algorithm in ("native", "two_tree")])
    late = choices(rows, only).set_index(["ranks", "nbytes"]).loc[(2, 1 << 20)]
    times = rows[(rows["ranks"] == 2) & (rows["nbytes"] == 1 << 20)].set_index("algorithm")["time_s"]
    assert late["fastest"] == "ring" and late["chosen"] in ("native", "two_tree")
    assert late["regret"] == pytest.approx(times[late["chosen"]] / times["ring"])


def test_choices_beside_winners(rows, models):
    chosen = choices(rows, held(rows, models))
    left, right = figures.choice_map(rows, chosen).axes
    assert len(cells_of(left)) == len(cells_of(right)) == len(chosen)
    assert not any(one.get_hatch() for one in right.patches)
    assert len(texts_of(right) - {""}) <= (chosen["fastest"] != chosen["chosen"]).sum()


def test_residuals_show_the_ratio_of_model_to_time(rows, models):
    compared = held(rows, models[1:3])
    figure = figures.fitted(compared)
    above = next(axes for axes in figure.axes if axes.get_title() == "ring")
    below = next(axes for axes in figure.axes if "measured" in axes.get_ylabel())
    assert "us" in above.get_ylabel() and below.get_xlabel() == "size of the vector"
    drawn = np.concatenate([line.get_ydata() for line in below.lines if len(line.get_ydata()) == len(SIZES)])
    ring = compared[compared["algorithm"] == "ring"]
    assert set(np.round(drawn, 9)) == set(np.round(ring["ratio"], 9))
    low, high = below.get_ylim()
    assert low < compared["ratio"].min() and compared["ratio"].max() < high and low * high == pytest.approx(1)
    assert figures.fitted(held(rows, [])) is None


def test_curves_reach_beyond_the_measured_ranks_and_say_where_they_speculate(models):
    curves = over_ranks(models, [8])
    ring = curves[curves["algorithm"] == "ring"].set_index("ranks")
    assert list(ring.index) == [2, 4, 8, 16, 32]
    assert ring["measured"].tolist() == [True, True, True, False, False]
    assert ring["speculative"].tolist() == [False] * 4 + [True]
    assert ring.loc[32, "model_s"] == pytest.approx(2 * 31 * ALPHA_S, rel=0.01)
    width = ring["high_s"] / ring["low_s"]
    assert width[8] == pytest.approx(np.exp(0.3)) and width[32] > width[16] > width[8]


def test_a_model_of_one_number_of_ranks_has_no_curve():
    assert over_ranks([hand_model("ring", (4,))], [8]).empty


def test_what_cannot_run_is_not_predicted(monkeypatch):
    from allreduce_bench.algorithms import Algorithm

    monkeypatch.setattr(Algorithm, "unmet", lambda self, size, topology: "needs 4" if size != 4 else None)
    assert at(hand_model("ring"), 8, None, 8) is None and at(hand_model("ring"), 4, None, 8) is not None


def test_time_over_ranks_at_three_sizes(rows, models):
    assert figures.some_sizes(rows) == [8, 65536, 1 << 20]
    curves = over_ranks(models, figures.some_sizes(rows))
    figure = figures.over_ranks(rows, curves)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["8 B", "64 KiB", "1 MiB"]
    for axes in panels:
        assert axes.get_xscale() == "log" and axes.get_xlabel() == "ranks" and "speculative" in texts_of(axes)
        assert axes.get_xlim()[1] >= 32
    plain = figures.over_ranks(rows, over_ranks([], [8]))
    assert not any("speculative" in texts_of(axes) for axes in plain.axes)


def test_one_number_of_ranks_has_no_time_over_ranks(rows):
    one = rows[rows["ranks"] == 4]
    assert figures.some_sizes(one) == []
    assert figures.over_ranks(one, over_ranks([], [8])) is None
