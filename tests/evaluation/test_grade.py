"""How far times can be relied on: each criterion alone, their order, and what is not known."""

import pytest

from allreduce_bench.evaluation.grade import (
    CRITERIA,
    ENOUGH_LAUNCHES,
    GOOD,
    NOT_RELIABLE,
    PROVISIONAL,
    Grade,
    grade_of,
    grade_rows,
)


def row(**facts) -> dict:
    """A row against which nothing speaks."""
    good = {
        "ranks": 2,
        "state": "done",
        "time_s": 1e-5,
        "time_low_s": 0.97e-5,
        "time_high_s": 1.03e-5,
        "launches": ENOUGH_LAUNCHES,
        "repetitions": 100,
        "time_definition": "max_local",
        "start": "barrier",
    }
    return {**good, **facts}


def node(others_s: float = 0.0, stolen_s: float = 0.0, **facts) -> dict:
    """What a launch of 10 s on two cores keeps of its node."""
    times = {"worked_s": 10.0 + others_s, "own_s": 10.0, "stolen_s": stolen_s}
    return {"host": "n1", "elapsed_s": 10.0, "cpus": 2, **times, **facts}


def launch(*nodes: dict, **facts) -> dict:
    return {"ranks": 2, "counted": list(nodes or [node()]), **facts}


QUIET = [launch()]


def kinds(rows: list[dict], attempts: list[dict]) -> list[tuple[str, str]]:
    return [(reason.code, reason.grade) for reason in grade_of(rows, attempts).reasons]


def test_a_quiet_run_of_enough_launches_is_good():
    assert grade_of([row()] * 3, QUIET) == Grade(GOOD, ())


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"state": "wrong", "time_s": None}, ("wrong", NOT_RELIABLE)),
        ({"state": "refused", "time_s": None}, ("refused", NOT_RELIABLE)),
        ({"promised_same_bits": 1, "same_bits": 0}, ("wrong", NOT_RELIABLE)),
        ({"launches": 1}, ("launches", PROVISIONAL)),
        ({"launches": 3}, ("launches", PROVISIONAL)),
        ({"repetitions": 5 * ENOUGH_LAUNCHES}, ("calls", PROVISIONAL)),
        ({"time_high_s": 1.25e-5}, ("wide", PROVISIONAL)),
        ({"time_high_s": 2.5e-5}, ("wide", PROVISIONAL)),
        ({"oversubscribed": True}, ("oversubscribed", PROVISIONAL)),
        ({"nodes_declared": 2}, ("pretended", PROVISIONAL)),
        ({"doubt": "below floor"}, ("doubted", PROVISIONAL)),
        ({"launch_states": "2 states"}, ("launch_states", PROVISIONAL)),
    ],
)
def test_each_criterion_of_the_rows_alone(facts, expected):
    timed = [row()] if facts.get("time_s", 1) is None else []
    assert kinds([row(**facts), *timed], QUIET) == [expected]


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        (node(others_s=0.9), None),
        (node(others_s=1.0), ("others", PROVISIONAL)),
        (node(others_s=5.0), ("others", NOT_RELIABLE)),
        (node(stolen_s=2.0), ("stolen", PROVISIONAL)),
        (node(stolen_s=5.0), ("stolen", NOT_RELIABLE)),
        (node(throttled=2), ("throttled", PROVISIONAL)),
        (node(ports={"mlx5_0:1": {"counted": {"symbol_error": 1}}}), ("port_errors", PROVISIONAL)),
        (node(ports={"mlx5_0:1": {"degraded": ["has one lane"]}}), ("degraded", PROVISIONAL)),
        (node(others_s=9.0, cpus=200, worked_s=1999.0, own_s=1990.0), ("others", PROVISIONAL)),  # and no core is free
    ],
)
def test_each_criterion_of_the_nodes_alone(counted, expected):
    assert kinds([row()], [launch(counted)]) == ([expected] if expected else [])


def test_sizes_in_sets_are_named_and_lower_no_grade():
    sets = [launch(size_sets=[[8, 64], [1024]]), launch(size_sets=[[8, 64, 1024]])]
    grade = grade_of([row()], sets)
    assert (grade.level, [(reason.code, reason.value) for reason in grade.reasons]) == (GOOD, [("size_sets", 2)])
    assert kinds([row()], sets[1:]) == [] == kinds([row()], [launch(in_haste=True)])


def test_every_criterion_is_reached_by_some_case():
    marks = [*test_each_criterion_of_the_rows_alone.pytestmark, *test_each_criterion_of_the_nodes_alone.pytestmark]
    reached = {case[1][0] for mark in marks for case in mark.args[1] if case[1]}
    assert reached | {"unmeasured", "size_sets"} == {*CRITERIA}


def test_load_is_the_median_over_launches_of_the_worst_node():
    one_bad = [launch(node()), launch(node(), node(others_s=9.0)), launch(node())]
    assert kinds([row()], one_bad) == [("others", PROVISIONAL)]  # one launch was overrun
    assert kinds([row()], [launch(node()), launch(node(), node(others_s=2.0)), launch(node())]) == []
    grade = grade_of([row()], [*one_bad, launch(node(others_s=9.0)), launch(node(others_s=8.0))])
    assert grade.level == NOT_RELIABLE and grade.reasons[0].value == pytest.approx(0.4)


def test_the_weightiest_reason_comes_first_and_the_worst_decides():
    rows = [row(launches=1, time_high_s=3e-5, oversubscribed=True)]
    grade = grade_of(rows, [launch(node(others_s=2.0, stolen_s=5.0))])
    assert [reason.code for reason in grade.reasons] == ["stolen", "others", "oversubscribed", "launches", "wide"]
    assert grade.level == NOT_RELIABLE


def test_what_launches_do_not_say_is_unknown_and_no_reason():
    for attempts in ([{"ranks": 2}], [{"ranks": 2, "counted": [{"host": "n1", "elapsed_s": 9.0}]}], []):
        assert grade_of([row()], attempts) == Grade(GOOD, (), ("load",))


def test_a_few_cells_do_not_decide_for_all():
    doubted = [row(doubt="drift")] + [row()] * 9
    assert grade_of(doubted, QUIET).level == GOOD
    assert kinds([row(doubt="drift"), *doubted[:-1]], QUIET) == [("doubted", PROVISIONAL)]
    assert grade_of([row(time_high_s=9e-5)] + [row()] * 2, QUIET).level == GOOD
    assert grade_of([row(launches=1)] + [row()] * 10, QUIET).level == GOOD
    assert kinds([row(launches=1)] + [row()] * 4, QUIET) == [("launches", PROVISIONAL)]


def test_where_only_some_cells_lack_launches_both_numbers_are_known():
    some, all_alike = grade_of([row(launches=1), row(launches=3)], QUIET), grade_of([row(launches=3)] * 2, QUIET)
    assert some.reasons_text == "launches=1/3" and all_alike.reasons_text == "launches=3"


def test_launches_that_are_too_short_say_together_what_others_did():
    short = {**node(others_s=0.16), "elapsed_s": 0.4, "worked_s": 0.36, "own_s": 0.2}
    assert kinds([row()], [launch(short)]) == [] and grade_of([row()], [launch(short)]).unknown == ("load",)
    assert kinds([row()], [launch(short)] * 3) == [("others", PROVISIONAL)]


def test_means_of_other_tools_have_no_number_of_calls():
    assert grade_of([row(repetitions=1, time_definition="osu_avg", start=None)], QUIET).level == GOOD


def test_oversubscription_names_the_fullest_node():
    machines = [{"host": "n1", "threads": 4, "cpus_of_ranks": 4}, {"host": "n2", "threads": 4, "cpus_of_ranks": 2}]
    hosts = ["n1", "n1", "n2", "n2", "n2"]
    grade = grade_of([row(oversubscribed=1)], [launch(hosts=hosts, machines=machines)])
    assert grade.reasons[0][2:] == (3, 2)
    assert grade.reasons_text == "oversubscribed=3/2"


def test_where_nothing_was_measured_nothing_is_reliable():
    assert kinds([row(state="left out", time_s=None, launches=0)], QUIET) == [("unmeasured", NOT_RELIABLE)]


def test_every_row_has_the_grade_of_its_rank_count():
    rows = [row(), row(ranks=4), row(ranks=4, state="left out", time_s=None)]
    graded = grade_rows(rows, [launch(), launch(node(others_s=9.0), ranks=4)])
    assert [each["grade"] for each in graded] == [GOOD, NOT_RELIABLE, NOT_RELIABLE]
    assert [each["grade_reasons"] for each in graded] == [None, "others=0.45", "others=0.45"]
