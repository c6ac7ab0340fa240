"""Network interfaces and ports of this node: addresses and nominal rates; which one is likely to reach others.

No program is started to query them.
"""

import re
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from fcntl import ioctl
from functools import cache
from typing import NamedTuple

from ..units import shell_word
from . import kernel

LOOPBACK = "lo"
VIRTUAL_INTERFACE = re.compile(r"lo$|docker|veth|virbr|br-|cni|flannel|cali|tap|tun|wg|ifb|dummy|sit|gre")
OVER_NOTHING = re.compile(r"lo$|veth|tap|tun|wg|ifb|dummy|sit|gre")  # neither hardware nor over it: not looked at

# Constants of Linux
GET_FLAGS, GET_ADDRESS = 0x8913, 0x8915  # SIOCGIFFLAGS, SIOCGIFADDR
IS_UP = 0x1  # IFF_UP
UNKNOWN_SPEED = 2**31  # this and above: -1 as old kernels print it


class Interface(NamedTuple):
    """Current state of an interface."""

    name: str  # such as eth0
    address: str | None
    up: bool  # whether it is switched on, with or without a cable; all that an MPI looks at
    virtual: bool  # whether no device is under it, and none under the interfaces that it stands on
    rate_bytes_per_s: float | None  # nominal rate; None: not known, as of all virtual ones


def interfaces() -> list[Interface]:
    """Return the interfaces that this process sees, loopback included, in the system's order; empty if unavailable."""
    with suppress(OSError, AttributeError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query_socket:
        return [_interface(query_socket, name) for _, name in socket.if_nameindex()]
    return []


def _interface(query_socket: socket.socket, name: str) -> Interface:
    flags, address = (_ioctl_answer(query_socket, name, request) for request in (GET_FLAGS, GET_ADDRESS))
    virtual = _is_virtual(name)
    return Interface(
        name=name,
        address=socket.inet_ntoa(address[4:8]) if address else None,
        up=bool(flags and struct.unpack_from("H", flags)[0] & IS_UP),
        virtual=virtual,
        rate_bytes_per_s=None if virtual else _rate(name),
    )


def _ioctl_answer(query_socket: socket.socket, name: str, request: int) -> bytes | None:
    """Return what follows the name in the answer (struct ifreq), or None without an answer."""
    try:
        return ioctl(query_socket.fileno(), request, struct.pack("16s24x", name.encode()))[16:]
    except OSError:
        return None


def _is_virtual(name: str) -> bool:
    """Return whether the interface is neither hardware, nor a bond, a VLAN or a bridge over some.

    Its name decides where the kernel shows none of them.
    """
    if is_hardware(name):
        return False
    if lower := lower_interfaces(name):
        return all(map(_is_virtual, lower))
    return bool(VIRTUAL_INTERFACE.match(name)) or kernel.exists("sys/class/net")


@cache
def is_hardware(name: str) -> bool:
    """Return whether the interface has a device of its own."""
    return not OVER_NOTHING.match(name) and kernel.exists(f"sys/class/net/{name}/device")


@cache
def lower_interfaces(name: str) -> tuple[str, ...]:
    """Return the interfaces that a bond, a VLAN or a bridge stands on."""
    if OVER_NOTHING.match(name) or is_hardware(name):
        return ()
    return tuple(path.rsplit("/lower_", 1)[1] for path in kernel.matching_paths(f"sys/class/net/{name}/lower_*"))


def _rate(name: str) -> float | None:
    """Return the rate in bytes/s that the interface reports, else its InfiniBand port; None: unknown."""
    megabits = kernel.read_int(f"sys/class/net/{name}/speed")
    if megabits is not None and 0 < megabits < UNKNOWN_SPEED:
        return megabits * 1e6 / 8
    if not ports():
        return None
    port = (kernel.read_int(f"sys/class/net/{name}/dev_port") or 0) + 1
    folders = kernel.matching_paths(f"sys/class/net/{name}/device/infiniband/*/ports/{port}")
    return next(filter(None, map(_port_rate, folders)), None)


def _port_rate(folder: str) -> float | None:
    match = re.match(r"([\d.]+) Gb/sec", kernel.read(f"{folder}/rate") or "")
    return float(match[1]) * 1e9 / 8 if match else None


@cache
def ports() -> list[str]:
    """Return the folders of this node's InfiniBand, RoCE and Omni-Path ports."""
    return kernel.matching_paths("sys/class/infiniband/*/ports/*")


def port_rates() -> dict[str, float | None]:
    """Return bytes/s of each of `ports`, by a name such as `mlx5_0:1`; None: unknown."""
    return {port_name(folder): _port_rate(folder) for folder in ports()}


def port_name(path: str) -> str:
    """Return `mlx5_0:1` for a path in one of `ports`."""
    parts = path.split("/")
    return f"{parts[3]}:{parts[5]}"


def fabric_devices(machine: dict) -> list[str]:
    """Return the devices of a node's ports, such as `mlx5_0`."""
    return sorted({port.partition(":")[0] for port in machine.get("port_rates_bytes_per_s") or ()})


def reachable() -> list[Interface]:
    """Return the interfaces that an MPI could take for a connection to other nodes."""
    return [way for way in interfaces() if way.up and way.address and not way.address.startswith("127.")]


def likely_way(ways: Sequence[Interface]) -> str:
    """Return the fastest of `ways`, as a word for --interface; hardware comes first; NAME: there is none."""
    return shell_word(
        max(ways, key=lambda way: (not way.virtual, way.rate_bytes_per_s or 0, way.name)).name if ways else "NAME"
    )
