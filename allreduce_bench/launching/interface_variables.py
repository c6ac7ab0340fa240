"""The network interface that shall carry the messages, in the words of MPIs and of what they are built on."""

from collections.abc import Mapping
from pathlib import Path

NETWORKS = Path("/sys/class/net")


class InterfaceError(ValueError):
    """An interface that does not exist, or that somebody else decided already, in words."""


def interface_variables(interface: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that let every MPI use `interface` of this node only; none where it is empty.

    Raises InterfaceError: no such interface, or `environ` says something else already.
    """
    if not interface:
        return {}
    import socket  # late: few ranks need it

    known = sorted(name for _, name in socket.if_nameindex())
    if interface not in known:
        raise InterfaceError(f"--interface {interface}: this node has no such interface; it has: {', '.join(known)}")
    variables = variables_of(interface, ucx_device(interface))
    said = {name: environ[name] for name, value in variables.items() if environ.get(name, value) != value}
    said |= {name: environ[name] for name in ("OMPI_MCA_btl_tcp_if_exclude",) if name in environ}
    for name, value in said.items():
        raise InterfaceError(f"--interface {interface}, but {name}={value} in the environment: say one of them")
    return variables


def variables_of(interface: str, device: str) -> dict[str, str]:
    """What each library calls its interface; `device` is UCX's name of it."""
    return {
        "OMPI_MCA_btl_tcp_if_include": interface,  # Open MPI's own TCP
        "OMPI_MCA_oob_tcp_if_include": interface,  # how its daemons talk, up to 4
        "PRTE_MCA_prte_if_include": interface,  # the same from 5
        "UCX_NET_DEVICES": device,  # UCX, under Open MPI or MPICH
        "FI_TCP_IFACE": interface,  # libfabric
        "FI_SOCKETS_IFACE": interface,
        "GLOO_SOCKET_IFNAME": interface,
    }


def ucx_device(interface: str, networks: Path = NETWORKS) -> str:
    """The InfiniBand device and port behind an interface, such as `mlx5_0:1`; the interface where there is none."""
    devices = sorted(path.name for path in (networks / interface / "device" / "infiniband").glob("*"))
    if not devices:
        return interface
    try:
        port = int((networks / interface / "dev_port").read_text(encoding="ascii")) + 1
    except (OSError, ValueError):
        port = 1
    return f"{devices[0]}:{port}"
