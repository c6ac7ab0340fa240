"""What Slurm's commands print, word by word as Slurm 22.05 does."""

import pytest

from allreduce_bench.slurm.commands import (
    SlurmJob,
    parse_energies,
    parse_job_id,
    parse_sacct,
    parse_squeue,
    parse_switches,
    split_id,
)

NO_JOB = "slurm_load_jobs error: Invalid job id specified\n\n"  # as Slurm says it
NO_ACCOUNTING = "Slurm accounting storage is disabled\n"
NO_TOPOLOGY = "scontrol: No topology information available\n"

SQUEUE = """\
12|RUNNING|n[1-2]|0:14|10:00|None
13|PENDING||0:00|1:00:00|Resources
14_1|RUNNING|n3|1-02:03:04|UNLIMITED|None
14_2|PENDING||0:00|10:00|JobArrayTaskLimit
15|TIMEOUT|n[1-2]|1:02|1:00|TimeLimit
"""
SACCT = """\
12|COMPLETED|n[1-2]|14|10|0:0|None
16|CANCELLED by 1000|None assigned|0|10|0:0|None
17|NODE_FAIL|n[3-4]|83|Partition_Limit|1:0|None
14_1|OUT_OF_MEMORY|n3|5|10|0:125|None
"""
TOPOLOGY = """\
SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]
"""


def test_the_queue():
    running, pending, task, waiting, over = parse_squeue(SQUEUE)
    assert running == SlurmJob("12", "RUNNING", "", "n[1-2]", 14, 600) and running.running and not running.queued
    assert pending == SlurmJob("13", "PENDING", "Resources", "", 0, 3600) and pending.queued
    assert task == SlurmJob("14_1", "RUNNING", "", "n3", 93784, None)
    assert waiting.id == "14_2" and waiting.reason == "JobArrayTaskLimit"
    assert over.state == "TIMEOUT" and over.reason == "TimeLimit" and not over.running and not over.queued


def test_the_accounts():
    done, cancelled, failed, task = parse_sacct(SACCT)
    assert done == SlurmJob("12", "COMPLETED", "", "n[1-2]", 14, 600, "0:0")
    assert cancelled.state == "CANCELLED" and cancelled.nodelist == "" and cancelled.by == "1000"
    assert failed.state == "NODE_FAIL" and failed.limit_s is None
    assert task.id == "14_1" and task.exit_code == "0:125"


def test_the_energies_of_steps_where_slurm_counts_them():
    assert parse_energies("12|400\n12.batch|55\n12.extern|0\n12.0|345\n12.1|18446744073709551614\n12.2|\n") == {
        "12.batch": 55.0,
        "12.0": 345.0,
    }
    assert parse_energies(NO_ACCOUNTING) == {}


def test_lines_of_other_things_are_left_out():
    assert parse_squeue(NO_JOB) == []
    assert parse_sacct(NO_ACCOUNTING) == []


@pytest.mark.parametrize("tasks", ["[3-5]", "[3-5%2]", "[3,4-5]", "3-5", "3-5%1"])
def test_tasks_that_wait_together_are_told_apart(tasks):
    queued = parse_squeue(f"12_{tasks}|PENDING||0:00|10:00|Resources\n")
    for found in (queued, parse_sacct(f"12_{tasks}|PENDING||0|10|0:0|None\n")):
        assert [job.id for job in found] == ["12_3", "12_4", "12_5"] and all(job.queued for job in found)


def test_a_list_of_tasks_that_was_cut_short_stays_one():
    assert [job.id for job in parse_squeue("12_[1,3,5,...]|PENDING||0:00|10:00|Resources\n")] == ["12_[1,3,5,...]"]


def test_the_switches():
    assert list(parse_switches(TOPOLOGY)) == [("s0", "1", "n[1-4]"), ("s1", "0", "n[1-2]")]
    assert list(parse_switches(NO_TOPOLOGY)) == []


@pytest.mark.parametrize(("text", "number"), [("12\n", "12"), ("12;lumi\n", "12"), ("a word of the site\n34\n", "34")])
def test_the_number_of_a_new_job(text, number):
    assert parse_job_id(text) == number


def test_without_a_number_it_says_what_was_printed():
    with pytest.raises(ValueError, match="printed 'welcome'"):
        parse_job_id("welcome\n")


def test_a_task_is_told_from_its_array():
    assert [split_id(text) for text in ("12", "12_3", "12_[3-5%2]")] == [("12", ""), ("12", "3"), ("12", "[3-5%2]")]
