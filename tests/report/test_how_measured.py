"""What a report says of how calls were begun and how right the clock was, from the facts of the launches."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.how_measured import _checks_text, describe_method

CLOCK = {"method": "a tree", "error_start_s": 1e-6, "error_end_s": 2e-6, "drift_ppm": 0.4, "drift_error_ppm": 0.5}


def told(path, facts: dict | None) -> dict[str, str]:
    folder = build_run(path, ranks=(2,), launches=1, sizes=(8,), facts=facts)
    return dict(describe_method(folder.plan(), summarise(folder), folder.attempts()))


def test_the_start_of_calls_its_reason_and_the_clock_are_told(tmp_path):
    words = told(tmp_path / "run", {"sync": {"way": "round_time", "why": "it holds"}, "clock": CLOCK})
    assert words["time of a call"] == (
        "the maximum over ranks of exit - entry; the entry is at a time on the common clock that rank 0 announces"
    )
    assert words["common start"] == "round_time: it holds"
    assert words["common clock"] == "a tree, error at most 2.00 us"
    assert "common clock" not in told(tmp_path / "other", {"clock": {**CLOCK, "error_start_s": None}})


def test_starts_are_told_by_number_of_ranks(tmp_path):
    folder = build_run(tmp_path / "run", ranks=(2,), launches=1)
    (fact,) = folder.attempts()
    starts = ((2, "round_time", "few"), (4, "barrier", "many"), (4, "barrier", "many"))
    facts = [{**fact, "ranks": ranks, "sync": {"way": way, "why": why}} for ranks, way, why in starts]
    words = dict(describe_method(folder.plan(), summarise(folder), facts))
    assert words["common start"] == "round_time: few at 2 ranks; barrier: many at 4 ranks"
    assert "after an MPI_Barrier or at a time on" in words["time of a call"]


def test_what_checks_show_is_told_of_runs_that_counted_them():
    rows = [{"wrong": 0, "checks": 20, "time_s": None}, {"wrong": 2, "checks": 3, "time_s": None}]
    assert _checks_text(rows).startswith("every bit of 23 calls on exact vectors")
    assert "the timed calls of 2 cells: 2 wrong elements" in _checks_text(rows)
    said = _checks_text([{"wrong": 0, "time_s": None}])
    assert "vectors before" in said and "calls of 1 cell: 0 wrong elements" in said


def test_the_order_of_sizes_is_told_where_time_was_limited(tmp_path):
    sets = {"in_haste": True, "size_sets": [[8, 4096], [1 << 20]]}
    assert "allowed: 8 B, 4 KiB; then 1 MiB" in told(tmp_path / "sets", sets)["order of cells"]
    one = {"in_haste": True, "size_sets": [[8, 4096]]}
    assert "every launch" in told(tmp_path / "one", one)["order of cells"]
