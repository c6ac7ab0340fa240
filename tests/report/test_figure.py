"""Every figure of the page declares itself, and is found."""

import pytest
from hand_models import hand_models
from made_runs import build_run

from allreduce_bench.evaluation.summary import summary
from allreduce_bench.report.figure import MODELS, RUNS, TIMES, FigureData, tick_words
from allreduce_bench.report.figures import report_figures

ORDER = {TIMES: ["speedup", "latency", "bus_bandwidth", "winners"], MODELS: ["models", "ranks"]}
ORDER[RUNS] = ["runs"]


@pytest.mark.parametrize("section", ORDER)
def test_the_page_has_these_figures_in_this_order(section):
    stems = [figure.stem for figure in report_figures(section)]
    assert [stem for stem in stems if stem in ORDER[section]] == ORDER[section] and len(stems) == len(set(stems))


def test_figures_share_what_is_made_of_a_run(tmp_path):
    frame = summary([build_run(tmp_path / "a", sizes=(8, 1024), ranks=(2,), factor=lambda *_: 1.2)])
    data = FigureData(frame, hand_models(("native", "ring", "two_tree")))
    assert set(data.least) == {2} and set(data.limits["ranks"]) == {2} and data.bounded["bound_s"].notna().all()
    assert data.compared is data.compared and set(data.compared["competitor"]) == {"native", "ring", "two_tree"}
    assert "smallest fitted" in data.bound_sentence


def test_ticks_name_their_units():
    assert [tick_words(us, "us") for us in (0, 0.5, 5, 10, 1e4, 2e6)] == [
        "0",
        "500 ns",
        "5 us",
        "10 us",
        "10 ms",
        "2 s",
    ]
    assert [tick_words(rate, "GB/s") for rate in (5e-6, 1e-5, 0.025, 12)] == ["5 kB/s", "10 kB/s", "25 MB/s", "12 GB/s"]
    assert tick_words(1.5, "") == "1.5"
