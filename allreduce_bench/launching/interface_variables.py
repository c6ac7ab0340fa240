"""The network interface for the messages: variables of the MPIs and of the libraries below them."""

from collections.abc import Mapping
from pathlib import Path

NETWORKS = Path("/sys/class/net")


class InterfaceError(ValueError):
    """Error: the interface does not exist, or conflicts with a variable of the environment."""


def interface_variables(interface: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that restrict every MPI to `interface` of this node; none if it is empty.

    Raises InterfaceError: no such interface, or `environ` says something else already.
    """
    if not interface:
        return {}
    import socket  # late: few ranks need it

    names = sorted(name for _, name in socket.if_nameindex())
    if interface not in names:
        raise InterfaceError(f"--interface {interface}: no such interface on this node; available: {', '.join(names)}")
    variables = variables_of(interface, ucx_device(interface))
    conflicting = {name: environ[name] for name, value in variables.items() if environ.get(name, value) != value}
    conflicting |= {name: environ[name] for name in ("OMPI_MCA_btl_tcp_if_exclude",) if name in environ}
    for name, value in conflicting.items():
        raise InterfaceError(f"--interface {interface}, but {name}={value} in the environment: set only one of them")
    return variables


def variables_of(interface: str, device: str) -> dict[str, str]:
    """The variable of each library for its interface; `device` is UCX's name of the interface."""
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


def suggested_interface() -> str:
    """`interfaces here: eth0 10.0.0.1/24: try --interface eth0`, of this node."""
    from ..machine.interfaces import (
        interfaces,  # late, both: only a launch that failed asks
        reachable,
        way_between,
    )

    node = {"interfaces": [interface._asdict() for interface in interfaces()]}
    ways = [f"{interface['name']} {interface['address']}/{interface['prefix']}" for interface in reachable(node)]
    return f"interfaces here: {', '.join(ways) or 'none'}: try --interface {way_between([node]) or 'NAME'}"
