"""Virtual hosts of one machine: their ranks share its cores, and their links have a known rate."""

from collections.abc import Sequence

from ..units import counted, format_rate
from . import finding

MTU = 9000
ETHERNET = 14  # bytes of a frame's header
LATE_S = 0.5e-3  # delay of the kernel's timer


def bucket_nbytes(rate_bytes_per_s: float, mtu: int = MTU) -> float:
    """Return the bytes that a link passes at once after a pause: one frame, and the arrivals during a timer's delay."""
    return mtu + ETHERNET + rate_bytes_per_s * LATE_S


def describe(rates_bytes_per_s: Sequence[float]) -> str:
    """Return `4 virtual hosts of one machine, links of 100 Mbit/s`; a rate for each host's link."""
    rates = [format_rate(rate) for rate in sorted(set(rates_bytes_per_s))]
    links = f"{rates[0]} to {rates[-1]}" if len(rates) > 1 else rates[0]
    return f"{counted(len(rates_bytes_per_s), 'virtual host')} of one machine, links of {links}"


def virtual_hosts(ranks: int, cores: int, shared: bool, rates_bytes_per_s: Sequence[float]) -> dict:
    """Return the finding that the hosts of `ranks` ranks are virtual; `shared`: there are more ranks than cores."""
    return finding(
        "virtual",
        "caution" if shared else "info",
        f"{describe(rates_bytes_per_s)}: {counted(ranks, 'rank')} on {counted(cores, 'core')}"
        + (", waiting ranks yield" if shared else ""),
        "large messages take the time of the links; small messages take the time of the cores, which all ranks share",
        "compare times of large messages with the rate of the links, and times of small ones only with each other",
    )
