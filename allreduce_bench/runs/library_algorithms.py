"""The library's own algorithms by name, `native:ring`: the settings by which each library takes it.

The settings act within a launch (Open MPI, MPICH): the variables of MPI_T, see `executing.mpi_t`. Over several nodes
Open MPI's han would work above tuned, and the setting would act in its parts only: refused unless the run is without
han. Seen on Open MPI 5.0.11 and MPICH 5.0.2. Intel MPI reads a variable of its environment at its start only: each of
its algorithms needs launches of its own.

MPICH 5.0.2 reads all three variables at each call. Without DEVICE_COLLECTIVES its device would choose on one node, and
without COLLECTIVE_FALLBACK another algorithm would run, silently, where the one that was asked for cannot.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

from ..machine import INTEL, MPICH, OPEN_MPI
from ..units import escaped, nearest
from .cell import ALL_FORCED
from .competitor import FORCED_ALL, FORCED_PREFIX

COMPONENTS = "OMPI_MCA_coll"  # which of them Open MPI may take
TUNED = "coll_tuned_allreduce_algorithm"
SEGMENT = "coll_tuned_allreduce_algorithm_segmentsize"
SEGMENT_NBYTES = 1 << 20  # as where tuned itself takes the segmented ring
INTRA = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
ALWAYS: Mapping[str, Mapping[str, str | int]] = {  # library -> what is set beside the algorithm
    OPEN_MPI: {"coll_tuned_use_dynamic_rules": 1},
    MPICH: {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLLECTIVE_FALLBACK": "error"},
}
CHOICE = {OPEN_MPI: TUNED, MPICH: INTRA}


class NotForced(ValueError):
    """An algorithm that a library does not have, or that it cannot be told to use here."""


ADJUST = "I_MPI_ADJUST_ALLREDUCE"
AT_START = {INTEL: ADJUST}  # library -> the variable that it reads at its start only
MEANINGS: Mapping[str, tuple[str, ...]] = {  # variable -> what its numbers mean; names mean themselves
    TUNED: (
        *("ignore", "basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"),
        "allgather_reduce",  # from version 6 on
    ),
    "coll_han_use_allreduce_algorithm": ("default", "intra", "simple", "reproducible"),
    "coll_han_allreduce_up_module": ("libnbc", "adapt"),
    "coll_han_allreduce_low_module": ("tuned", "sm"),
    "MPIR_CVAR_ALLREDUCE_COMPOSITION": ("auto", "alpha", "beta", "gamma", "delta"),
    ADJUST: (
        *("", "recursive_doubling", "rabenseifner", "reduce_bcast", "topology_aware_reduce_bcast"),
        *("binomial_gather_scatter", "topology_aware_binomial_gather_scatter", "shumilin_ring", "ring", "knomial"),
        *("shared_memory_flat", "shared_memory_knomial", "shared_memory_knary"),
    ),
}
VALUES: Mapping[str, Mapping[str, str]] = {  # library -> name -> value of its variable
    OPEN_MPI: {name: name for name in MEANINGS[TUNED][1:7]},
    MPICH: {
        "ring": "ring",
        "recursive_doubling": "recursive_doubling",
        "rabenseifner": "reduce_scatter_allgather",
        "reduce_scatter_allgather": "reduce_scatter_allgather",
        "recursive_multiplying": "recursive_multiplying",
        "k_reduce_scatter_allgather": "k_reduce_scatter_allgather",
        "recexch": "recexch",
        "tree": "tree",
    },
    INTEL: {name: str(number) for number, name in enumerate(MEANINGS[ADJUST]) if name},
}
NAMES = tuple(dict.fromkeys(FORCED_PREFIX + name for values in VALUES.values() for name in values))


def variables_at_start(algorithm: str, library: str) -> dict[str, str]:
    """Return the variables of the environment by which a launch of a library such as `Intel MPI 2021.18` takes
    `native:ring`; none where it takes it within a launch. Raises NotForced.
    """
    family, value = _value_of(algorithm, library)
    return {AT_START[family]: value} if family in AT_START else {}


def launches_of(algorithms: Sequence[str], library: str) -> tuple[str, ...]:
    """Return the further launches in which a library takes these, as plans name them. Raises NotForced."""
    at_start = [bool(variables_at_start(name, library)) for name in algorithms]
    return tuple(name.removeprefix(FORCED_PREFIX) for name in algorithms) if all(at_start) else (ALL_FORCED,)


def settings_of(algorithm: str, library: str, nodes: int) -> dict[str, str | int]:
    """Return the variables of MPI_T by which a library such as `Open MPI 5.0.11` takes `native:ring`.

    None where it takes it from its start on. Raises NotForced.
    """
    family, value = _value_of(algorithm, library)
    for variable, at_start in variables_at_start(algorithm, library).items():
        if os.environ.get(variable) != at_start:
            raise NotForced(
                f"{algorithm}: {library} reads {variable} at its start only; let run start the ranks itself, without "
                "mpirun or srun"
            )
        return {}
    if family == OPEN_MPI and nodes > 1 and os.environ.get(COMPONENTS) != "^han":
        raise NotForced(
            f"{algorithm}: over several nodes han of {library} works above this algorithm; set OMPI_MCA_coll=^han for "
            "the whole run, whose native is then without han, too"
        )
    segment = {SEGMENT: SEGMENT_NBYTES} if value == "segmented_ring" else {}
    return {**ALWAYS[family], CHOICE[family]: value, **segment}


def own_name(algorithm: str, library: str) -> str:
    """Return what a library such as `Open MPI 5.0.11` calls the algorithm of `native:ring`. Raises NotForced."""
    family, value = _value_of(algorithm, library)
    return MEANINGS[AT_START[family]][int(value)] if family in AT_START else value


def least_count(algorithm: str, library: str, ranks: int, itemsize: int) -> int:
    """Return the elements below which the library would take another algorithm without a word.

    As Open MPI's coll_base_allreduce.c says: recursive doubling for ring, ring for segmented_ring, and, in some
    versions, linear for rabenseifner. MPICH refuses such calls, see above.
    """
    if not library.startswith(OPEN_MPI):
        return 0
    of_value = {
        "ring": ranks,
        "rabenseifner": 1 << (ranks.bit_length() - 1),
        "segmented_ring": ranks * max(1, SEGMENT_NBYTES // itemsize),
    }
    return of_value.get(algorithm.removeprefix(FORCED_PREFIX), 0)


def refuse_unknown(algorithm: str, library: str, others: Sequence[str]) -> NoReturn:
    """Raise NotForced: a library such as `Open MPI 5.0.11` has no such algorithm, and `others` are no such, either.

    `library` is empty where it is not known. What is proposed it has.
    """
    if algorithm == FORCED_PREFIX:
        raise NotForced(
            f"'{algorithm}' names no algorithm of the library; native is its own choice, and native:ring one that it "
            "is told to use: 'allreduce-bench list' shows all"
        )
    families = [family for family in VALUES if library.startswith(family)] or [*VALUES]
    shared = set.intersection(*({*VALUES[family]} for family in families))  # whichever library it is
    has = [FORCED_PREFIX + name for name in VALUES[families[0]] if name in shared]
    known = "; ".join(f"{family}: {_names(family)}" for family in families)
    meant = nearest(algorithm, [*has, *others], FORCED_PREFIX)
    raise NotForced(f"unknown algorithm '{escaped(algorithm)}' of the library; {meant or known}")


def names_of(library: str) -> list[str]:
    """Return every algorithm that a library such as `Open MPI 5.0.11` can be told to use. Raises NotForced."""
    family = next((name for name in VALUES if library.startswith(name)), None)
    if family is None:
        found = (
            f"how {library} is told to use an algorithm is not known" if library else "the library is not known here"
        )
        raise NotForced(f"{FORCED_ALL}: {found}; name the algorithms, such as {FORCED_PREFIX}ring")
    return [FORCED_PREFIX + name for name in VALUES[family]]


def _value_of(algorithm: str, library: str) -> tuple[str, str]:
    """Return the library without its version, and the value of its variable. Raises NotForced."""
    family = next((name for name in VALUES if library.startswith(name)), None)
    if family is None:
        raise NotForced(f"{algorithm}: how {library} is told to use an algorithm is not known")
    value = VALUES[family].get(algorithm.removeprefix(FORCED_PREFIX))
    if value is None:
        owners, has = _owners(algorithm), _names(family)
        raise NotForced(f"{algorithm}: an algorithm of {owners}, not of {library}, which has {has}")
    return family, value


def _owners(algorithm: str) -> str:
    """Return the libraries that have an algorithm."""
    name = algorithm.removeprefix(FORCED_PREFIX)
    return ", ".join(family for family, values in VALUES.items() if name in values)


def _names(family: str) -> str:
    return ", ".join(VALUES[family])
