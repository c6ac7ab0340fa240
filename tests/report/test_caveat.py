"""The cells without a time, and what they are called."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.caveats import EXACT, ROUNDED, Gap, find_caveats, find_gaps


def row(state: str, size_bytes: int = 8, **fields) -> dict:
    usual = {"state": state, "ranks": 4, "competitor": "ring", "reason": "why", "size_bytes": size_bytes}
    return {**usual, **fields}


def test_cells_that_share_a_reason_are_one_gap_and_failed_ones_come_first():
    rows = [row("skipped"), row("skipped", 1024), row("done"), row("wrong", reason=None)]
    assert find_gaps(rows) == [Gap("wrong", 4, "ring", "8 B", ""), Gap("skipped", 4, "ring", "8 B, 1 KiB", "why")]


def test_results_are_not_called_exact_where_replicas_diverge(tmp_path):
    for same_bits, badge in ((True, EXACT.badge), (False, ROUNDED.badge)):
        run = build_run(
            tmp_path / badge, ranks=(4,), sizes=(8,), outcome=lambda *_, same=same_bits: {"same_bits": same}
        )
        badges = [caveat.badge for caveat in find_caveats(summarise(run), run.attempts())]
        assert badge in badges and len({EXACT.badge, ROUNDED.badge} & {*badges}) == 1


def test_times_below_a_reference_time_are_named(tmp_path):
    folder = build_run(
        tmp_path / "a",
        sizes=(8,),
        ranks=(2,),
        floors=True,
        factor=lambda launch, cell: 0.001 if cell.algorithm == "ring" else 1.0,
    )
    assert "times below a reference time" in {caveat.badge for caveat in find_caveats(summarise(folder), [])}
