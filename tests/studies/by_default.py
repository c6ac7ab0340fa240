"""What do the libraries run by default, beside what their sources say? `by_default.py PYTHON…`.

For each MPI, 2, 3, 4 and 8 ranks on one node and four virtual hosts of one and two ranks, 8 B to 16 MiB: what `which`
names, and the algorithm of the library's source, with file and line. Ends with status 1 where the source's is excluded,
or MPICH's default at 16 MiB is called recursive_doubling. Intel MPI has no public source.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from allreduce_bench.units import format_size

SIZES = (8, 64, 1024, 4096, 8192, 16384, 65536, 262144, 2**20, 16 * 2**20)
ITEMSIZE = 4
TIMEOUT_S = 900
NODES = ((2, 1), (3, 1), (4, 1), (8, 1), (4, 4), (8, 4))  # ranks, nodes
FIXED = "coll_tuned_decision_fixed.c"
GENERIC = "maint/tuning/coll/mpir/generic.json"
OF_CH4 = "maint/tuning/coll/ch4/generic.json"


class Said(NamedTuple):
    """What a source says."""

    name: str
    place: str  # file and line


def source_says(library: str, ranks: int, nodes: int, size_bytes: int, is_multiple: bool) -> Said | None:
    """Return what the library's source says; None: it is not public."""
    if library.startswith("Open MPI"):
        return _open_mpi(ranks, nodes, size_bytes)
    return _mpich(ranks, nodes, size_bytes, is_multiple) if library.startswith("MPICH") else None


def _open_mpi(ranks: int, nodes: int, size_bytes: int) -> Said:
    if 1 < nodes < ranks:
        return Said("han", "coll_han_component.c (priority 35), coll_han_allreduce.c:91")
    limits = {  # ranks below -> bytes below, algorithm, line
        4: (
            (8, "ring", 123),
            (4096, "recursive_doubling", 125),
            (8192, "ring", 127),
            (16384, "recursive_doubling", 129),
        )
        + ((65536, "ring", 131), (262144, "segmented_ring", 133), (2**62, "rabenseifner", 135)),
        8: ((16, "ring", 139), (8192, "recursive_doubling", 141), (2**62, "rabenseifner", 143)),
        16: ((8192, "recursive_doubling", 147), (2**62, "rabenseifner", 149)),
    }
    table = next(table for below, table in limits.items() if ranks < below)
    name, line = next((name, line) for below, name, line in table if size_bytes < below)
    if "ring" in name and size_bytes // ITEMSIZE < ranks:
        return Said("recursive_doubling", f"{FIXED}:{line}, coll_base_allreduce.c: ring of fewer elements than ranks")
    return Said(name, f"{FIXED}:{line}")


def _mpich(ranks: int, nodes: int, size_bytes: int, is_multiple: bool) -> Said:
    if nodes == 1 and not is_multiple:
        return Said("release_gather", f"{OF_CH4}:54, ch4/posix_generic.json:20")
    if 1 < nodes < ranks and size_bytes <= 32768:
        return Said("composition alpha", f"{OF_CH4}:64")
    power = 1 << (ranks.bit_length() - 1)
    if size_bytes <= 8 or size_bytes // ITEMSIZE < power:
        return Said("recursive_doubling", f"{GENERIC}:{125 if size_bytes <= 8 else 137}")
    return Said("reduce_scatter_allgather", f"{GENERIC}:141")


def main() -> None:
    """Print a line for each change, and whether a source's algorithm was excluded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="+", type=Path)
    parser.add_argument("--cores", type=int, default=2, help="above which ranks are started with MPI_THREAD_MULTIPLE")
    options = parser.parse_args()
    wrong = 0
    for python in options.interpreters:
        for ranks, nodes in NODES:
            found = _looked_at(python, ranks, nodes)
            if found is None:
                continue
            library = found["library"]
            print(f"{library}, {ranks} ranks on nodes: {nodes}")
            for size in found["sizes"]:
                size_bytes, names = size["size_bytes"], size["names"]
                said = source_says(library, ranks, nodes, size_bytes, ranks // nodes > options.cores)
                is_wrong = said is not None and not any(
                    one == said.name or one.startswith(f"{said.name}:") for one in names
                )
                is_wrong |= library.startswith("MPICH") and size_bytes == max(SIZES) and names == ["recursive_doubling"]
                wrong += is_wrong
                source = f"{said.name} ({said.place})" if said else "no public source"
                what = ", ".join(names) or f"unknown: {size['order']}"
                print(f"  {format_size(size_bytes):>8}  {what}; source: {source}{' WRONG' * is_wrong}", flush=True)
    print(f"{wrong} wrong")
    raise SystemExit(bool(wrong))


def _looked_at(python: Path, ranks: int, nodes: int) -> dict[str, Any] | None:
    """Return what `which` says; None: it cannot look there."""
    words: Sequence[str] = ["which", "-n", str(ranks), "--sizes", ",".join(map(str, SIZES)), "--format", "json"]
    words = [*words, "--timeout", "10m"]
    if nodes > 1:
        words = ["lab", "run", "--hosts", str(nodes), "--rate", "1gbit", "--", *words]
        words = [*words, "--ranks-per-node", str(ranks // nodes)]
    command = [str(python), "-m", "allreduce_bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode:
        print(f"{python}: {ranks} ranks on nodes: {nodes}: not looked at: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
