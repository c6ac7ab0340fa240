"""Arrivals of every kind of source, told by content."""

import json
import pickle
import random

import pytest
from made_arrivals import arrivals, write_steps
from made_inspector import Job, write_job
from made_logs import OSU, log
from made_runs import build_run
from made_traces import damaged, write_traces

from allreduce_bench.importers import LogError
from allreduce_bench.stragglers.sources import (
    INSPECTOR,
    KINETO,
    MONITOR,
    find_sources,
)


def test_files_of_one_job_are_one_source(tmp_path):
    paths = write_job(tmp_path / "job", Job(ranks=2, steps=12, slow=1))
    steps = write_steps(tmp_path / "s.jsonl", arrivals(steps=20))
    found = find_sources([paths[0], steps, paths[1]])
    assert [source.kind for source in found] == [INSPECTOR, MONITOR]
    assert found[0].what.startswith("communicator 0xe62dedaa97644a (DP Group 0), 2 ranks")
    (folder,) = find_sources([tmp_path / "job"], "DP Group 0")
    assert folder.arrivals.ready_s.shape == (11, 2)


def test_starts_of_a_program_are_sources(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text("".join(write_steps(path, arrivals(steps=20), job=job).read_text() for job in "ab"))
    assert [source.what for source in find_sources([path])] == ["start 1", "start 2"]


def test_a_plain_run_has_none(tmp_path):
    build_run(tmp_path / "run")
    assert find_sources([tmp_path / "run"]) == []


def test_anything_else_is_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, said in {
        tmp_path / "empty": "no run and no files of NCCL Inspector; expected a run measured with --compute",
        log(tmp_path, OSU): "line 1: unknown; expected a run measured",
        tmp_path / "none.csv": "no such file",
    }.items():
        with pytest.raises(LogError, match=said):
            find_sources([path])
    with pytest.raises(LogError, match="--communicator chooses"):
        find_sources([write_steps(tmp_path / "s.jsonl", arrivals(steps=20))], "0x1")


def test_traces_of_a_job_are_one_source(tmp_path):
    write_traces(tmp_path / "job")
    (source,) = find_sources([tmp_path / "job"])
    assert (source.kind, source.what) == (KINETO, "4 ranks, 30 all_reduce")


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::allreduce_bench.importers.LogWarning")
def test_odd_values_are_read_or_refused_in_one_line(tmp_path):
    paths = write_traces(tmp_path)
    whole, draw = json.loads(paths[0].read_text()), random.Random(1)
    for _ in range(100):
        paths[0].write_text(json.dumps(damaged(whole, draw)))
        try:
            find_sources(paths)
        except LogError as error:
            assert str(error).isprintable()


def test_a_pickle_is_never_unpickled(tmp_path):
    path = tmp_path / "rank_0"
    path.write_bytes(pickle.dumps(Exploding(), protocol=2))
    with pytest.raises(LogError, match="binary, not text"):
        find_sources([path])


class Exploding:
    """What fails when it is unpickled."""

    def __reduce__(self):
        return divmod, (1, 0)
