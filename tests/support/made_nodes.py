"""Nodes made by hand, and what is found on them."""

from allreduce_bench.machine.findings import findings


def node(number: int = 1, **facts) -> dict:
    """A quiet node of 4 cores ."""
    quiet = {
        "host": f"n{number}",
        "cores": 4,
        "threads": 4,
        "cpus_of_ranks": 4,
        "governors": ["performance"],
        "cpu_quota": None,
        "clock_step_s": 4e-8,
        "port_rates_bytes_per_s": {},
    }
    return {**quiet, **facts}


def found(*nodes: dict, ranks: int = 2, mpi: dict | None = None, **options) -> list[dict]:
    return findings(list(nodes), [ranks] * len(nodes), mpi or {}, **options)


def codes(*nodes: dict, **options) -> list[tuple[str, str]]:
    return [(finding["code"], finding["level"]) for finding in found(*nodes, **options)]
