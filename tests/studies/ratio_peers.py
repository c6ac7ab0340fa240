"""The rows of `make ratios` against the programs of others: IMB-MPI1 on Intel MPI, else osu_allreduce or its stand-in.

Launches of theirs and of ours take turns. Both say by the same definition, the mean over ranks of the mean over calls,
how long the library's float sum takes, ours in the suite's compiled loop; both with buffers, barriers, warm-ups and
numbers of calls as theirs. A value of a row is the ratio of one launch of ours to the one of theirs before it.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from costs import mpirun_of

from allreduce_bench.machine.node import cores

RANK_PROGRAMS = Path(__file__).parents[1] / "ranks"
LEAST, MOST = 4, 16 << 20  # bytes of a vector; theirs doubles
LARGE = 8192  # bytes, above which osu_allreduce makes fewer calls
CALLS, LARGE_CALLS = (100, 1000), (10, 100)  # its warm-ups and calls
CROWDED_CALLS = (2, 20)  # where ranks outnumber cores, and a call may take their time slices
IMB_WARMUPS = 2  # before the first size
IMB_WORDS = ("Allreduce", "-msglog", "2:24", "-iter", "20000,800")  # at most so many calls, 800 MB of them a size
IMB_LINE = re.compile(r"^ +(\d+) +(\d+)(?: +[\d.]+){2} +([\d.]+) *$", re.MULTILINE)  # bytes, calls, t_avg
OSU_LINE = re.compile(r"^(\d+) +([\d.]+)", re.MULTILINE)
LEVEL = "single"  # what a program without threads asks for
PATIENCE_S = 600


class Absent(Exception):
    """Why a peer cannot be run here."""


class Peer(NamedTuple):
    """Another benchmark: its name, the words that start a rank of it, and how its table is read."""

    name: str
    words: tuple[str, ...]
    memory: str  # as native_loop.py names it
    placement: str  # as the history says it
    table_of: Callable[[str], dict[int, tuple[int, int, float]]]  # what it prints -> bytes -> warm-ups, calls, us
    note: str = ""


def imb_table(text: str) -> dict[int, tuple[int, int, float]]:
    """The sizes of IMB's table, but for that of no bytes."""
    lines = [
        (int(size_bytes), int(calls), float(us)) for size_bytes, calls, us in IMB_LINE.findall(text) if int(size_bytes)
    ]
    return {size_bytes: (IMB_WARMUPS if size_bytes == LEAST else 0, calls, us) for size_bytes, calls, us in lines}


def osu_table(small: tuple[int, int], large: tuple[int, int], text: str) -> dict[int, tuple[int, int, float]]:
    """The sizes of OSU's table, which does not say its warm-ups and calls: those of short and of long vectors."""
    found = {int(size_bytes): float(us) for size_bytes, us in OSU_LINE.findall(text)}
    return {size_bytes: (*(large if size_bytes > LARGE else small), us) for size_bytes, us in found.items()}


def peer_of(python: str, ranks: int, is_intel: bool, stand_in: str) -> Peer:
    """The peer on the MPI of an interpreter; `stand_in`: the program of osu_loop.c, empty: none. Raises Absent."""
    environment = Path(python).parent.parent
    imb = environment / "bin" / "IMB-MPI1"
    if is_intel:
        if not imb.exists():
            raise Absent(f"no {imb}")
        words = ("env", f"LD_LIBRARY_PATH={environment / 'lib'}", str(imb), *IMB_WORDS, "-npmin", str(ranks))
        return Peer("IMB-MPI1", words, "library", "MPI_Alloc_mem", imb_table)
    options: tuple[str, ...] = ("-m", f"{LEAST}:{MOST}", "-T", "mpi_float")
    table_of = partial(osu_table, CALLS, LARGE_CALLS)
    if ranks > cores():
        warmups, calls = CROWDED_CALLS
        options += ("-i", str(calls), "-x", str(warmups))
        table_of = partial(osu_table, CROWDED_CALLS, CROWDED_CALLS)
    if home := os.environ.get("OSU_HOME"):
        program = next((str(path) for path in sorted(Path(home).rglob("osu_allreduce")) if path.is_file()), None)
        if not program:
            raise Absent(f"OSU_HOME={home}: no osu_allreduce below it")
        return Peer("osu_allreduce", (program, *options), "pages", "page", table_of)
    if not stand_in:
        raise Absent("OSU_HOME names no OSU Micro-Benchmarks, and its stand-in needs mpicc")
    why = "OSU_HOME is not set: its loop in C stands in"
    return Peer("a stand-in for osu_allreduce", (stand_in, *options), "pages", "page", table_of, why)


def measure_peer(python: str, peer: Peer, ranks: int, launches: int) -> dict[int, list[float]]:
    """Bytes -> ours over theirs in each pair of launches. Raises Absent."""
    ratios: dict[int, list[float]] = {}
    for _ in range(launches):
        theirs = table_of_peer(python, peer, ranks)
        sizes = [[size_bytes, warmups, calls] for size_bytes, (warmups, calls, _) in theirs.items()]
        ours = our_times(python, ranks, {"sizes": sizes, "memory": peer.memory})
        for size_bytes, (_, _, us) in theirs.items():
            ratios.setdefault(size_bytes, []).append(ours[str(size_bytes)] * 1e6 / us)
    return ratios


def table_of_peer(python: str, peer: Peer, ranks: int) -> dict[int, tuple[int, int, float]]:
    """One launch of theirs. Raises Absent."""
    table = peer.table_of(output_of(python, ranks, peer.words))
    if not table or not all(us > 0 for _, _, us in table.values()):
        raise Absent(f"{peer.name} printed no table of positive times")
    return table


def our_times(python: str, ranks: int, question: dict) -> dict[str, float]:
    """One launch of ours: bytes -> seconds. Raises Absent."""
    text = output_of(python, ranks, [python, str(RANK_PROGRAMS / "native_loop.py"), json.dumps(question)])
    answer = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    if "absent" in answer:
        raise Absent(answer["absent"])
    return answer


def output_of(python: str, ranks: int, words: Sequence[str]) -> str:
    """What one launch prints. Raises Absent where it fails, or takes too long."""
    _, command = mpirun_of(python, ranks, [*words])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": LEVEL}
    try:
        result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise Absent(f"{Path(words[0]).name}: no end within {PATIENCE_S} s") from None
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        raise Absent(f"{Path(words[0]).name}: exit status {result.returncode}: {last}")
    return result.stdout
