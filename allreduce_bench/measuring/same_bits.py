"""Bits of a result on random floats: whether ranks and calls agree on them.

An all-reduce with a free order of additions may give other bits to another rank, in another call, or at another length
of the vector.
"""

from collections.abc import Callable, Sequence
from zlib import adler32, crc32

import numpy as np
from mpi4py import MPI

from ..watching.whereabouts import doing
from .repeat import repeat_into
from .vectors import CALLS, RANDOM_PERIOD, poison, random_operand


@doing("comparing bits")
def same_bits(
    run: Callable[[], object], sendbuf, recvbuf, comm: MPI.Comm, seed: int, op: str, shorter: int = 0
) -> dict:
    """Call a bound all-reduce on the random floats of `seed`: `same_bits` of all ranks, and `bits` of rank 0.

    `sendbuf` and `recvbuf` are the 1-d arrays of floats that it is bound to; the result stays in `recvbuf`. With
    `shorter` also `bits_of_shorter`, of so many elements at its beginning. Collective.
    """
    period = random_operand(seed, comm.rank, min(sendbuf.size, RANDOM_PERIOD), sendbuf.dtype.name, op)
    repeat_into(sendbuf, period)
    fingerprints = comm.allgather(_fingerprint_of_call(run, recvbuf, op))
    facts = {"same_bits": len(set(fingerprints)) == 1, "bits": fingerprints[0]}
    return (
        facts | {"bits_of_shorter": f"{shorter * recvbuf.itemsize}:{_fingerprint(recvbuf[:shorter])}"}
        if shorter
        else facts
    )


@doing("comparing the bits of repeated calls")
def same_bits_calls(run: Callable[[], object], recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> bool:
    """Return whether repeated calls leave on every rank the bits of the first of CALLS, in `recvbuf`. Collective."""
    first = _fingerprint(recvbuf)
    repeated = [_fingerprint_of_call(run, recvbuf, op) for _ in range(CALLS - 1)]
    return comm.allreduce(sum(fingerprint != first for fingerprint in repeated)) == 0


def bits_of_parties(facts_of_ranks: Sequence[dict]) -> dict:
    """Join the facts of several groups, from those of every rank.

    An equality holds if it holds for all, and the bits are rank 0's. All groups have the same inputs, and are not
    compared with each other.
    """
    joined = {name: value for facts in reversed(facts_of_ranks) for name, value in facts.items()}
    equal = ("same_bits", "same_bits_calls")
    return joined | {name: all(facts[name] for facts in facts_of_ranks) for name in equal if name in joined}


def _fingerprint_of_call(run: Callable[[], object], recvbuf: np.ndarray, op: str) -> str:
    recvbuf[:] = poison(recvbuf.dtype.name, op)  # elements that a call does not write must not hold the last result
    run()
    return _fingerprint(recvbuf)


def _fingerprint(array) -> str:
    """Return 64 bits as hex: hashlib is slower, and an import on every rank."""
    return f"{crc32(array):08x}{adler32(array):08x}"
