"""Traces of torch.profiler, told by content, alone and in folders."""

import shutil

import pytest
from made_inspector import Job, write_job
from made_traces import TORCH, write_traces

from allreduce_bench.importers import LogError
from allreduce_bench.stragglers.sources import KINETO, expand_folder, kind_of


def test_a_trace_is_told_by_its_content(tmp_path):
    shutil.copy(write_traces(tmp_path)[0], tmp_path / "x")
    assert kind_of(tmp_path / "x") == kind_of(TORCH / "late" / "trace_0.json.gz") == KINETO
    (tmp_path / "z.json").write_text('{"kind": "start", "schema": "allreduce-bench-steps-1"}\n')
    assert not any(map(kind_of, (tmp_path / "z.json", tmp_path, tmp_path / "none")))


def test_a_folder_gives_way_to_its_traces(tmp_path):
    (tmp_path / "none").mkdir()
    write_job(tmp_path / "job", Job(ranks=2, steps=12, slow=1))
    assert len(expand_folder(TORCH)) == 8
    for path in (tmp_path / "none", tmp_path / "job"):
        assert expand_folder(path) == [path]


@pytest.mark.parametrize("content", ["cut", b'{"schemaVersion": 1, "dev', b""])
def test_a_damaged_trace_in_a_folder_is_named(tmp_path, content):
    shutil.copytree(TORCH / "late", tmp_path / "job")
    damaged = tmp_path / "job" / "trace_0.json.gz"
    damaged.write_bytes(damaged.read_bytes()[:300] if content == "cut" else content)
    (tmp_path / "job" / "settings.json").write_text("{}")
    with pytest.raises(LogError, match=f"{damaged}.*damaged"):
        expand_folder(tmp_path / "job")
