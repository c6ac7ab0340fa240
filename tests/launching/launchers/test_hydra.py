"""What MPICH's mpirun is told."""

import pytest

from allreduce_bench.launching.launcher import Launcher, LaunchError

HYDRA = Launcher("mpirun", "MPICH 5.0.2", "mpich")
GIVEN = "-genv UCX_NET_DEVICES lo -genv FI_TCP_IFACE lo -genv FI_SOCKETS_IFACE lo -genv GLOO_SOCKET_IFNAME lo"
HOSTS = ("a", "b:3")
BOTH = {"map_by": "numa", "bind_to": "core"}


@pytest.mark.parametrize(
    "launcher, ranks, start, words",
    [
        (HYDRA, 8, {}, "mpirun -n 8"),
        (HYDRA, 8, {"variables": ("UCX_TLS=tcp,self", "A=b c")}, "mpirun -n 8 -genv UCX_TLS tcp,self -genv A 'b c'"),
        (HYDRA, 4, {"ranks_per_node": 2, **BOTH}, "mpirun -n 4 -ppn 2 -map-by numa -bind-to core"),
        (HYDRA, 5, {"hosts": HOSTS}, "mpirun -n 5 -hosts a:2,b:3"),
        (
            HYDRA,
            2,
            {"hosts": ("a", "b"), "remote_shell": "env -u A"},
            "env 'HYDRA_LAUNCHER_EXTRA_ARGS=-u A' mpirun -n 2 -hosts a:1,b:1 -launcher ssh -launcher-exec /usr/bin/env",
        ),
        (HYDRA, 2, {"interface": "lo"}, f"mpirun -n 2 -iface lo {GIVEN}"),
    ],
)
def test_what_it_is_told(told, launcher, ranks, start, words):
    assert told(launcher, ranks, **start) == words


def test_a_remote_shell_that_is_not_there_is_refused(told):
    with pytest.raises(LaunchError, match="'no-such-shell' not found"):
        told(HYDRA, 4, hosts=("a",), remote_shell="no-such-shell")
