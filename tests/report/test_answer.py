"""The first lines of a page: the winner at 1 MiB, whether to believe it, and what to do next."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.report.page import answer, switches

FACTORS = {"native": 1.0, "ring": 0.5, "two_tree": 1.5}


def told(tmp_path, factors=FACTORS, **choices):
    run = build_run(tmp_path / "run", ranks=(2,), launches=5, factor=lambda _, cell: factors[cell.algorithm], **choices)
    rows = summarise(run)
    return rows, verdicts(rows)


def test_the_winner_is_named_with_its_advantage_and_the_advice_is_to_use_it(tmp_path):
    rows, of_run = told(tmp_path)
    found = answer(rows, of_run)
    assert found.sentence.startswith(
        "ring is the fastest at 1 MiB on 2 ranks (53.8 us, 1.99 times as fast as native), "
    )
    assert found.sentence.endswith(
        ", from 64 KiB to 4 MiB 1.63 to 2.00 times as fast as native (1.58 in the worst of 5 launches)."
    )
    assert found.level == "good" and found.advice == "use ring for 64 KiB to 4 MiB on 2 ranks."


@pytest.mark.parametrize(("sizes", "asked"), [((8, 1024), "1 KiB"), ((2 << 20, 4 << 20), "2 MiB")])
def test_where_the_sizes_do_not_reach_a_mebibyte_the_nearest_is_asked_for(tmp_path, sizes, asked):
    assert f"at {asked} on 2 ranks" in answer(*told(tmp_path, sizes=sizes)).sentence


def test_equal_algorithms_are_named_and_nothing_is_to_be_changed(tmp_path):
    found = answer(*told(tmp_path, factors={"native": 1.0, "ring": 1.0, "two_tree": 1.0}))
    assert "No algorithm" in found.sentence
    assert found.sentence.endswith(": native and ring are equal within 5 %.") and found.advice.startswith("keep ")


def test_what_spoils_the_times_is_to_be_mended_first(tmp_path):
    rows, of_run = told(tmp_path, timed=2)
    found = answer(rows, of_run)
    assert found.level == "provisional" and "again before" in found.advice
    assert "use more --iters" in found.advice


def test_without_a_verdict_there_is_no_answer(tmp_path):
    rows = summarise(build_run(tmp_path / "run", ranks=(1,), sizes=(8,)))
    assert answer(rows, verdicts(rows)) is None


def test_a_crossover_lies_where_the_winner_changes(tmp_path):
    def factor(_, cell):
        return 4.0 if cell.algorithm == ("ring" if cell.size_bytes < 16384 else "native") else 1.0

    run = build_run(tmp_path / "run", algorithms=("native", "ring"), ranks=(2,), launches=5, factor=factor)
    ((switch,),) = switches(verdicts(summarise(run))).values()
    assert (switch.low, switch.high) == (1024, 65536) and switch.low < switch.x < switch.high
    assert switch.words.startswith("crossover from native to ring: about ")
