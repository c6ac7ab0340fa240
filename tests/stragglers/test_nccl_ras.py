"""What NCCL RAS says, by the example of its manual; and what it cannot say."""

import copy
import json

import pytest
from has_message import message_pattern
from made_traces import RAS

from allreduce_bench.importers import LogError
from allreduce_bench.stragglers.nccl_ras import progress_of_ras, recognises
from allreduce_bench.stragglers.progress import Count, Missing


def answer(tmp_path, edit=None):
    document = copy.deepcopy(RAS)
    if edit:
        edit(document["communicators"][0])
    path = tmp_path / "ras.json"
    path.write_text(json.dumps(document))
    assert recognises(path.read_text())
    return path


def test_who_is_behind_and_who_is_missing(tmp_path):
    (one,) = progress_of_ras(answer(tmp_path))
    assert (one.group, one.members) == ("0xae94423cfbb2ef4a", (0, 1, 2))
    assert one.counts == (Count("Broadcast", {0: 2, 2: 2}, {}), Count("AllReduce", {0: 1407, 2: 1405}, {}))
    assert one.behind == {2: 2} and one.missing == (Missing(1, "unresponsive"),) and one.hosts[1] == "172.16.64.246"


def test_why_a_rank_is_missing(tmp_path):
    def dead(one):
        one["missing_ranks"][0]["status"]["considered_dead"] = True

    def unlisted(one):
        one["missing_ranks"] = []

    assert progress_of_ras(answer(tmp_path, dead))[0].missing == (Missing(1, "dead"),)
    assert progress_of_ras(answer(tmp_path, unlisted))[0].missing == (Missing(1, "no member"),)


def test_errors_that_ranks_report(tmp_path):
    def edit(one):
        one["ranks"][0]["status"]["init_state"] = 7
        one["ranks"][1]["status"]["async_error"] = 6

    assert progress_of_ras(answer(tmp_path, edit))[0].failed == {2: "remote process error"}


def test_a_rank_whose_communicator_was_aborted_is_no_sound_one(tmp_path):
    def edit(one):
        one["ranks"][1]["status"]["abort_flag"] = True

    assert progress_of_ras(answer(tmp_path, edit))[0].failed == {2: "communicator aborted"}


@pytest.mark.parametrize(
    "edit, said",
    [
        (
            lambda one: one.update(size=0),
            message_pattern("importers.expected_whole_number_2", name="size", value="'0'"),
        ),
        (lambda one: one.update(size=10**6), "size is 1000000, but only 3 ranks are listed"),
        (lambda one: one.update(ranks={}), message_pattern("stragglers.no_list_objects")),
        (lambda one: one["ranks"].append(one["ranks"][0] | {"pid": 1}), "rank 0 is there twice"),
        (lambda one: one["missing_ranks"].append({"rank": 0}), message_pattern("stragglers.rank_missing", both="0")),
        (lambda one: one["ranks"][0].pop("collective_counts"), "no object collective_counts"),
        (lambda one: one["ranks"][0]["collective_counts"].update(AllReduce=-1), "AllReduce is '-1'"),
        (
            lambda one: one["ranks"][0].update(rank=3),
            message_pattern("importers.expected_whole_number_2", name="rank", value="'3'", least="0"),
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, edit, said):
    with pytest.raises(LogError, match=said):
        progress_of_ras(answer(tmp_path, edit))


def test_no_communicator(tmp_path):
    for communicators, said in (([], "no communicator; ask RAS while the job runs"), (3, "no list of communicators")):
        (tmp_path / "ras.json").write_text(json.dumps({**RAS, "communicators": communicators}))
        with pytest.raises(LogError, match=said):
            progress_of_ras(tmp_path / "ras.json")
