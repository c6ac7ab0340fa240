"""The library's own choice in the launches of forced algorithms: a line beside the others, ranked nowhere."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.competing import competing, defaults
from allreduce_bench.evaluation.summary import summarise, summary_frame
from allreduce_bench.report.pictures import time_pictures
from allreduce_bench.runs.cell import ALL_FORCED
from allreduce_bench.runs.competitor import FORCED_DEFAULT

ALGORITHMS = ("native", FORCED_DEFAULT, "native:ring", "ring")
LABEL = f"{FORCED_DEFAULT}, not ranked"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    path = tmp_path_factory.mktemp("forced") / "run"
    folder = build_run(path, algorithms=ALGORITHMS, ranks=(2,), choices={"forced_launches": (ALL_FORCED,)})
    rows = summarise(folder)
    frame, beside = (summary_frame(some, "run") for some in (competing(rows), defaults(rows)))
    drawn = {sketch.stem: sketch.draw() for sketch in time_pictures(frame, [], defaults=beside)}
    return {stem: picture for stem, picture in drawn.items() if picture}  # no energy was counted


@pytest.mark.parametrize("stem", ["latency", "bus_bandwidth"])
def test_it_is_a_line_that_says_it_is_not_ranked(pictures, stem):
    picture = pictures[stem]
    (legend,) = picture.figure.legends
    assert LABEL in [text.get_text() for text in legend.get_texts()] and LABEL in picture.live.looks
    assert LABEL in [series.name for series in picture.live.panels[0].series]
    assert f"{FORCED_DEFAULT}: the library's" in picture.caption
    assert set(picture.numbers["competitor"]) == {*ALGORITHMS}


def test_where_algorithms_are_compared_it_is_missing(pictures):
    for stem in {*pictures} - {"latency", "bus_bandwidth"}:
        assert not isinstance(pictures[stem], str) and FORCED_DEFAULT not in str(pictures[stem].live)
