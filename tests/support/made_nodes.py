"""Nodes made by hand, and what is found on them."""

from allreduce_bench.machine.findings import findings

QUIET = {"cost_s": 5e-8, "step_s": 4e-8, "resolution_s": 1e-9}


def interface(name: str, address: str | None, prefix: int = 24, virtual: bool = False, rate=None, up=True) -> dict:
    return {
        "name": name,
        "address": address,
        "prefix": prefix,
        "up": up,
        "virtual": virtual,
        "rate_bytes_per_s": rate,
    }


def node(number: int = 1, **facts) -> dict:
    """A quiet node of 4 cores with one interface."""
    quiet = {
        "host": f"n{number}",
        "cores": 4,
        "threads": 4,
        "cpus_of_ranks": 4,
        "governors": ["performance"],
        "load_1min": 0.1,
        "cpu_quota": None,
        "huge_pages": {"transparent": "madvise", "reserved": 0},
        "timer": QUIET,
        "interfaces": [interface("lo", "127.0.0.1", 8, True), interface("eth0", f"10.0.0.{number}")],
        "fabric_devices": [],
    }
    return {**quiet, **facts}


def found(*nodes: dict, ranks: int = 2, mpi: dict | None = None, declared: int | None = None):
    return findings(list(nodes), [ranks] * len(nodes), mpi or {}, declared)


def codes(*nodes: dict, **options) -> list[tuple[str, str]]:
    return [(finding["code"], finding["level"]) for finding in found(*nodes, **options)]
