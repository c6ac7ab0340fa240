"""Names of algorithms in other programs' logs, and our algorithms with the same critical path.

PICO writes `ring_over`, `recursive_doubling_mpich`, `default-ring`; NCCL `Ring`, `Tree`. What PICO called Swing first
and Bine later exchanges one range a step with the partners of Bine: whole vectors (`lat`, `l`), or halves (`bdw`, `b`)
in an order of blocks that ranks or tables give (`remap`, `static`). On a torus (`utofu`) partners follow its
dimensions, at as many and as long messages.

Sources of the names: PICO's algorithm catalogues and libpico (HLC-Lab/pico), NCCL_ALGO of the NCCL user guide.
"""

import re
from collections.abc import Iterable

ALIASES = {  # name without decorations -> our algorithm
    "recdoub_l": "recursive_doubling",
    "recdoub_b_cont": "rabenseifner",
    "ring_b_cont": "ring",
    "bine_l": "bine_lat",
    "bine_b_cont": "bine",
    "bine_bdw_remap": "bine",
    "bine_bdw_static": "bine",
    "swing_lat": "bine_lat",
    "swing_bdw_remap": "bine",
    "swing_bdw_static": "bine",
    "double_tree": "two_tree",
    "double_binary_tree": "two_tree",
    "rab": "rabenseifner",
    "rd": "recursive_doubling",
    "basic_linear": "parameter_server",
}
DECORATIONS = (
    r"^(default|native|nccl|rccl)[-:_]|[-_](over|mpich|ompi|openmpi|cray|impi|nccl|rccl|sendrecv)$|-utofu(-\d+)+$"
)

AMBIGUOUS = {"tree": ("tree", "two_tree")}  # NCCL's Tree is a double binary tree, others' a binomial one
LIBRARY = r"native|(default|auto|non_blocking)([-_](default|mpich|ompi|openmpi|cray|impi|nccl|rccl))?"


def known_as(name: str, algorithms: Iterable[str]) -> str | None:
    """Return the one of `algorithms` that `name` stands for, or None."""
    names = set(algorithms)
    bare_name = name.strip().lower()
    while bare_name not in names:
        stripped = re.sub(DECORATIONS, "", bare_name)
        if stripped == bare_name:
            break
        bare_name = stripped
    bare_name = bare_name.replace("-", "_")
    return bare_name if bare_name in names else ALIASES.get(bare_name)


def readings(name: str, algorithms: Iterable[str], ran_here: bool) -> tuple[str, ...]:
    """Return all that `name` may stand for, for the times to decide; empty: unknown. `ran_here`: by this program."""
    algorithm = known_as(name, algorithms)
    if algorithm is None:
        return ()
    return (algorithm,) if ran_here else AMBIGUOUS.get(algorithm, (algorithm,))


def is_library(name: str) -> bool:
    """Return whether `name` means that a library chose the algorithm itself, without telling which."""
    return re.fullmatch(LIBRARY, name.strip().lower()) is not None
