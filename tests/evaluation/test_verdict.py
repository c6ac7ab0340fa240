"""Who wins a class of sizes, and when nobody does."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import WON, verdicts
from allreduce_bench.report import verdict_sentence


def rows(tmp_path, factor):
    """Rows of a run whose times are those of the model times `factor(algorithm, nbytes)`; None: no time."""
    found = summarise(build_run(tmp_path / "run", ranks=[4], sizes=(8, 64, 512, 4096)))
    for row in found:
        times = factor(row["algorithm"], row["nbytes"])
        row["time_s"] = None if times is None else 1e-5 * times
    for nbytes in (8, 64, 512, 4096):
        group = [row for row in found if row["nbytes"] == nbytes and row["time_s"]]
        best = min(group, key=lambda row: row["time_s"])
        for row in group:
            row["rank_of_best"] = "best" if row is best else None
    return found


def sentence(found) -> str:
    (verdict,) = verdicts(found)
    return verdict_sentence.sentence(verdict)


def test_the_fastest_at_every_size_wins(tmp_path):
    found = rows(tmp_path, lambda name, nbytes: {"ring": 1.0, "native": 2.0}.get(name, 3.0))
    assert sentence(found).startswith("ring, on average 2.00 times faster than native")


def test_whoever_is_clearly_beaten_at_some_size_does_not_win(tmp_path):
    def factor(name, nbytes):
        return {"native": 1.0 if nbytes == 8 else 9.0, "ring": 2.0}.get(name, 20.0)

    assert sentence(rows(tmp_path, factor)) == "no single winner: native at 8 B, ring from 64 B to 4 KiB"


@pytest.mark.parametrize("lucky", ["two_tree", "native"])
def test_a_size_that_few_algorithms_have_does_not_decide(tmp_path, lucky):
    def factor(name, nbytes):
        if nbytes == 4096:
            return 0.1 if name == lucky else None
        return {"ring": 1.0}.get(name, 3.0)

    assert sentence(rows(tmp_path, factor)).startswith(
        "ring, on average 3.00 times faster than native, 10.0 us at 512 B"
    )


def test_a_verdict_holds_facts(tmp_path):
    (won,) = verdicts(rows(tmp_path, lambda name, nbytes: {"ring": 1.0, "native": 2.0}.get(name, 3.0)))
    assert (won.kind, won.winner, won.rival, won.size_count, won.nbytes) == (WON, "ring", "native", 4, 4096)
    assert won.factor == pytest.approx(2.0) and won.time_s == pytest.approx(1e-5)
