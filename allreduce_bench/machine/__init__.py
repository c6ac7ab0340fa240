"""Facts about a node, and findings about what disturbs measurements on it.

In: files of the kernel, the variables of a process. Out: facts as JSON values, and findings: text, effect on the times,
advice. Read in this order: `kernel` (its files), `container`, `caches`, `interfaces`, `node` (all facts of a node),
`mpi`, `variables`; `findings` of the nodes of a launch, `virtual_hosts`; `core_load`, `ports`, `traffic` (counted
during a launch), `energy` (of a cell); `at_work`, `copies`, `shared_memory`, `checks` (this node now, for `doctor` and
launchers); `forks` (work by all cores).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..units import few

OPEN_MPI, MPICH, INTEL = "Open MPI", "MPICH", "Intel MPI"  # names of libraries, before their versions
PAGE_NBYTES = 4096  # processors compare addresses modulo it
LEVELS = ("info", "caution", "severe")  # severe: times are misleading or missing
MOST_NAMED = 4  # nodes in one sentence


class Reading(NamedTuple):
    """What the library of a rank says of one of its variables."""

    known: bool  # it has the variable
    value: str | int | float | None = None  # None: it does not tell
    meaning: str = ""


def finding(code: str, level: str, text: str, effect: str, advice: str) -> dict:
    """Return a finding as it is stored: `level` is one of LEVELS; `text` states it with its figures, `effect` its

    influence on the numbers, `advice` the remedy.
    """
    return {"code": code, "level": level, "text": text, "effect": effect, "advice": advice}


def on_nodes(concerned: Sequence[dict], machines: Sequence[dict]) -> str:
    """Return ` on n1, n2` for those of `machines` that are `concerned`; empty if there is one node only."""
    return f" on {hosts_of(concerned)}" if len(machines) > 1 else ""


def hosts_of(machines: Sequence[dict]) -> str:
    """Return their host names, at most the first four."""
    return few((machine.get("host") for machine in machines), MOST_NAMED)
