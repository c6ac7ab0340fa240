"""Logs of other tools, made up or real, and what is read of them."""

import json
from pathlib import Path

from places import LOGS

from allreduce_bench.importers import Imported

US = 1e-6
OSU = """
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)
4                       1.50
8                       2.50
16                      3.50
"""
OTHER = OSU.replace("Allreduce", "Alltoall").replace("1.50", "9.50")
IMB = (LOGS / "imb_2021.11_real_4ranks_npmin2.txt").read_text()
NCCL = (LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt").read_text()
CSV = """\
system,job,nodes,ppn,algo,type,bytes,median_ns,mean_ns
here,1,4,2,ring,int32,64,2000,9000
here,1,4,2,tree,int32,64,1000,9000
there,2,4,1,ring,int32,64,4000,9000
"""


def log(folder: Path, text: str | bytes, name: str = "a.log") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def times(rows: list[Imported]) -> dict[int, float]:
    """Microseconds of each size."""
    return {row.size_bytes: round(row.time_s / US, 6) for row in rows if row.time_s}


def result(size_bytes: int, half: dict | None) -> dict:
    row = {"size": size_bytes, "count": size_bytes // 4, "type": "float", "redop": "sum", "root": "    -1"}
    return row | {"out_of_place": half, "in_place": None, "actual_iterations": 20, "experiment_name": "all_reduce_perf"}


def nccl_json(*results: dict) -> str:
    device = {"group": 0, "device": 0}
    devices = [{"rank": rank, "hostname": f"n{rank}", **device} for rank in (0, 4)]
    head = {"version": 2, "args": ["./all_reduce_perf"], "env": ["SECRET=1"], "nccl_version": 22807}
    return json.dumps({**head, "config": {"nthreads": 1, "ngpus": 4, "devices": devices}, "results": results})
