"""What PyTorch and NCCL write, told by content, alone and in folders."""

import json
import shutil

from made_inspector import Job, write_job
from made_traces import RAS, TORCH, write_records, write_traces

from allreduce_bench.stragglers.sources import FLIGHT_RECORDER, KINETO, PICKLE, kind_of, kinds_of
from allreduce_bench.stragglers.sources import RAS as NCCL_RAS


def test_each_is_told_by_its_content(tmp_path):
    (tmp_path / "x").write_text(json.dumps(RAS))
    shutil.copy(TORCH / "record_0.pickle", tmp_path / "y.json")
    assert kind_of(tmp_path / "x") == NCCL_RAS and kind_of(tmp_path / "y.json") == PICKLE
    assert kind_of(write_records(tmp_path)[0]) == FLIGHT_RECORDER
    assert kind_of(write_traces(tmp_path)[0]) == kind_of(TORCH / "late" / "trace_0.json.gz") == KINETO
    (tmp_path / "z.json").write_text('{"kind": "start", "schema": "allreduce-bench-steps-1"}\n')
    assert kind_of(tmp_path / "z.json") == kind_of(tmp_path) == kind_of(tmp_path / "none") == ""


def test_a_folder_gives_way_to_its_files(tmp_path):
    kinds = [kind for _, kind in kinds_of([TORCH])]  # the pickle beside the others is left
    assert kinds.count(KINETO) == 8 and kinds.count(FLIGHT_RECORDER) == 4 and len(kinds) == 12
    shutil.copy(TORCH / "record_0.pickle", tmp_path / "nccl_trace_rank_0")
    assert kinds_of([tmp_path]) == [(tmp_path / "nccl_trace_rank_0", PICKLE)]
    (tmp_path / "none").mkdir()
    write_job(tmp_path / "job", Job(ranks=2, steps=12, slow=1))
    for path in (tmp_path / "none", tmp_path / "job"):
        assert kinds_of([path]) == [(path, "")]
