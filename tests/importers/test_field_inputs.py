"""Each file of data/field_inputs, in the shape of a public report: what it gives, or why it is refused."""

import warnings

import pytest
from made_logs import US
from places import DATA

from allreduce_bench.importers import Asked, LogError, LogWarning, read

FIELD = DATA / "field_inputs"
K, M, G = 1024, 1024**2, 1024**3
READ = {  # file -> ranks, {size: us} of what is there, and what was said of lines that were left out
    "dsbench.txt": (8, {2 * K: 27.11, M: 61.53, G: 3830}, ""),
    "han.txt": (None, {4: 61.6, 1024: 80.96, 65536: 2600.1, M: 31100.55}, ""),
    "imb_check.txt": (16, {0: 0.27, 4: 4.66}, "is it cut off?"),
    "imb_columns.txt": (96, {0: 0.03, 4: 298.07, 8: 296.32}, ""),
    "imb_old_crlf.txt": (2, {0: 0.03, 4: 8.18}, ""),
    "meta.json": (8, {32 * M: 494.27}, ""),
    "nccl_split.txt": (2, {8 * M: 83.33, 16 * M: 160.1, 32 * M: 310.0}, "is it cut off?"),
    "nohash.txt": (2, {32: 19.2, 65536: 26.2, 16 * M: 180.2}, ""),
    "osu_fail.txt": (None, {1: 1.53, 2: 2.58, 4: 2.57, 8: 1.51}, ""),
    "osu_fz.txt": (None, {8: 19.12, 1024: 25.4, M: 1180.0}, ""),
    "osu_fz_escaped.txt": (None, {8: 19.12, 1024: 25.4, M: 1180.0}, ""),
    "osu_mixed.txt": (None, {4: 1.34, 8: 1.17}, "Non-blocking Allreduce; left out"),
    "osu_nohash.txt": (None, {4: 7.61, 1024: 7.95, M: 179.68}, ""),
    "tuned.txt": (None, {4: 199.6, 1024: 251.96, 65536: 1300.1, M: 9100.55}, ""),
    "ucc_perftest.txt": (4, {8: 4.46, 262144: 76.46, M: 211.42}, ""),
}
SEVERAL = {  # of several competitors or types: tested with their readers
    *("gloo158.tsv", "nccl_all.txt", "rccl.csv", "rccl_fragments.json", "rccl_list.json", "rccl_now.csv"),
    *("rccl_now.json", "stas.txt", "wide.csv", "wide.md"),
}
REFUSED = {
    "gloo.txt": "a log of Gloo's benchmark, which is not read",
    "gpcnet.txt": "a log of GPCNeT, which is not read",
    "hvd_autotune.csv": "Horovod's autotuning",
    "imb_multi.txt": "found: Multi-Allreduce",
    "k8s.log": "line 1: no all-reduce in this file, which says 'ssh: Could not resolve hostname nccl-tests-worker-0",
    "nccl_broadcast_2ranks.txt": "not an all-reduce: root 0",
    "nccl_reduce_2ranks.txt": "not an all-reduce: root 0",
    "nccl_reduce_scatter_small.txt": "not an all-reduce: count times element size",
    "nompi.txt": "each process ran alone, as nccl-tests do that are built without MPI=1",
    "nvshmem.txt": "NVSHMEM's perftest",
    "nvshmem2.txt": "NVSHMEM's perftest",
    "param.txt": "a log of PARAM's benchmarks, which is not read",
    "sglang.txt": "a log of SGLang's benchmark, which is not read",
    "skampi.txt": "a log of SKaMPI, which is not read",
}


def test_every_file_is_a_case():
    assert {path.name for path in FIELD.iterdir()} == {*READ, *SEVERAL, *REFUSED}


@pytest.mark.parametrize("name", READ)
def test_what_is_an_all_reduce_is_read(name):
    ranks, times_us, said = READ[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LogWarning)
        rows = read(FIELD / name)
    assert {row.size_bytes: row.time_s / US for row in rows if row.time_s} == pytest.approx(times_us)
    assert {row.ranks for row in rows} == {ranks} and said in " ".join(str(warning.message) for warning in caught)
    assert bool(said) == bool(caught)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_none_is_refused_by_its_name(name):
    with pytest.raises(LogError, match=REFUSED[name]) as refusal:
        read(FIELD / name)
    assert str(FIELD / name) in str(refusal.value) and "\n" not in str(refusal.value)


def test_one_of_many_types_and_operations_is_chosen():
    rows = read(FIELD / "nccl_all.txt", Asked(where={"dtype": "float32", "op": "prod"}))
    assert [row.time_s / US for row in rows] == pytest.approx([8.2, 18.2]) and {row.ranks for row in rows} == {2}
