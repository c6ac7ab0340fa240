"""What users of nccl-tests, OSU Micro-Benchmarks, Intel MPI Benchmarks and mpirun type, and what it is called here.

What means the same everywhere is taken: `-np 4`, `-w 5`, `-d float`, `--op MPI_SUM`. An option that means one thing in
one tool and another elsewhere is refused with the options that say it here: `-i` are iterations in osu_allreduce and
bytes of a step in nccl-tests, `-x` are warm-ups in the one and bytes in the other, `-m` are sizes or calls.
"""

import re

from ..runs.dtypes import DTYPES
from ..runs.plan import OPS

_SIZES = "sizes are -b 8 -e 1M -f 2, or --sizes 8,1K,1M"
_ITERS = "timed calls are --iters 100"
_WARMUPS = "untimed calls are --warmups 5, or -w 5"
_RANKS = "ranks are -n 4, or -n 2,4,8 for one run of each"
_CHECKED = "every result is checked, before and after its times"
_FORMAT = "results go to stdout in --format json, csv, nccl or osu; -o is the run folder"
_ALL_CALLS = "every call is kept in the run folder; --record all keeps entry and exit of every rank, too"
_CPU = "buffers are in the memory of the host, and a rank has one"

OPTION_HABITS = {
    # nccl-tests
    "-g": f"{_CPU}; {_RANKS}",
    "--ngpus": f"{_CPU}; {_RANKS}",
    "-t": f"each rank is a process; {_RANKS}",
    "--nthreads": f"each rank is a process; {_RANKS}",
    "-i": f"{_ITERS}; {_SIZES}",
    "--stepbytes": f"{_SIZES}",
    "--warmup_iters": _WARMUPS,
    "--warmup-iters": _WARMUPS,
    "--agg_iters": "calls without a common start are --back-to-back 20",
    "-N": "fresh starts are --launches 5; ranks on each node are --ranks-per-node 8; nodes are chosen by submit",
    "--run_cycles": "fresh starts are --launches 5",
    "--average": "a time is the maximum over ranks; --record all keeps those of every rank",
    "-c": _CHECKED,
    "--blocking": "every call is blocking; calls without a common start are --back-to-back 20",
    "--datatype": "the element type is -d float32, or --dtype float32",
    "-J": _FORMAT,
    "--output_file": _FORMAT,
    "-I": _ALL_CALLS,
    "--per_iter_timing": _ALL_CALLS,
    "-T": "a launch in which nothing moves ends after --timeout 60s; the element type is -d float32",
    "-r": "an all-reduce has no root",
    "--root": "an all-reduce has no root",
    # OSU Micro-Benchmarks
    "-x": _WARMUPS,
    "--warmup": _WARMUPS,
    "--iterations": _ITERS,
    "-m": f"{_SIZES}",
    "--message-size": f"{_SIZES}",
    "-M": "vectors that do not fit are left out and named; the largest size is -e 16M",
    "--mem-limit": "vectors that do not fit are left out and named; the largest size is -e 16M",
    "--full": "the table has all columns in --format long; --format osu is the layout of osu_allreduce -f",
    "--validation": _CHECKED,
    "-u": _CHECKED,
    "-z": f"percentiles stand in summary.csv and in the report; {_ALL_CALLS}",
    "--tail-lat": f"percentiles stand in summary.csv and in the report; {_ALL_CALLS}",
    "-G": "pictures are made by: allreduce-bench report RUN",
    "--graph": "pictures are made by: allreduce-bench report RUN",
    "-l": "results are out of place",
    # Intel MPI Benchmarks
    "-npmin": _RANKS,
    "--npmin": _RANKS,
    "-msglog": "sizes 2^3 to 2^20 are -b 8 -e 1M -f 2",
    "--msglog": "sizes 2^3 to 2^20 are -b 8 -e 1M -f 2",
    "-msglen": f"{_SIZES}",
    "-msgsize": f"{_SIZES}",
    "-iter": _ITERS,
    "-iter_policy": "calls go on until --precision or --cell-time; a fixed number is --iters 100",
    "-time": "the longest time of a cell is --cell-time 2s, that of the run --within 10m",
    "-mem": "vectors that do not fit are left out and named; the largest size is -e 16M",
    "-off_cache": "other buffers in each call are --cache cold",
    "-multi": "groups at the same time are --groups 2, div:8 or mod:8",
    "-red_data_type": "the element type is -d float32, or --dtype float32",
    "-include": "algorithms are -a native,ring",
    "-sync": "how ranks enter a call together is --sync round_time or --sync barrier",
    # mpirun
    "--np": _RANKS,
    "--host": "hosts are --hosts n1:8,n2:8",
    "-hosts": "hosts are --hosts n1:8,n2:8",
    "-hostfile": "a file of hosts is --hostfile FILE",
    "--machinefile": "a file of hosts is --hostfile FILE",
    "-machinefile": "a file of hosts is --hostfile FILE",
    "-ppn": "ranks on each node are --ranks-per-node 8",
    "--ntasks-per-node": "ranks on each node are --ranks-per-node 8",
}
_MEASURE = "times are measured by: allreduce-bench run -n 4"
COMMAND_HABITS = {
    "osu_allreduce": f"{_MEASURE} --format osu;",
    "all_reduce_perf": f"{_MEASURE} --format nccl;",
    "imb-mpi1": f"{_MEASURE} -a native;",
    "imb": f"{_MEASURE} -a native;",
    "allreduce": f"{_MEASURE};",
    "bench": f"{_MEASURE};",
    "benchmark": f"{_MEASURE};",
    "plot": "pictures are made by: allreduce-bench report RUN;",
    "help": "help is an option:",
    "version": "the version is an option: allreduce-bench --version;",
}
_ELEMENT_TYPES = {
    **{"float": "float32", "single": "float32", "fp32": "float32", "double": "float64", "fp64": "float64"},
    **{"half": "float16", "fp16": "float16", "bf16": "bfloat16", "int": "int32", "int32_t": "int32"},
    "int64_t": "int64",
}
_NUMBER = r"\d+(?:\.\d+)?\s*[KMGkmg]?(?:i?B)?"


def dtype_named(text: str) -> str:
    """Our name of an element type of C, MPI or nccl-tests, such as `float` or `MPI_DOUBLE`; else `text` itself."""
    name = text.strip().lower().removeprefix("mpi_")
    name = _ELEMENT_TYPES.get(name, name)
    return name if name in DTYPES else text


def op_named(text: str) -> str:
    """Our name of an operation of MPI, such as `MPI_SUM`; else `text` itself."""
    name = text.strip().lower().removeprefix("mpi_")
    return name if name in OPS else text


def size_habit(text: str) -> str:
    """What is said of a size that other tools understand, such as `8:1M` or `1e6`; empty: of no other one."""
    if match := re.fullmatch(rf"\s*({_NUMBER})\s*[:-]\s*({_NUMBER})\s*", text):
        bounds = f"-b {match[1]} -e {match[2]}"
        return f"'{text}' is a range; expected single sizes such as 8,1K,1M; as a range of run say {bounds}"
    if re.fullmatch(r"\s*\d+(?:\.\d+)?[eE]\+?\d{1,2}\s*", text) and (nbytes := float(text)) == int(nbytes):
        return f"'{text}' is no size; expected {int(nbytes)}, or bytes with K, M or G (1024), such as 8, 4K or 16M"
    return ""
