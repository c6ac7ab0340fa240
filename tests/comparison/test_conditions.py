"""Conditions and facts in which sides differ: one is named, more are refused unless accepted, others are noted."""

from dataclasses import replace

import pytest
from compared_runs import FASTER, compared_run, row

from allreduce_bench.comparison.conditions import (
    DESPITE,
    FACTS,
    LABELS,
    are_alternated,
    changes,
    differing_conditions,
    differing_facts,
    ignored_columns,
    library_starts,
    parse_despite,
    refuse_differences,
)
from allreduce_bench.runs.plan import ImportedPlan
from allreduce_bench.runs.rows import RunError

WEATHER = "weather"  # which is no condition


def run(name: str, library: str | None = "A", plan: dict | None = None, **facts):
    attempt = {"ranks": 2, "oversubscribed": False, "mpi": {"library": library}, **facts}
    made = compared_run(name, row(FASTER), attempts=[attempt])
    return made._replace(plan=replace(made.plan, **plan or {}))


def test_words_of_despite_are_read():
    assert parse_despite(" library, time") == {"library", "time"}
    assert parse_despite("all") == {*DESPITE} and parse_despite("") == frozenset()
    assert {"cache", "segment", "bind-to", "x"} <= {*DESPITE}
    with pytest.raises(ValueError, match=f"unknown condition '{WEATHER}'; known: {', '.join(DESPITE[:2])}"):
        parse_despite(WEATHER)


def test_every_fact_has_a_label():
    assert {key for keys in FACTS.values() for key in keys} <= set(LABELS)


def test_a_library_with_what_depends_on_it_is_one_fact():
    new = run("new", "B", transport="tcp", binding=["0", "1"], hosts=["n1", "n1"])
    (difference,) = differing_facts(
        [run("base", transport="sm", binding=["1", "0"], hosts=["n1", "n1"])], [new], [2], []
    )
    assert difference.name == "library"
    assert difference.text.startswith("MPI library A -> B; transport, as reported by the MPI sm -> tcp; core binding")


def test_what_a_run_does_not_say_is_not_held_against_it():
    assert differing_facts([run("base")], [run("new", None)], [2], []) == []
    logs = run("new")
    logs = logs._replace(plan=ImportedPlan(("ring",), (8,), (2,), seed=1, dtype="", op=""))
    assert differing_conditions([run("base")], [logs]) == []


def test_other_rank_counts_do_not_matter():
    assert differing_facts([run("base")], [run("new", "B")], [4], []) == []


def test_runs_of_one_side_that_differ_do_so_from_the_other_side():
    ((name, text),) = differing_facts([run("base"), run("odd", "B")], [run("new")], [2], [])
    assert (name, text) == ("library", "MPI library A or B -> A")


def test_a_condition_is_named_and_facts_that_follow_from_it_are_not():
    before, after = run("base", transport="sm"), run("new", transport="tcp", plan={"thread_level": "multiple"})
    (condition,) = differing_conditions([before], [after])
    assert str(condition) == "thread-level: auto -> multiple"
    assert differing_facts([before], [after], [2], [condition.name]) == []
    assert [fact.name for fact in differing_facts([before], [after], [2], ["cache"])] == ["library"]


def test_what_says_more_of_a_condition_is_no_second_one():
    late = run("new", plan={"arrival": "ramp", "late_by": "1ms"})
    later = run("newer", plan={"arrival": "ramp", "late_by": "2ms"})
    assert [each.name for each in differing_conditions([run("base")], [late])] == ["arrival"]
    assert [each.name for each in differing_conditions([late], [later])] == ["late-by"]


def test_one_difference_needs_no_word_and_more_are_listed_with_theirs():
    before, after = run("base"), run("new", "B", plan={"cache": "cold", "check": "bits"})
    found = [*differing_conditions([before], [after]), *differing_facts([before], [after], [2], [])]
    assert [difference.name for difference in found] == ["cache", "check", "library"]
    for despite in ((), ("cache",)):
        with pytest.raises(RunError, match="differ in .*check: exact -> bits; library: .*--despite .*check,library$"):
            refuse_differences(found, despite)
    refuse_differences(found, ("cache", "library"))
    refuse_differences(found[:1], ())


@pytest.mark.parametrize(
    ("conditions", "columns"),
    [
        ([], set()),
        (["check"], set()),
        (["dtype"], {"dtype", "segment"}),
        (["segment"], {"segment"}),
    ],
)
def test_cells_are_matched_without_the_columns_of_a_condition_that_differs(conditions, columns):
    assert ignored_columns(conditions) == columns


def test_runs_alternated_if_they_name_each_other(tmp_path):
    a, b = (run(name)._replace(path=tmp_path / name) for name in "ab")
    assert not are_alternated([a], [b])
    a, b = a._replace(alternated=[b.path]), b._replace(alternated=[a.path])
    assert are_alternated([a], [b]) and not are_alternated([a, b], [b]) and not are_alternated([a], [run("c")])


def test_changes_are_those_of_machine_and_variables_but_not_of_jobs():
    before = run("base", machines=[{"kernel": "Linux 6.1"}], variables={"A": "1", "SLURM_JOB_ID": "1"})
    after = run("new", machines=[{"kernel": "Linux 6.2"}], variables={"SLURM_JOB_ID": "2"})
    assert changes([before], [after]) == ["kernel: Linux 6.1 -> Linux 6.2", "variable A: 1 -> not set"]


def test_a_start_by_the_library_s_own_barrier_is_said_where_libraries_differ():
    base, same, new = run("base"), run("same"), run("new", "B")
    (both,) = library_starts([base, new])
    assert both.startswith("calls of base and new begin after the library's own MPI_Barrier")
    by_time = new._replace(rows=[row(FASTER, start="round_time")])
    assert library_starts([base, same]) == library_starts([by_time]) == []
    assert library_starts([base, by_time])[0].startswith("calls of base begin")
