"""Files of NCCL Inspector joined: communicators, missing ranks, calls beside each other."""

import json
import re

import numpy as np
import pytest
from made_inspector import Job, write_job

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.importers.tools.nccl_inspector import (
    ALLREDUCE,
    MEETING,
    call_table,
    chosen_communicator,
    files_of,
    is_of_inspector,
    logs_of,
)

JOB = Job(ranks=4, steps=8, slow=1, per_node=2)


def chosen(paths, wanted=None, collectives=(ALLREDUCE,)):
    return chosen_communicator(logs_of(paths), wanted, collectives)


def edit(path, change):
    """Change every record of a file; a change that returns False removes it."""
    kept = [record for line in path.read_text().splitlines() if change(record := json.loads(line)) is not False]
    path.write_text("".join(json.dumps(record) + "\n" for record in kept))


def number(record):
    return record.get("coll_perf", {}).get("coll_sn")


def test_a_folder_holds_the_files_of_a_job(tmp_path):
    paths = write_job(tmp_path / "job" / "deeper", JOB)
    (tmp_path / "job" / "readme.log").write_text("nothing\n")
    assert files_of(tmp_path / "job") == sorted(paths)
    assert is_of_inspector(paths[0]) and not is_of_inspector(tmp_path / "job")
    one = chosen([tmp_path / "job"])
    assert (one.ranks, one.nodes, one.hosts, one.node_of) == (4, 2, ["gpu00", "gpu00", "gpu01", "gpu01"], (0, 0, 1, 1))
    assert one.words == "0xe62dedaa97644a (DP Group 0), 4 ranks, 8 calls"


def test_calls_of_all_ranks_stand_beside_each_other(tmp_path):
    table = call_table(chosen(write_job(tmp_path, JOB)), (ALLREDUCE,))
    assert table.time_s.shape == table.ready_s.shape == (8, 4) and table.has_stamps.all()
    assert list(table.size_bytes) == [1 << 20] * 8 and set(table.algorithm) == {"ring_simple"}
    assert (table.time_s.argmin(axis=1) == 1).all()  # the guilty rank is in the call for the shortest time
    assert table.is_next.tolist() == [False] + [True] * 7


def test_each_collective_counts_its_own_calls(tmp_path):
    paths = write_job(tmp_path, JOB)

    def gather(record):
        if (number(record) or 0) % 2:
            record["coll_perf"] |= {"coll": "AllGather", "coll_sn": number(record) // 2}
        elif number(record) is not None:
            record["coll_perf"]["coll_sn"] //= 2

    for path in paths:
        edit(path, gather)
    both = call_table(chosen(paths, collectives=MEETING), MEETING)
    assert len(both.size_bytes) == 8 and np.all(np.diff(both.end_s[:, 0]) > 0)
    assert len(call_table(chosen(paths), (ALLREDUCE,)).size_bytes) == 4


def test_ranks_without_a_file_and_with_fewer_calls_are_named(tmp_path):
    paths = write_job(tmp_path, JOB)
    edit(paths[3], lambda record: number(record) not in (2, 5))

    def drop(record):
        if "dump_stats" in record:
            record["dump_stats"]["coll_dropped_total"] = 2

    edit(paths[3], drop)
    with pytest.warns(LogWarning) as said:
        one = chosen([paths[0], paths[2], paths[3]])
    words = " ".join(str(warning.message) for warning in said)
    assert "no file" in words and "1" in words and "8 calls: rank 3 6, 2 overwritten" in words
    table = call_table(one, (ALLREDUCE,))
    assert len(table.size_bytes) == 6 and np.isnan(table.time_s[:, 1]).all() and table.has_stamps.all()
    assert table.is_next.tolist() == [False, True, False, True, False, True]


def test_two_communicators_are_one_sentence_that_says_how_to_choose(tmp_path):
    paths = write_job(tmp_path, JOB) + write_job(tmp_path / "b", JOB._replace(id="0xab", ranks=2))
    with pytest.raises(LogError) as error:
        chosen(paths)
    said = str(error.value)
    assert (
        "2 communicators" in said
        and "communicators" in said
        and "--communicator 0xe62dedaa97644a" in said
        and "0xab (DP Group 0), 2 ranks" in said
    )
    assert chosen(paths, "0xab").ranks == 2
    with pytest.raises(LogError, match="no communicator 0xffff"):
        chosen(paths, "0xffff")
    with pytest.raises(LogError, match="AllGather of several ranks"):
        chosen(paths, None, ("AllGather",))


def test_files_of_two_jobs_are_one_sentence(tmp_path):
    paths = write_job(tmp_path / "a", JOB)
    other = write_job(tmp_path / "b", JOB._replace(ranks=2))
    with pytest.raises(LogError, match="2 ranks, but 4 in.*job only"):
        chosen([*paths, *other])
    edit(other[0], lambda record: record["header"].update(n_ranks=4) or record["metadata"].update(pid=1))
    with pytest.raises(LogError, match="0 of communicator 0xe62dedaa97644a is also"):
        chosen([*paths, other[0]])
    edit(paths[2], lambda record: record.get("coll_perf", {}).update(coll_msg_size_bytes=8))
    with pytest.raises(LogError, match="0 of AllReduce has 8 bytes on rank 2"):
        call_table(chosen(paths), (ALLREDUCE,))


def test_a_file_that_was_written_in_two_parts_is_one(tmp_path):
    paths = write_job(tmp_path, JOB)
    lines = paths[0].read_text().splitlines(keepends=True)
    paths[0].write_text("".join(lines[:4]))
    (tmp_path / "rest.log").write_text("".join(lines[4:]))
    assert len(call_table(chosen([tmp_path]), (ALLREDUCE,)).size_bytes) == 8


def test_no_call_in_common_is_one_sentence(tmp_path):
    paths = write_job(tmp_path, JOB)
    for rank, path in enumerate(paths):
        edit(path, lambda record, rank=rank: number(record) in (None, rank))
    with pytest.warns(LogWarning), pytest.raises(LogError, match="rank of communicator"):
        call_table(chosen(paths), (ALLREDUCE,))


def test_ranks_that_are_claimed_and_have_no_file_are_bounded(tmp_path):
    paths = write_job(tmp_path, JOB)
    for path in paths:
        path.write_text(re.sub(r'("n_ranks": *)[0-9]+', r"\g<1>1000000", path.read_text()))
    with (
        pytest.warns(LogWarning),
        pytest.raises(LogError, match="line 2: communicator .* claims 1000000 ranks, and only"),
    ):
        call_table(chosen(paths), (ALLREDUCE,))
