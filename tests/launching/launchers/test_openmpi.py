"""What Open MPI's mpirun is told."""

import os

import pytest

from allreduce_bench.launching.launcher import Launcher, LaunchError

OPEN_MPI = Launcher("mpirun", "Open MPI 5.0.11", "openmpi")
OLD_OPEN_MPI = Launcher("mpirun", "Open MPI 4.1.6", "openmpi")
CARRIED = "-x UCX_NET_DEVICES=lo -x FI_TCP_IFACE=lo -x FI_SOCKETS_IFACE=lo -x GLOO_SOCKET_IFNAME=lo"
TOLD = "-x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR"
HOSTS = ("a", "b:3")
BOTH = {"map_by": "numa", "bind_to": "core"}


@pytest.mark.parametrize(
    "launcher, ranks, start, words",
    [
        (OPEN_MPI, 4, {}, "mpirun -n 4"),
        (OPEN_MPI, 4, {"launcher_args": "-v --tag 'a b'"}, "mpirun -n 4 -v --tag 'a b'"),
        (OPEN_MPI, 4, {"variables": ("UCX_TLS=tcp,self", "A=b c")}, "mpirun -n 4 -x UCX_TLS=tcp,self -x 'A=b c'"),
        (OPEN_MPI, 8, {}, "mpirun -n 8 --oversubscribe --mca mpi_yield_when_idle 1"),
        (OPEN_MPI, 4, BOTH, "mpirun -n 4 --map-by numa --bind-to core"),
        (OPEN_MPI, 8, {"ranks_per_node": 4}, "mpirun -n 8 --map-by ppr:4:node"),
        (
            OPEN_MPI,
            5,
            {"hosts": HOSTS},
            "mpirun -n 5 --host a:2,b:3 -x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR",
        ),
        (
            OPEN_MPI,
            12,
            {"hosts": ("a", "b")},
            "mpirun -n 12 --host a:6,b:6 -x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR "
            "--oversubscribe --mca mpi_yield_when_idle 1 --map-by slot",
        ),
        (
            OPEN_MPI,
            2,
            {"hosts": ("a", "b"), "remote_shell": "env -u A"},
            f"mpirun -n 2 --host a:1,b:1 --prtemca plm_ssh_agent '/usr/bin/env -u A' {TOLD}",
        ),
        (
            OLD_OPEN_MPI,
            2,
            {"hosts": ("a", "b"), "remote_shell": "env"},
            f"mpirun -n 2 --host a:1,b:1 --mca plm_rsh_agent /usr/bin/env {TOLD}",
        ),
        (
            OPEN_MPI,
            2,
            {"interface": "lo"},
            f"mpirun -n 2 --mca btl_tcp_if_include lo --prtemca prte_if_include lo {CARRIED}",
        ),
        (
            OLD_OPEN_MPI,
            2,
            {"interface": "lo"},
            f"mpirun -n 2 --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo {CARRIED}",
        ),
    ],
)
def test_what_it_is_told(told, launcher, ranks, start, words):
    assert told(launcher, ranks, **start) == words


def test_root_says_so_to_open_mpi_and_remote_ranks_get_what_steers_them(told, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("UCX_TLS", "tcp,self")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    assert told(OPEN_MPI, 2) == "mpirun -n 2 --allow-run-as-root"
    remote = "-x UCX_TLS -x PYTHONPATH -x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR"
    assert told(OPEN_MPI, 2, hosts=("a",)) == f"mpirun -n 2 --allow-run-as-root --host a:2 {remote}"


def test_placement_is_said_once(told):
    words = "Open MPI accepts only one of them; use --map-by ppr:2:node"
    with pytest.raises(LaunchError, match=words):
        told(OPEN_MPI, 4, map_by="core", ranks_per_node=2)


@pytest.mark.parametrize(
    ("tasks", "ranks", "start", "words"),
    [
        ("1", 2, {}, "mpirun -n 2 --oversubscribe"),
        ("2", 2, {}, "mpirun -n 2"),
        ("1(x2)", 4, {}, "mpirun -n 4 --oversubscribe --map-by slot"),
        ("1(x2)", 4, {"ranks_per_node": 2}, "mpirun -n 4 --oversubscribe --map-by ppr:2:node"),
        ("1", 2, {"hosts": ("a:2",)}, f"mpirun -n 2 --host a:2 {TOLD}"),
    ],
)
def test_more_ranks_than_tasks_of_a_job_are_allowed(told, monkeypatch, tasks, ranks, start, words):
    """A task is a slot, however many CPUs it has: salloc -n 1 -c 2."""
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", tasks)
    assert told(OPEN_MPI, ranks, **start) == words
