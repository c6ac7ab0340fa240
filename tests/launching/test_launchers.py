"""What each launcher is told, word by word, and what is refused because it has no words for it."""

import os
import shlex
from pathlib import Path

import pytest

from allreduce_bench.launching.find import mpirun_command
from allreduce_bench.launching.launcher import Launcher, LaunchError
from allreduce_bench.launching.launchers import openmpi
from allreduce_bench.launching.launchers.srun import options_for
from allreduce_bench.launching.layout import nodes_for, ranks_a_node
from allreduce_bench.runs.start import Start, StartError

OPEN_MPI = Launcher("mpirun", "Open MPI 5.0.11", "openmpi")
OLD_OPEN_MPI = Launcher("mpirun", "Open MPI 4.1.6", "openmpi")
HYDRA = Launcher("mpirun", "MPICH 5.0.2", "mpich")
SRUN = Launcher("srun", "MPICH 5.0.2", "srun", ("--mpi=pmi2",))
PLAIN = Launcher("mpirun", "Intel(R) MPI Library 2021.11", "plain")

CARRIED = "-x UCX_NET_DEVICES=lo -x FI_TCP_IFACE=lo -x FI_SOCKETS_IFACE=lo -x GLOO_SOCKET_IFNAME=lo"
GIVEN = "-genv UCX_NET_DEVICES lo -genv FI_TCP_IFACE lo -genv FI_SOCKETS_IFACE lo -genv GLOO_SOCKET_IFNAME lo"
TOLD = "-x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR"
HOSTS = ("a", "b:3")
BOTH = {"map_by": "numa", "bind_to": "core"}


@pytest.fixture(autouse=True)
def a_node_of_four_cores(monkeypatch):
    monkeypatch.setattr(openmpi, "cores", lambda: 4)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in [*os.environ]:
        if name.startswith(("SLURM_", "UCX_", "FI_", "OMP", "MPI", "PYTHONPATH", "LD_LIBRARY_PATH", "GLOO_", "PSM2_")):
            monkeypatch.delenv(name)


def told(found: Launcher, ranks: int, **start) -> str:
    words = mpirun_command(found, ranks, Start(**start), ["program"])
    assert words[-1] == "program"
    return shlex.join(words[:-1])


@pytest.mark.parametrize(
    "launcher, ranks, start, words",
    [
        (OPEN_MPI, 4, {}, "mpirun -n 4"),
        (OPEN_MPI, 4, {"launcher_args": "-v --tag 'a b'"}, "mpirun -n 4 -v --tag 'a b'"),
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
        (HYDRA, 8, {}, "mpirun -n 8"),
        (HYDRA, 4, {"ranks_per_node": 2, **BOTH}, "mpirun -n 4 -ppn 2 -map-by numa -bind-to core"),
        (HYDRA, 5, {"hosts": HOSTS}, "mpirun -n 5 -hosts a:2,b:3"),
        (
            HYDRA,
            2,
            {"hosts": ("a", "b"), "remote_shell": "env -u A"},
            "env 'HYDRA_LAUNCHER_EXTRA_ARGS=-u A' mpirun -n 2 -hosts a:1,b:1 -launcher ssh -launcher-exec /usr/bin/env",
        ),
        (HYDRA, 2, {"interface": "lo"}, f"mpirun -n 2 -iface lo {GIVEN}"),
        (SRUN, 4, {}, "srun -n 4 --mpi=pmi2 --kill-on-bad-exit=1"),
        (
            SRUN,
            4,
            {"hosts": ("a", "b"), "map_by": "cyclic", "bind_to": "cores", "launcher_args": "-v"},
            "srun -n 4 --mpi=pmi2 --kill-on-bad-exit=1 -N 2 --ntasks-per-node=2 -w a,b "
            "--distribution=cyclic --cpu-bind=cores -v",
        ),
        (
            SRUN,
            2,
            {"hosts": ("a", "b"), "ranks_per_node": 2},
            "srun -n 2 --mpi=pmi2 --kill-on-bad-exit=1 -N 1 --ntasks-per-node=2 -w a",
        ),
        (PLAIN, 3, {"launcher_args": "-v"}, "mpirun -n 3 -v"),
    ],
)
def test_what_a_launcher_is_told(launcher, ranks, start, words):
    assert told(launcher, ranks, **start) == words


def test_a_template_is_filled_and_its_ranks_get_the_variables_by_env(monkeypatch):
    flux = Launcher("/bin/flux", "MPICH 5.0.2", "template")
    start = Start(launcher="flux run -n {ranks} -N {nodes} '{{x}}'", ranks_per_node=4, interface="lo")
    words = mpirun_command(flux, 6, start, ["program"])
    assert words[:7] == ["/bin/flux", "run", "-n", "6", "-N", "2", "{x}"] and words[7] == "env"
    assert "UCX_NET_DEVICES=lo" in words[8:-1] and words[-1] == "program"
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    assert told(flux, 2, launcher="flux run -n {ranks} -N {nodes}") == "/bin/flux run -n 2 -N 2"
    assert told(SRUN, 6).endswith("-N 4 --ntasks-per-node=2")


def test_root_says_so_to_open_mpi_and_remote_ranks_get_what_steers_them(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("UCX_TLS", "tcp,self")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    assert told(OPEN_MPI, 2) == "mpirun -n 2 --allow-run-as-root"
    remote = "-x UCX_TLS -x PYTHONPATH -x ALLREDUCE_BENCH_COMMAND -x ALLREDUCE_BENCH_MONITOR"
    assert told(OPEN_MPI, 2, hosts=("a",)) == f"mpirun -n 2 --allow-run-as-root --host a:2 {remote}"


@pytest.mark.parametrize(
    "launcher, start, words",
    [
        (OPEN_MPI, {"map_by": "core", "ranks_per_node": 2}, "Open MPI takes one of them; say --map-by ppr:2:node"),
        (SRUN, {"hosts": ("a:2",)}, "srun knows none; name the hosts alone and say --ranks-per-node"),
        (SRUN, {"remote_shell": "rsh"}, "--remote-shell: srun is not told such things here"),
        (PLAIN, {"hosts": ("a",), "bind_to": "core"}, "--hosts, --bind-to: the mpirun of Intel"),
        (HYDRA, {"hosts": ("a",), "remote_shell": "no-such-shell"}, "there is no program 'no-such-shell' in PATH"),
    ],
)
def test_what_a_launcher_has_no_words_for_is_refused(launcher, start, words):
    with pytest.raises(LaunchError, match=words):
        told(launcher, 4, **start)


@pytest.mark.parametrize("launcher", ["flux run", "flux run -n {ranks!r}", "x {ranks", "x {nodes}", "{ranks} {0}", ""])
def test_a_template_that_cannot_be_filled_is_refused(launcher):
    with pytest.raises(StartError, match="launcher"):
        Start(launcher=launcher)


def test_a_host_from_a_file_cannot_be_an_option():
    with pytest.raises(StartError, match="'-oProxyCommand=x' is no host"):
        Start(hosts=("-oProxyCommand=x",))


def test_ranks_of_a_node_count_hosts_slots_and_ranks_per_node(monkeypatch):
    assert ranks_a_node(8) == 8 and nodes_for(8, Start()) is None
    assert ranks_a_node(8, Start(hosts=("a", "b"))) == 4
    assert ranks_a_node(3, Start(hosts=("a", "b:1", "c"))) == 1
    assert ranks_a_node(8, Start(hosts=("a:2", "b:6"))) == 6 and ranks_a_node(2, Start(hosts=("a:2", "b:6"))) == 2
    assert ranks_a_node(9, Start(hosts=("a:2", "b:2"))) == 5
    assert ranks_a_node(8, Start(ranks_per_node=2)) == 2 and nodes_for(7, Start(ranks_per_node=2)) == 4
    assert nodes_for(2, Start(hosts=("a:2", "b:6"))) == 1
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    assert ranks_a_node(8) == 3 and nodes_for(2, Start()) == 2
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "4(x2),3")
    assert ranks_a_node(3) == 3 and nodes_for(3, Start()) == 1
    assert ranks_a_node(11) == 4 and nodes_for(11, Start()) == 3 and ranks_a_node(14) == 5


@pytest.mark.parametrize(
    "known, library, asked",
    [
        ("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi", "MPICH 4.2", ("--mpi=pmi2",)),
        ("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific: pmix_v4", "Open MPI 5.0.1", ("--mpi=pmix",)),
        ("MPI plugin types are...\n\tcray_shasta\n\tnone", "MPI VERSION : CRAY MPICH version 8.1", ()),
        ("MPI plugin types are...\n\tcray_shasta\n\tnone", "Open MPI 5.0.1", None),
    ],
)
def test_srun_is_asked_how_ranks_find_each_other(tmp_path, known, library, asked):
    srun = script(tmp_path / "srun", f"#!/bin/sh\necho '{known}' >&2\n")
    if asked is None:
        with pytest.raises(LaunchError, match="needs pmix, but 'srun --mpi=list' knows cray_shasta, none"):
            options_for(str(srun), library, "")
        assert options_for(str(srun), library, "--mpi=none") == ()
    else:
        assert options_for(str(srun), library, "") == asked


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
