"""From where each rank is to the one sentence that names who keeps the others."""

from allreduce_bench.launching.blame import Report, blame

IN_BARRIER, MAKING, BETWEEN_CALLS = "in the barrier before a call", "making its schedule", "between calls"

BEFORE, CALL, AFTER = [["repeat", 3, 10]], [["repeat", 3, 12]], [["repeat", 4, 10]]


def inside(host: str, step: int, dest=None, source=None, sent=None, received=None) -> Report:
    call = {"step": step, "of": 8, "dest": dest, "source": source, "sent": sent or {}, "received": received or {}}
    return Report(host, "there", CALL, "between calls", call)


def ring(size: int, steps: dict[int, int]) -> dict[int, Report]:
    """Ranks of a ring, each in the step that `steps` says."""
    reports = {}
    for rank, step in steps.items():
        right, left = (rank + 1) % size, (rank - 1) % size
        reports[rank] = inside(f"n{rank}", step, right, left, {str(right): step}, {str(left): step})
    return reports


def test_a_rank_that_never_entered_is_named_with_the_chain_behind_it():
    reports = ring(4, {0: 3, 1: 2, 3: 1}) | {2: Report("n2", "there", BEFORE, "making its schedule")}
    words = blame(dict(sorted(reports.items())))
    assert words == "rank 2 on n2 never entered (making its schedule); 1 waits for 2 in step 2, 3 for 2, 0 for 3"


def test_a_rank_that_does_not_answer_is_named_before_everything_else():
    reports = ring(3, {0: 2, 1: 3}) | {2: Report("n2", "silent")}
    assert blame(reports).startswith(
        "rank 2 on n2 does not respond (stopped, or its node failed); 0 waits for 2 in step 2"
    )


def test_a_rank_that_left_too_early_is_named():
    reports = ring(3, {0: 2, 1: 3}) | {2: Report("n2", "there", AFTER, IN_BARRIER)}
    assert blame(reports).startswith("rank 2 on n2 left the all-reduce early; 0 waits for 2 in step 2")


def test_a_circle_of_waits_names_all_of_them():
    reports = {
        rank: inside(f"n{rank}", 1, source=(rank + 1) % 3, received={str((rank + 1) % 3): 1}) for rank in range(3)
    }
    words = blame(reports)
    assert words.startswith("deadlock: ")
    assert all(f"{rank} " in words for rank in range(3))


def test_a_rank_whose_message_has_come_waits_for_the_one_that_shall_take_its_own():
    reports = {
        0: inside("n0", 2, dest=1, source=2, sent={"1": 2}, received={"2": 1}),
        1: inside("n1", 1, source=2, sent={}, received={"2": 1, "0": 1}),
        2: inside("n2", 1, dest=0, source=3, sent={"0": 1}, received={"3": 1}),
        3: Report("n3", "there", BEFORE, "checking the result"),
    }
    words = blame(reports)
    assert words.startswith("rank 3 on n3 never entered (checking the result); 2 waits for 3 in step 1")
    assert "0 for 1" in words and "1 for 2" in words


def test_outside_the_call_whoever_is_furthest_behind_is_named():
    reports = {rank: Report("n", "there", AFTER, IN_BARRIER) for rank in range(3)}
    assert blame(reports) == f"all ranks are {IN_BARRIER}"
    reports[1] = Report("n", "there", BEFORE, MAKING)
    assert blame(reports) == f"rank 1 on {reports[1].host} is behind ({MAKING})"


def test_ranks_that_were_never_heard_of_are_named_a_few_of_them():
    reports = {rank: Report(None, "absent") for rank in range(20)}
    assert blame(reports) == "ranks 0, 1, 2, 3, 4, 5 and 14 more never connected"


def test_in_the_library_s_own_all_reduce_no_step_is_known():
    call = {"step": 0, "of": 0, "dest": None, "source": None, "sent": {}, "received": {}}
    reports = {rank: Report("n", "there", CALL, "between calls", call) for rank in range(3)}
    said = blame(reports)
    assert "all ranks are in the" in said and "not visible" in said
    reports[2] = Report("n", "there", BEFORE, BETWEEN_CALLS)
    assert blame(reports) == f"rank 2 on {reports[2].host} never entered ({BETWEEN_CALLS})"
