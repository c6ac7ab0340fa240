"""The network interfaces of this node: addresses, nominal rates, bytes sent. No program is started to ask for them."""

import re
import socket
import struct
from contextlib import suppress
from fcntl import ioctl
from functools import cache
from typing import NamedTuple

from . import kernel
from .traffic import VIRTUAL_INTERFACE

GET_FLAGS, GET_ADDRESS, GET_MASK = 0x8913, 0x8915, 0x891B  # SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK of Linux
IS_UP = 0x1  # IFF_UP
UNKNOWN_SPEED = 2**31  # and above: -1 as old kernels print it
OVER_INFINIBAND = 32  # ARPHRD_INFINIBAND
WORD_NBYTES = 4  # InfiniBand counts words


class Interface(NamedTuple):
    """One interface as it is now."""

    name: str
    address: str | None  # IPv4; None: it has none
    prefix: int | None  # bits of the address that name its network
    up: bool  # switched on, with or without a cable: all that an MPI looks at
    virtual: bool  # no device under it, and none under the interfaces it stands on
    rate_bytes_per_s: float | None  # nominal; None: unknown, as of all virtual ones


def interfaces() -> list[Interface]:
    """The interfaces that this process sees, loopback included, in the system's order; none where it tells of none."""
    with suppress(OSError, AttributeError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query_socket:
        return [_interface(query_socket, name) for _, name in socket.if_nameindex()]
    return []


def sent_bytes() -> dict[str, int]:
    """Bytes sent so far: of each interface by its name, of each InfiniBand port as `mlx5_0:1`. A few file reads.

    Bonds, VLANs, bridges and IP over InfiniBand are left out: what they send is counted by what they stand on.
    """
    sent_nbytes = {}
    for line in (kernel.read("proc/net/dev") or "").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        sent_nbytes[name.strip()] = int(numbers.split()[8])  # the first of the columns that count what was sent
    for path in [] if sent_nbytes else kernel.matching_paths("sys/class/net/*/statistics/tx_bytes"):
        sent_nbytes[path.split("/")[3]] = kernel.read_int(path) or 0
    for path in _port_counters(kernel.ROOT):
        words, parts = kernel.read_int(path), path.split("/")
        if words is not None:
            sent_nbytes[f"{parts[3]}:{parts[5]}"] = words * WORD_NBYTES
    return {name: nbytes for name, nbytes in sent_nbytes.items() if name not in _counted_elsewhere(kernel.ROOT)}


def port_rates() -> dict[str, float]:
    """Bytes per second of each InfiniBand port, such as `mlx5_0:1`, as far as the ports tell."""
    rates = {}
    for path in kernel.matching_paths("sys/class/infiniband/*/ports/*/rate"):
        rate, parts = _port_rate(path), path.split("/")
        if rate is not None:
            rates[f"{parts[3]}:{parts[5]}"] = rate
    return rates


@cache
def _port_counters(root: object) -> tuple[str, ...]:
    """The files in which InfiniBand ports count; read once for `root`."""
    return tuple(kernel.matching_paths("sys/class/infiniband/*/ports/*/counters/port_xmit_data"))


@cache
def _counted_elsewhere(root: object) -> frozenset[str]:
    """The interfaces whose bytes those below them, or an InfiniBand port, count too; read once for `root`."""
    names = [path.split("/")[3] for path in kernel.matching_paths("sys/class/net/*")]
    over_infiniband = [name for name in names if kernel.read_int(f"sys/class/net/{name}/type") == OVER_INFINIBAND]
    return frozenset([*over_infiniband, *(name for name in names if _interfaces_below(root, name))])


@cache
def _is_hardware(root: object, name: str) -> bool:
    return kernel.exists(f"sys/class/net/{name}/device")


@cache
def _interfaces_below(root: object, name: str) -> tuple[str, ...]:
    """The interfaces that it stands on, as under a bond, a VLAN or a bridge; hardware stands on none."""
    if _is_hardware(root, name):
        return ()
    return tuple(path.rsplit("/lower_", 1)[1] for path in kernel.matching_paths(f"sys/class/net/{name}/lower_*"))


def _port_rate(path: str) -> float | None:
    match = re.match(r"([\d.]+) Gb/sec", kernel.read(path) or "")
    return float(match[1]) * 1e9 / 8 if match else None


def fabric_devices() -> list[str]:
    """The InfiniBand, RoCE and Omni-Path devices of this node, such as `mlx5_0`."""
    return [path.rsplit("/", 1)[1] for path in kernel.matching_paths("sys/class/infiniband/*")]


def _interface(query_socket: socket.socket, name: str) -> Interface:
    flags, address, mask = (
        _ioctl_answer(query_socket, name, request) for request in (GET_FLAGS, GET_ADDRESS, GET_MASK)
    )
    virtual = not _has_device(name) if kernel.exists("sys/class/net") else bool(VIRTUAL_INTERFACE.match(name))
    return Interface(
        name=name,
        address=socket.inet_ntoa(address[4:8]) if address else None,
        prefix=int.from_bytes(mask[4:8], "big").bit_count() if mask else None,
        up=bool(flags and struct.unpack_from("H", flags)[0] & IS_UP),
        virtual=virtual,
        rate_bytes_per_s=None if virtual else _rate(name),
    )


def _ioctl_answer(query_socket: socket.socket, name: str, request: int) -> bytes | None:
    """What follows the name in the answer (struct ifreq); None: no answer."""
    try:
        return ioctl(query_socket.fileno(), request, struct.pack("16s24x", name.encode()))[16:]
    except OSError:
        return None


def _has_device(name: str) -> bool:
    """Whether it is hardware, or a bond, a VLAN or a bridge over some."""
    if _is_hardware(kernel.ROOT, name):
        return True
    return any(map(_has_device, _interfaces_below(kernel.ROOT, name)))


def _rate(name: str) -> float | None:
    """Bytes per second: as the interface says, else as the InfiniBand port under it does."""
    megabits = kernel.read_int(f"sys/class/net/{name}/speed")
    if megabits is not None and 0 < megabits < UNKNOWN_SPEED:
        return megabits * 1e6 / 8
    port = (kernel.read_int(f"sys/class/net/{name}/dev_port") or 0) + 1
    for path in kernel.matching_paths(f"sys/class/net/{name}/device/infiniband/*/ports/{port}/rate"):
        if (rate := _port_rate(path)) is not None:
            return rate
    return None
