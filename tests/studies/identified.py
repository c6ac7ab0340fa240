"""Is every algorithm of the libraries, forced, named rightly or left open, never wrongly? `identified.py PYTHON…`.

For each MPI, each value of its variables, numbers of ranks and sizes: is the forced algorithm the only one that
`which` names (right), one of several or unknown (open), replaced by the library itself, which its source or its own
error tells (replaced), or is another one named (WRONG)? Ends with status 1 where one is. Intel MPI has no public source
and tells no error: where another one of its algorithms is named, it says so (replaced?).
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from allreduce_bench.identifying.evidence import Answer, is_asked
from allreduce_bench.identifying.launch import Launches, ProbeFailed, launches
from allreduce_bench.identifying.look import Asked
from allreduce_bench.machine import INTEL, MPICH, OPEN_MPI
from allreduce_bench.runs.identified import NO, YES
from allreduce_bench.runs.library_algorithms import ADJUST, MEANINGS, TUNED
from allreduce_bench.runs.start import Start
from allreduce_bench.units import format_size

SIZES = (8, 64, 1024, 8192, 65536, 2**20, 16 * 2**20)
RANKS = (2, 3, 4, 8)
RIGHT, OPEN, REPLACED, PERHAPS, WRONG = "right", "open", "replaced", "replaced?", "WRONG"
ITEMSIZE = 4
TIMEOUT_S = 300.0
OF_MPICH = "MPIR_CVAR_ALLREDUCE_"
ON_ONE_NODE = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}
INTRA = ("nb", "smp", "recursive_doubling", "recursive_multiplying", "reduce_scatter_allgather", "tree", "recexch")
INTRA += ("ring", "k_reduce_scatter_allgather")


class Forced(NamedTuple):
    """A value of a library's variable."""

    words: str
    names: Sequence[str]  # of which one is to run
    variables: Mapping[str, str]


def forced(library: str) -> Iterator[Forced]:
    """Yield all values of the variables of a library, but for those that leave the choice to it."""
    if library.startswith(OPEN_MPI):
        for number, name in enumerate(MEANINGS[TUNED][1:7], 1):
            variables = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", f"OMPI_MCA_{TUNED}": str(number)}
            yield Forced(name, [name], variables)
    elif library.startswith(MPICH):
        for name in INTRA:
            yield Forced(name, [name], {**ON_ONE_NODE, f"{OF_MPICH}INTRA_ALGORITHM": name})
        for radix in (3, 4):
            for name, variable in (
                ("recursive_multiplying", "RECURSIVE_MULTIPLYING"),
                ("recexch", "RECEXCH"),
                ("tree", "TREE"),
            ):
                variables = {f"{OF_MPICH}INTRA_ALGORITHM": name, f"{OF_MPICH}{variable}_KVAL": str(radix)}
                yield Forced(f"{name} k={radix}", [name, f"{name} k={radix}"], {**ON_ONE_NODE, **variables})
        kary = {f"{OF_MPICH}INTRA_ALGORITHM": "tree", f"{OF_MPICH}TREE_TYPE": "kary"}
        yield Forced("tree kary", ["tree", "tree kary"], {**ON_ONE_NODE, **kary})
        own = [
            "recursive_doubling",
            "reduce_scatter_allgather",
        ]  # as its table says, maint/tuning/coll/mpir/generic.json
        yield Forced("posix mpir", own, {f"{OF_MPICH}POSIX_INTRA_ALGORITHM": "mpir"})
        yield Forced("release_gather", ["release_gather"], {f"{OF_MPICH}POSIX_INTRA_ALGORITHM": "release_gather"})
        for number, name in enumerate(("alpha", "beta", "gamma", "delta"), 1):
            names = {"beta": own, "gamma": [*own, "release_gather"]}.get(name, [f"composition {name}"])
            yield Forced(f"composition {name}", names, {f"{OF_MPICH}COMPOSITION": str(number)})
    elif library.startswith(INTEL):
        for number, name in enumerate([*MEANINGS[ADJUST][1:], "algorithm 13", "algorithm 14"], 1):
            yield Forced(f"{number} {name}", [name], {ADJUST: str(number)})


def main() -> None:
    """Print what was named otherwise, and a count for each MPI."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--every", action="store_true", help="print each answer")
    options = parser.parse_args()
    if not options.interpreters:
        raise SystemExit(_of_own_mpi(options.ranks, options.every))
    words = ["--ranks", *map(str, options.ranks), *(["--every"] if options.every else [])]
    done = [subprocess.run([python, __file__, *words], check=False) for python in options.interpreters]
    raise SystemExit(any(one.returncode for one in done))


def _of_own_mpi(ranks: Sequence[int], every: bool) -> bool:
    """Look at all that the MPI of this interpreter can be told; return whether one was named wrongly."""
    counts: Counter[str] = Counter()
    for number in ranks:
        found = launches(number, Start(), TIMEOUT_S)
        for one in forced(found.launcher.library):
            for size_bytes, (state, said) in _looked_at(found, one).items():
                counts[state] += 1
                if every or state in (PERHAPS, WRONG):
                    print(f"{number} ranks, {format_size(size_bytes)}, {one.words}: {state}: {said}", flush=True)
    library = found.launcher.library
    print(
        f"{library}: {sum(counts.values())} cases: "
        + ", ".join(f"{counts[state]} {state}" for state in _states(library))
    )
    return bool(counts[WRONG])


def _states(library: str) -> Sequence[str]:
    return (RIGHT, OPEN, PERHAPS if library.startswith(INTEL) else REPLACED, WRONG)


def _looked_at(found: Launches, one: Forced) -> dict[int, tuple[str, str]]:
    """Return the state of each size, and what was said."""
    environ = {**os.environ, **one.variables}
    try:
        answers = found.find(Asked(SIZES), environ, found.command).answers
    except ProbeFailed as error:
        return {size_bytes: (OPEN, str(error)) for size_bytes in SIZES}
    return {
        size_bytes: (_state(found, one, size_bytes, answer), answer.words) for size_bytes, answer in answers.items()
    }


def _state(found: Launches, one: Forced, size_bytes: int, answer: Answer) -> str:
    states = {is_asked(answer, name) for name in one.names}
    if states == {NO}:
        if found.launcher.library.startswith(INTEL):
            return PERHAPS
        return REPLACED if _is_replaced(found, one, size_bytes) else WRONG
    return RIGHT if YES in states else OPEN


def _is_replaced(found: Launches, one: Forced, size_bytes: int) -> bool:
    """Return whether the library itself takes another one: MPICH ends if it is told to, Open MPI's source says it."""
    if found.launcher.library.startswith(MPICH):
        environ = {**os.environ, **one.variables, "MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}
        try:
            found.find(Asked([size_bytes]), environ, found.command)
        except ProbeFailed:
            return True
        return False
    least = {"ring": found.ranks, "segmented_ring": found.ranks, "rabenseifner": 1 << (found.ranks.bit_length() - 1)}
    return size_bytes // ITEMSIZE < least.get(one.words, 0)


if __name__ == "__main__":
    sys.exit(main())
