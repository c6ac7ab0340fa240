"""Skew over time and the map of ranks and steps."""

import numpy as np
from made_arrivals import judgement

from allreduce_bench.stragglers.section import MOST_COLUMNS, MOST_ROWS, bin_lateness, draw_arrivals, lateness
from allreduce_bench.stragglers.sentences import judge_arrivals


def drawn(**choices):
    one = judgement(**choices)
    return one, draw_arrivals(one.arrivals, one.report)


def test_the_map_has_the_latest_rank_in_its_row():
    one, drawing = drawn(steps=50)
    above, below = drawing.figure.axes[:2]
    (image,) = below.get_images()
    assert image.get_array().shape == (8, 50) and image.get_array().mean(axis=1).argmax() == 5
    assert np.allclose(above.lines[0].get_ydata(), one.report.skew_s * 1e3, rtol=1e-6) or "s" in above.get_ylabel()
    late = drawing.numbers.pivot(index="step", columns="rank", values="late_s").to_numpy()
    assert np.allclose(late, lateness(one.arrivals))


def test_many_ranks_and_steps_are_put_together_and_it_is_said():
    one, drawing = drawn(ranks=300, steps=900, slow=299)
    assert len(drawing.numbers) == 100 * 300 <= MOST_ROWS * MOST_COLUMNS
    assert "neighbouring steps" in drawing.caption.lower()
    assert "neighbouring ranks" in drawing.caption
    shown = bin_lateness(lateness(one.arrivals))
    assert np.nanmedian(shown[-1]) > np.nanmedian(shown[0])


def test_what_is_not_known_is_grey_and_nothing_draws_nothing():
    one = judgement(steps=30)
    one.arrivals.ready_s[:, 2] = np.nan
    image = draw_arrivals(one.arrivals, one.report).figure.axes[1].get_images()[0]
    assert image.get_array().mask[2].all() and not image.get_array().mask[3].any()
    one.arrivals.ready_s[:] = np.nan
    assert draw_arrivals(one.arrivals, one.report) is None


def test_every_place_of_the_map_stands_for_as_many_steps():
    one, drawing = drawn(ranks=8, steps=601, from_step=400, by=0.5)
    steps = sorted(set(drawing.numbers["step"]))
    assert steps == list(range(0, 601, 2))
    (image,) = drawing.figure.axes[1].get_images()
    assert image.get_extent() == [0, 602, 7.5, -0.5]
    late = drawing.numbers[drawing.numbers["rank"] == 5].set_index("step")["late_s"]
    assert late[late.index < 400].median() < 0.1 and late[late.index >= 400].min() > 0.3


def test_a_slow_group_has_one_label():
    made = judgement(ranks=64, slow=None).arrivals
    made.ready_s[:, 16:48] += 0.3
    one = judge_arrivals("", made)
    axes = draw_arrivals(one.arrivals, one.report).figure.axes[1]
    assert [text.get_text() for text in axes.texts] == ["slow group"] and one.report.groups
