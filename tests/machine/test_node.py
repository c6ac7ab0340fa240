"""What is known of a node, and that whatever it does not tell costs nothing but that."""

import json
import os
from types import SimpleNamespace

import pytest

from allreduce_bench.machine import kernel, node
from allreduce_bench.machine.node import free_memory, huge_pages, memory

MEMINFO = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB\nHugePages_Total:      3\n"


def test_this_node_is_described_in_json():
    facts = node.node_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["host"] and 1 <= facts["cores"] <= facts["threads"] == os.cpu_count()
    assert 0 < facts["free_memory_nbytes"] < facts["memory_nbytes"]
    assert "127.0.0.1" in [one["address"] for one in facts["interfaces"]]
    assert node.affinity() == frozenset(os.sched_getaffinity(0))


def test_a_node_that_tells_nothing_is_described_all_the_same(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr("socket.if_nameindex")
    facts = node.node_facts()
    unknown = ("load_1min", "cpu_quota", "memory_nbytes", "free_memory_nbytes", "huge_pages", "container")
    assert [facts[name] for name in unknown] == [None] * len(unknown)
    assert facts["interfaces"] == facts["governors"] == facts["fabric_devices"] == []
    assert facts["cores"] == os.cpu_count() and facts["processor"]
    assert node.affinity() is None


@pytest.mark.parametrize("gone", ["proc", "sys", "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "sys/class/net"])
def test_each_thing_that_is_taken_away_leaves_the_others(put, gone):
    for path, text in {
        "proc/cpuinfo": "model name\t: A Processor",
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job",
        "sys/fs/cgroup/job/cpu.max": "150000 100000",
        "sys/class/net/lo/speed": "",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    }.items():
        if not path.startswith(gone):
            put(path, text)
    facts = node.node_facts()
    assert (facts["processor"] == "A Processor") == (gone not in ("proc", "proc/cpuinfo"))
    assert (facts["memory_nbytes"] == 1024000) == (gone not in ("proc", "proc/meminfo"))
    assert (facts["cpu_quota"] == 1.5) == (gone not in ("proc", "sys", "proc/self/cgroup"))
    assert (facts["governors"] == ["powersave"]) == (gone != "sys")


def test_hardware_threads_of_one_core_count_once(put):
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        put(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    assert node.cores() == 2


def test_governors_are_named_once(put):
    for cpu, kind in enumerate(("powersave", "performance", "powersave")):
        put(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", kind)
    assert node.node_facts()["governors"] == ["performance", "powersave"]


def test_memory_is_what_the_node_and_every_control_group_allow(put):
    put("proc/meminfo", MEMINFO)
    assert (memory(), free_memory()) == (1024000, 614400)
    put("proc/self/cgroup", "0::/job/step")
    for folder, limit, used in (("job", 500_000, 300_000), ("job/step", "max", 100_000)):
        put(f"sys/fs/cgroup/{folder}/memory.max", limit)
        put(f"sys/fs/cgroup/{folder}/memory.current", used)
    assert kernel.memory_left() == free_memory() == 200_000
    put("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 50000\nactive_file 7")
    assert free_memory() == 250_000
    put("sys/fs/cgroup/job/memory.current", 600_000)
    assert free_memory() == 0


def test_a_control_group_that_allows_more_than_there_is_does_not_make_memory(put):
    put("proc/meminfo", MEMINFO)
    put("proc/self/cgroup", "0::/")
    put("sys/fs/cgroup/memory.max", 10**12)
    put("sys/fs/cgroup/memory.current", 5)
    assert free_memory() == 614400


def test_huge_pages_are_as_chosen(put):
    assert huge_pages() is None
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    assert huge_pages() == {"transparent": "madvise", "reserved": None}
    put("proc/meminfo", MEMINFO)
    assert huge_pages() == {"transparent": "madvise", "reserved": 3}


def test_the_clock_is_measured(monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(node, "perf_counter", lambda: (next(ticks) // 4) * 8e-6)
    measured = node.timer()
    assert measured["step_s"] == pytest.approx(8e-6) and measured["cost_s"] == pytest.approx(2e-6, rel=0.01)
    pauses = iter([0.0] * 500 + [1.0] * 10**6)  # once the process lost its turn for a second
    ticks = iter(range(10**6))
    monkeypatch.setattr(node, "perf_counter", lambda: next(ticks) * 1e-7 + next(pauses))
    assert node.timer()["cost_s"] == pytest.approx(1e-7)
    monkeypatch.setattr(node, "perf_counter", lambda: 1.0)
    assert node.timer()["step_s"] is None


def test_only_variables_on_the_list_are_read():
    environ = {
        "OMPI_MCA_btl": "tcp",
        "AWS_SECRET": "x",
        "OMPI_MCA_pmix_auth_token": "x",
        "UCX_PASSWORD": "x",
        "SLURM_JOB_ID": "7",
        "OMPI_MCA_initial_wdir": "/home",
    }
    assert node.allowed_variables(environ) == {"OMPI_MCA_btl": "tcp", "SLURM_JOB_ID": "7"}


USUAL = {
    "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
    "UCX_TLS": "rc_x,sm,self,cuda_copy",
    "UCX_IB_PKEY": "0x8001",
    "UCX_IB_GID_INDEX": "3",
    "UCX_MAX_RNDV_RAILS": "2",
    "UCX_LOG_FILE": "/scratch/user/ucx.%h.%p.log",
    "UCX_RKEY_PTR_SEG_SIZE": "512k",
    "UCX_TCP_KEEPIDLE": "10s",
    "UCX_KEYVAL": "pairs",
    "OMPI_MCA_btl_tcp_if_include": "eth0,10.0.0.0/24",
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_btl": "^openib,uct",
    "OMPI_MCA_btl_openib_pkey": "32769",
    "OMPI_MCA_mca_base_component_path": "/opt/spack/openmpi-5.0.3-2bqmxx5fydg5cvrbpw4ikizuqq5dc6ty/lib",
    "OMPI_MCA_orte_hnp_uri": "1234567890.0;tcp://10.0.0.1,192.168.1.1:40123",
    "OMPI_MCA_hwloc_base_binding_policy": "core:overload-allowed",
    "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/home/user/ompi_dynamic_rules_2024-05-01.txt",
    "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY": "-1",
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather",
    "MPICH_OFI_NIC_MAPPING": "0:0-15;1:16-31",
    "MPICH_RANK_REORDER_METHOD": "3",
    "I_MPI_AUTH_METHOD": "delegate",
    "I_MPI_PIN_DOMAIN": "[FF00FF00FF00FF00FF00FF00FF00FF00,00FF00FF00FF00FF00FF00FF00FF00FF]",
    "I_MPI_HYDRA_BOOTSTRAP": "slurm",
    "FI_PROVIDER": "cxi",
    "FI_CXI_DEFAULT_CQ_SIZE": "131072",
    "FI_PSM3_UUID": "d6f63a82-59c8-4b1d-9a1b-3fd0a1b2c3d4",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "PSM2_DEVICES": "self,shm,hfi",
    "OMP_PLACES": "{0:4},{4:4},{8:4}",
    "OMP_PROC_BIND": "close",
    "GLOO_SOCKET_IFNAME": "hsn0",
    "SLURM_JOB_ID": "123456",
    "SLURM_JOB_NODELIST": "nid[001000-001003,001010],x1000c0s0b0n[0-1]",
    "SLURM_TASKS_PER_NODE": "8(x4)",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x000000000000FFFF,0xFFFF000000000000",
    "SLURM_DISTRIBUTION": "block:cyclic",
    "PBS_JOBID": "1234567.pbs-server-01.example.org",
}


def test_usual_variables_are_kept_and_the_key_of_a_job_is_not():
    assert node.allowed_variables(USUAL) == dict(sorted(USUAL.items()))
    (kept,) = node.allowed_variables({node.KEY_OF_JOB: "3c9a0f4be1c3d5a7-8b6f1e2d3c4b5a69"}).values()
    assert kept == node.NOT_STORED


@pytest.mark.parametrize(
    "words, kept",
    [
        (["run", "--launcher-args", "-x TOKEN=hunter2 -x UCX_TLS=sm"], "-x TOKEN=not_stored -x UCX_TLS=sm"),
        (["mpirun", "-x", "TOKEN=hunter2"], "TOKEN=not_stored"),
        (["--export=ALL,HF_TOKEN=hunter2,UCX_TLS=sm"], "--export=ALL,HF_TOKEN=not_stored,UCX_TLS=sm"),
        (["mpiexec", "-genv", "MY_TOKEN", "hunter2"], "not_stored"),
        (["mpiexec", "-genv", "UCX_TLS", "sm"], "sm"),
        (["--launcher-args", "-genv MY_TOKEN hunter2 -n 2"], "-genv MY_TOKEN not_stored -n 2"),
        (["--launcher-args", "-x PASSWORD='hun ter2' -x UCX_TLS=b"], "-x PASSWORD=not_stored -x UCX_TLS=b"),
        (["--launcher-args", "-x 'PASSWORD=my hunter2' -n 2"], "-x PASSWORD=not_stored -n 2"),
        (["--launcher-args", r"-x PASSWORD=my\ hunter2 -n 2"], "-x PASSWORD=not_stored -n 2"),
        (["--launcher", "flux run --env=API_KEY=hunter2"], "flux run --env=API_KEY=not_stored"),
        (["--launcher", "UCX_TLS=sm API_KEY=hunter2 flux run"], "UCX_TLS=sm API_KEY=not_stored flux run"),
        (["--env=TOKEN=hunter2;hunter2"], "--env=TOKEN=not_stored"),
        (["--mca", "mca_base_env_list", "UCX_A=1;API_KEY=hunter2"], "UCX_A=1;API_KEY=not_stored"),
        (["--env", "PASSWORD=hun ter2"], "PASSWORD=not_stored"),
        (["-x", "TOKEN=hunter,2"], "TOKEN=not_stored"),
        (["--env", "PASSWORD=hunter2", "-n"], "-n"),
    ],
)
def test_values_of_variables_in_a_command_are_not_kept(words, kept):
    assert node.drop_values(words)[-1] == kept and "hunter2" not in " ".join(node.drop_values(words))


def test_usual_commands_are_kept_as_they_are():
    mpirun = "mpirun -n 4 --host n1:2,n2:2 --mca btl_tcp_if_include 10.0.0.0/24 -x UCX_TLS=sm --bind-to core --map-by"
    words = [*mpirun.split(), "ppr:2:node", "--hostfile", "a b", "--launcher-args", "--mca  pml ob1 -x TOKEN", "-o", ""]
    assert node.drop_values(words) == words
    assert node.drop_values(f"{name}={value}" for name, value in USUAL.items()) == [
        f"{name}={value}" for name, value in USUAL.items()
    ]


@pytest.mark.parametrize(("blocks", "ranks", "is_small"), [(16, 2, True), (16384, 8, False), (16384, 12, True)])
def test_little_shared_memory_is_told_with_the_remedy(root, monkeypatch, blocks, ranks, is_small):
    """64 KiB, and what Docker gives."""
    assert node.small_shared_memory(ranks) is None  # unknown
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=blocks, f_blocks=blocks, f_frsize=4096))
    small = node.small_shared_memory(ranks)
    assert bool(small) == is_small
    if small:
        assert small["text"].startswith("/dev/shm has ") and "--shm-size" in small["advice"]
