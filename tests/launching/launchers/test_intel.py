"""What Intel MPI's mpiexec is told."""

import pytest

from allreduce_bench.launching.launcher import Launcher, LaunchError
from allreduce_bench.launching.launchers import hydra

INTEL = Launcher("mpiexec", "Intel MPI 2021.18.1", "intel")
OFF = "-genv I_MPI_PIN off"
GIVEN = "-genv UCX_NET_DEVICES lo -genv FI_TCP_IFACE lo -genv FI_SOCKETS_IFACE lo -genv GLOO_SOCKET_IFNAME lo"


@pytest.fixture(autouse=True)
def a_node_of_four_cores_without_pinning(monkeypatch):
    monkeypatch.setattr(hydra, "cores", lambda: 4)
    monkeypatch.delenv("I_MPI_PIN", raising=False)


@pytest.mark.parametrize(
    "ranks, start, words",
    [
        (4, {}, "mpiexec -n 4"),
        (8, {}, f"mpiexec {OFF} -n 8"),
        (8, {"variables": ("I_MPI_PIN=on",)}, "mpiexec -genv I_MPI_PIN on -n 8"),
        (8, {"launcher_args": "-genv I_MPI_PIN on"}, "mpiexec -genv I_MPI_PIN on -n 8"),
        (
            4,
            {"ranks_per_node": 2, "bind_to": "core"},
            "mpiexec -genv I_MPI_PIN on -genv I_MPI_PIN_DOMAIN core -ppn 2 -n 4",
        ),
        (4, {"bind_to": "none"}, f"mpiexec {OFF} -n 4"),
        (4, {"hosts": ("a", "b")}, "mpiexec -hosts a,b -ppn 2 -n 4"),
        (4, {"hosts": ("a:1", "b:3")}, "mpiexec -host a -n 1 program : -host b -n 3"),
        (2, {"interface": "lo"}, f"mpiexec -iface lo {GIVEN} -n 2"),
        (
            2,
            {"hosts": ("a", "b"), "remote_shell": "env", "virtual_rates_bytes_per_s": (1.0, 1.0)},
            f"mpiexec {OFF} -launcher ssh -launcher-exec /usr/bin/env -hosts a,b -ppn 1 -n 2",
        ),
        (
            4,
            {"hosts": ("a",), "remote_shell": "env -u A"},
            "env 'HYDRA_LAUNCHER_EXTRA_ARGS=-u A' "
            "mpiexec -launcher ssh -launcher-exec /usr/bin/env -hosts a -ppn 4 -n 4",
        ),
    ],
)
def test_what_it_is_told(told, ranks, start, words):
    assert told(INTEL, ranks, **start) == words


def test_the_user_s_own_pinning_is_left_alone(told, monkeypatch):
    monkeypatch.setenv("I_MPI_PIN_DOMAIN", "socket")
    assert told(INTEL, 8) == "mpiexec -n 8"


def test_a_way_of_mapping_is_refused_with_what_to_do(told):
    with pytest.raises(LaunchError, match="--map-by: not supported .* Intel MPI; .*use --ranks-per-node"):
        told(INTEL, 4, map_by="numa")
