"""Records of the Flight Recorder that torch wrote over Gloo, changed; and what is none."""

import json
import shutil
import subprocess
import sys

import pytest
from has_message import has_message, message_pattern
from made_traces import TORCH, write_records

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import head_of
from allreduce_bench.stragglers.flight_recorder import progress_of_records, recognises, recorded, refuse_pickle
from allreduce_bench.stragglers.progress import Held, Missing, Unlike


def progress(tmp_path, edit=None):
    return progress_of_records(write_records(tmp_path, edit))


def last(document):
    return document["entries"][-1]


def test_the_rank_that_has_not_entered_the_last_call(tmp_path):
    (one,) = progress(tmp_path)
    assert (one.group, one.members, one.missing, one.unlike) == ("0 (default_pg)", (0, 1, 2, 3), (), ())
    (count,) = one.counts
    assert count.entered == {0: 33, 1: 33, 2: 32, 3: 33} and count.left == dict.fromkeys(range(4), 32)
    assert one.held == (Held(33, "all_reduce", 1000, (0, 1, 3), (2,)),) and one.behind == {2: 1}


def test_ranks_without_a_file_are_missing(tmp_path):
    paths = [path for path in write_records(tmp_path) if "_2" not in path.name]
    (one,) = progress_of_records(paths)
    assert one.missing == (Missing(2, "no record"),) and one.members == (0, 1, 2, 3)
    assert one.held[0].absent == () and one.behind == {}


def test_ranks_that_do_not_do_the_same(tmp_path):
    def edit(rank, document):
        if rank == 1:
            last(document)["profiling_name"] = "gloo:broadcast"
        if rank == 3:
            last(document)["input_sizes"] = [[20, 30]]

    (one,) = progress(tmp_path, edit)
    done = {"all_reduce of 1000 bytes": (0,), "broadcast": (1,), "all_reduce of 2400 bytes": (3,)}
    assert one.unlike == (Unlike(33, done),)


def test_a_rank_whose_calls_are_no_longer_recorded_counts_by_its_status(tmp_path):
    def edit(rank, document):
        if rank == 2:
            document["entries"] = []

    (one,) = progress(tmp_path, edit)
    assert one.counts[0].entered[2] == 32 and one.held[0].absent == (2,)


def test_a_rank_that_has_entered_no_call_of_its_group(tmp_path):
    def edit(rank, document):
        if rank < 2:
            last(document).update(process_group=["1", "pair"], pg_id=1, collective_seq_id=1)
            document["pg_status"] = {}
        document["pg_config"] = {"1": {"name": "1", "desc": "pair", "ranks": "[0, 1, 2]"}}

    _, pair = progress(tmp_path, edit)
    assert pair.group == "1 (pair)" and pair.members == (0, 1, 2) and pair.behind == {2: 1}
    assert pair.held == (Held(1, "all_reduce", 1000, (0, 1), (2,)),)


def test_completed_calls_of_nccl_and_messages_between_two(tmp_path):
    def edit(rank, document):
        document["pg_status"] = {"0": {"last_enqueued_collective": 900, "last_completed_collective": 900}}
        for entry in document["entries"]:
            entry["profiling_name"] = "nccl:all_reduce"
            entry["state"] = "completed" if entry["retired"] else "started"
        document["entries"].append({**last(document), "is_p2p": True, "collective_seq_id": 900})

    (one,) = progress(tmp_path, edit)
    assert one.counts[0].entered[0] == 33 and one.counts[0].left[0] == 32
    assert one.held[0].absent == (2,) and one.held[0].started == (0, 1, 3)


@pytest.mark.parametrize(
    "edit, said",
    [
        (
            lambda document: document.update(entries=3),
            message_pattern("stragglers.line_no_object_entries", path="record_0.json"),
        ),
        (lambda document: last(document).pop("process_group"), "entry 32: no process_group"),
        (lambda document: last(document).update(collective_seq_id=[1]), "entry 32: collective_seq_id is"),
        (lambda document: document.update(rank=1), "record_1.json: rank 1 is also in"),
        (lambda document: document.update(rank="x"), message_pattern("importers.expected_whole_number_2", name="rank")),
        (lambda document: document["pg_status"]["0"].update(last_enqueued_collective=2.5), "pg_status: last_enqueued"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, edit, said):
    with pytest.raises(LogError, match=said) as error:
        progress(tmp_path, lambda rank, document: edit(document) if rank == 0 else None)
    assert "\n" not in str(error.value)


def test_records_without_calls_say_how_to_have_some(tmp_path):
    with pytest.raises(LogError, match=message_pattern("stragglers.no_collective_call_recorded")):
        progress(tmp_path, lambda rank, document: document.update(entries=[]))


def test_the_rank_is_in_the_name_of_the_file_or_in_the_record(tmp_path):
    path = write_records(tmp_path)[3]
    for name, rank in {"nccl_trace_rank_12.json": 12, "r7.fr.json": 7}.items():
        assert recorded(path.rename(tmp_path / name)).rank == rank
        shutil.copy(tmp_path / name, path)
    (tmp_path / "one.json").write_bytes(path.read_bytes())
    with pytest.raises(LogError, match=message_pattern("stragglers.record_does_not_say")):
        recorded(tmp_path / "one.json")
    (tmp_path / "one.json").write_text(json.dumps({**json.loads(path.read_text()), "rank": 5}))
    assert recorded(tmp_path / "one.json").rank == 5


def test_a_pickle_is_refused_with_the_command_that_makes_it_json(tmp_path):
    path = tmp_path / "a b_0"
    shutil.copy(TORCH / "record_0.pickle", path)
    assert not recognises(head_of(path).decode(errors="replace"))
    said = str(refuse_pickle(path))
    assert has_message(said, "stragglers.pickle_flight_recorder_writes") and said.endswith(f"'{path}' > '{path}.json'")


def test_the_command_makes_it_json(tmp_path):
    path = tmp_path / "record_0"
    shutil.copy(TORCH / "record_0.pickle", path)
    command = str(refuse_pickle(path)).partition("make JSON of it: ")[2].replace("python ", f"{sys.executable} ", 1)
    subprocess.run(command, shell=True, check=True)
    of_pickle, of_json = recorded(tmp_path / "record_0.json"), recorded(TORCH / "late" / "record_0.json")
    assert of_pickle.rank == 0 and of_pickle.groups == of_json.groups
