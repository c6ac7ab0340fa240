"""The statistics of the calls on the page: what is known, and no empty column."""

from made_runs import build_run

from allreduce_bench.report.page import write_report


def test_the_page_has_a_table_of_calls_with_only_what_is_known(tmp_path):
    def page(name: str, **told) -> str:
        folder = build_run(tmp_path / name, ranks=(2,), timed=40, **told)
        return write_report([folder], tmp_path / f"{name}.html").read_text()

    full = page("full")
    for words in (">Statistics</h2>", "<summary>2 ranks: 15 cells</summary>", ">p95 (µs)<", ">lag-1<"):
        assert words in full
    assert ">invalid<" not in full and ">p99.9 (µs)<" not in full
    none = page("none", outcome=lambda launch, cell: {"state": "skipped", "reason": "no memory"})
    assert "Statistics" not in none
