"""Native beside mock-ups: the table divides as its numbers do, and marks what is shown."""

from native_rows import SIZES, linear, native_row

from allreduce_bench.models.guidelines import comparisons
from allreduce_bench.report.native_section import MARK, guideline_lines, guideline_rows, guideline_tables
from allreduce_bench.report.verdict_sentence import printed_factor
from allreduce_bench.runs.cell import MOCKUPS
from allreduce_bench.tables import Screen

REDUCE_BCAST, BLOCK, _ = MOCKUPS


def rows(ranks=4, **more):
    """Reduce + broadcast takes half of native's time, reduce-scatter + allgather twice as long."""
    return [
        native_row(name, nbytes, factor * linear(nbytes), ranks=ranks, state="done", **more)
        for nbytes in SIZES
        for name, factor in (("native", 1.0), (REDUCE_BCAST, 0.5), (BLOCK, 2.0))
    ]


def test_ratios_are_those_of_the_times_and_marks_those_of_the_comparisons():
    made = rows()
    head, *lines = guideline_rows(made, comparisons(made))
    assert head == ["size", "native", "MPI_Reduce + MPI_Bcast", "MPI_Reduce_scatter_block + MPI_Allgather"]
    time_s = {(row["nbytes"], row["algorithm"]): row["time_s"] for row in made}
    for nbytes, line in zip(SIZES, lines, strict=True):
        for name, words in ((REDUCE_BCAST, line[2]), (BLOCK, line[3])):
            ratio = float(words.removesuffix(MARK).split(" x")[1])
            assert abs(ratio - printed_factor((time_s[nbytes, "native"], time_s[nbytes, name]))) <= 0.005
        assert line[2].endswith(MARK) and not line[3].endswith(MARK)


def test_a_time_that_is_missing_has_no_ratio():
    made = rows()
    made[1] |= {"time_s": None, "state": "hung"}
    made[3] |= {"time_s": None, "state": "skipped"}
    lines = guideline_rows(made, [])[1:]
    assert lines[0][2] == "hung" and lines[1][1] == "skipped" and " x" not in lines[1][2]
    assert guideline_rows(made[1:3], [])[1][1] == "-"


def test_large_factors_are_told_only_of_good_times():
    made = [native_row(name, 1024, time_s, state="done") for name, time_s in (("native", 1.0), (REDUCE_BCAST, 0.05))]
    assert 15 < float(guideline_rows(made, [])[1][2].split(" x")[1]) < 25
    assert guideline_rows([{**row, "grade": "provisional"} for row in made], [])[1][2].endswith(" x>10")


def test_lines_are_of_one_table_and_say_what_is_violated_there():
    made = rows() + rows(ranks=8, doubt="two states")
    compared = comparisons(made)
    violated = guideline_lines(rows(), compared, Screen(80))
    assert max(map(len, violated)) <= 80 and any(line.startswith("violated: native is no slower") for line in violated)
    unchecked = guideline_lines(rows(ranks=8, doubt="two states"), compared)
    assert any(line.startswith("No guideline could be checked") for line in unchecked)
    assert not any(MARK in line for line in unchecked[2:])
    assert guideline_lines([row for row in made if row["algorithm"] == "native"], compared) == []


def test_a_page_has_a_table_for_each_number_of_ranks_and_cache():
    made = rows() + rows(cache="cold")
    assert [title for title, _ in guideline_tables(made, comparisons(made))] == ["4 ranks", "4 ranks, cold cache"]
