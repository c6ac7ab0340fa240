"""Which cells are missing and why, in words."""

import pytest
from made_sweeps import build_sweep
from rechecked import change_json, recheck

from allreduce_bench.evaluation.missing import explain_rows, group_missing, not_begun_sentences
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.slurm import job_states
from allreduce_bench.slurm.commands import SlurmJob
from allreduce_bench.slurm.job_states import RUNNING, Ending, JobStates, JobTask

HIT_LIMIT = "hit its time limit of 30:00"
NO_TIME = "no time"

TIMEOUT = JobStates({"124": SlurmJob("124", "TIMEOUT", limit_s=1800.0)})


def task(number: str, only: str) -> JobTask:
    return JobTask(number, "x", ".", 4, only, ())


def missing(folder, tasks=(), told=TIMEOUT):
    marks = folder.marks()
    return job_states.missing_cells(folder.plan(), marks, tasks, told)


def sentences(folder, *rest) -> list[str]:
    return [group.sentence for group in group_missing(folder.plan(), missing(folder, *rest))]


def lacking(*names: str, sizes=(65536, 1 << 20), launches=(2, 3)):
    """No mark of these algorithms and sizes at 8 ranks in these launches."""

    def outcome(launch, cell):
        gone = launch.ranks == 8 and launch.number in launches and cell.algorithm in names and cell.size_bytes in sizes
        return None if gone else {}

    return outcome


def test_nothing_is_missing_of_a_whole_run(tmp_path):
    assert sentences(build_sweep(tmp_path / "run"), [task("124", "8r")]) == []


def test_one_sentence_for_cells_that_are_missing_alike(tmp_path):
    folder = build_sweep(tmp_path / "run", outcome=lacking("ring", "two_tree", sizes=(1 << 20,)))
    said = "ring, two_tree 1 MiB at 8 ranks: launches 2, 3: job 124 hit its time limit of 30:00"
    assert sentences(folder, [task("124", "8r")]) == [said]


def test_sizes_that_follow_each_other_and_whole_launches_are_said_in_short(tmp_path):
    def outcome(launch, cell):
        if launch.ranks != 8 or launch.number == 1:
            return {}
        few = cell.algorithm == "native" or (cell.algorithm == "ring" and cell.size_bytes == 8)
        return {} if launch.number == 2 and few else None

    folder = build_sweep(tmp_path / "run", outcome=outcome, launches=5)
    assert sentences(folder, [task("124", "")]) == [
        f"ring 1 KiB to 1 MiB; two_tree 8 B to 1 MiB at 8 ranks: launch 2: job 124 {HIT_LIMIT}",
        f"all 12 cells at 8 ranks: launches 3 to 5: job 124 {HIT_LIMIT}",
    ]


def test_floors_are_told_apart(tmp_path):
    def outcome(launch, cell):
        gone = cell.competitor in ("floor:null", "floor:copy")
        return None if gone and cell.size_bytes == 8 and launch.ranks == 8 else {}

    folder = build_sweep(tmp_path / "run", outcome=outcome, floors=True, launches=1)
    (sentence,) = sentences(folder)
    cells, _, rest = sentence.partition(" at 8 ranks: ")
    assert cells == "floor:null, floor:copy 8 B" and "launch 1" in rest


def test_what_the_ranks_said_comes_before_what_the_job_said_and_failed_checks_come_first(tmp_path):
    states = {
        (1, "ring"): {"state": "hung", "reason": "rank 3 left"},
        (2, "ring"): {"state": "left out", "reason": NO_TIME},
        (3, "ring"): {"state": "skipped", "reason": "needs more memory"},
        (1, "two_tree"): {"state": "wrong", "wrong": 17},
        (2, "two_tree"): None,
        (3, "two_tree"): {"state": "refused", "reason": "no all-reduce"},
    }

    def outcome(launch, cell):
        return states.get((launch.number, cell.algorithm), {}) if (launch.ranks, cell.size_bytes) == (8, 8) else {}

    folder = build_sweep(tmp_path / "run", outcome=outcome)
    wrong, refused, *rest = sentences(folder, [task("124", "8r")])
    assert wrong == "two_tree 8 B at 8 ranks: launch 1: wrong: 17 wrong elements"
    assert refused == "two_tree 8 B at 8 ranks: launch 3: refused: no all-reduce"
    lost = "two_tree 8 B at 8 ranks: launch 2: job 124 hit its time limit of 30:00"
    assert rest == [
        "ring 8 B at 8 ranks: launch 1: hung: rank 3 left",
        f"ring 8 B at 8 ranks: launch 2: not measured: {NO_TIME}",
        lost,
    ]
    assert not_begun_sentences(folder.plan(), missing(folder, [task("124", "8r")])) == rest[1:]
    told = JobStates({"124": SlurmJob("124", "RUNNING", nodelist="n1")})
    hung, *_ = sentences(folder, [task("124", "8r")], told)[2:]
    assert hung.endswith(f"launches 1, 2: job 124 {Ending(RUNNING, 'running on n1').reason}")  # it will try those again


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ([], "its launch was not started, or has not ended"),
        ([task("124", "4r")], "not assigned to any job"),
        ([task("123", "8r"), task("124", "8r-2,8r-3")], "job 124 hit its time limit of 30:00"),
        ([task("123", "8r"), task("124", "8r")], "job 124 hit its time limit of 30:00"),
        ([task("125", "-2,-3"), task("124", "2r")], "job 125 was preempted"),
        ([task("126", "8r"), task("124", "8r")], "job 126 is still queued (Priority)"),
    ],
)
def test_the_last_job_that_was_to_measure_a_cell_is_to_blame_unless_one_still_may(tmp_path, tasks, why):
    folder = build_sweep(tmp_path / "run", outcome=lacking("ring"), ranks=(8,))
    more = {
        "123": SlurmJob("123", "CANCELLED"),
        "125": SlurmJob("125", "PREEMPTED"),
        "126": SlurmJob("126", "PENDING", "Priority"),
    }
    told = JobStates({**TIMEOUT.jobs, **more})
    assert {one.reason for one in missing(folder, tasks, told)} == {why}


def test_a_cell_that_a_later_attempt_finished_is_not_missing(tmp_path):
    folder = build_sweep(tmp_path / "run", ranks=(8,), launches=1)
    for path in folder.launches.glob("8r-1.1.*"):
        other = path.with_name(path.name.replace("8r-1.1.", "8r-1.2."))
        other.write_text(path.read_text().replace("8r-1,1,", "8r-1,2,"))
    change_json(folder.launches / "8r-1.2.json", attempt=2)
    path = folder.launches / "8r-1.1.cells.csv"
    path.write_text(path.read_text().replace(",done,", ",hung,"))
    recheck(folder)
    assert {mark["state"] for mark in folder.marks()} == {"hung", "done"}
    assert missing(folder) == []


def test_the_summary_says_the_reason_where_no_launch_has_the_cell(tmp_path):
    folder = build_sweep(tmp_path / "run", outcome=lacking("ring", launches=(1, 2, 3)))
    rows = explain_rows(summarise(folder), missing(folder, [task("124", "8r")]))
    absent = [row for row in rows if row["state"] == "missing"]
    assert {(row["ranks"], row["competitor"], row["size_bytes"]) for row in absent} == {
        (8, "ring", 65536),
        (8, "ring", 1 << 20),
    }
    assert {row["reason"] for row in absent} == {"job 124 hit its time limit of 30:00"}
    assert all(not row["reason"] for row in rows if row["state"] == "done")
