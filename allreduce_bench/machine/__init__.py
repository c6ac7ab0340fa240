"""Facts about a node, and findings about what disturbs measurements on it.

In: files of the kernel, the variables of a process. Out: facts as JSON values, and findings: text, effect on the
times, advice. Read in this order: `kernel` (files of the kernel; containers, caches), `node` (all facts of a node),
`interfaces` (links between nodes and their traffic), `mpi`, `virtual_hosts`; `findings` (of the nodes of a launch);
`core_load` and `ports` (during a launch, and who is busy now); and `checks`, the lines of `doctor` about the node.
"""

from collections.abc import Sequence

PAGE_NBYTES = 4096  # of memory; processors compare addresses modulo it
LEVELS = ("info", "caution", "severe")  # severe: the times do not mean what they seem to, or there are none


def finding(code: str, level: str, text: str, effect: str, advice: str) -> dict:
    """A finding as it is kept: `level` is one of LEVELS; `text` says what was found with its figures, `effect` what
    that does to the numbers, `advice` what to do.
    """
    return {"code": code, "level": level, "text": text, "effect": effect, "advice": advice}


def on_nodes(concerned: Sequence[dict], machines: Sequence[dict]) -> str:
    """` on n1, n2` for those `machines` that are `concerned`; empty where there is one node only."""
    return f" on {first_hosts(concerned)}" if len(machines) > 1 else ""


def first_hosts(machines: Sequence[dict]) -> str:
    """Their host names, the first four of them."""
    hosts = [str(machine.get("host")) for machine in machines]
    return ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")
