"""The all-reduces of what is handed over as it is: the buckets of a step, recorded calls, and activations."""

from functools import partial

import numpy as np
from mpi4py import MPI

from ...executing import Prepared, division, native_datatype
from ...executing.memory import PAGES, filled
from .step_binding import bind
from .step_request import BETWEEN, NATIVE, Request, result_of_ranks
from .step_streams import STREAMS, Bound, Stream


class Bucket:
    """A vector of `count` elements, to which rank r contributes r + 1, and its all-reduce."""

    def __init__(self, request: Request, count: int, comm: MPI.Comm, op: str):
        """Raises Unsupported, AlgorithmError."""
        self.recvbuf, self.expected = filled(PAGES.recvbuf, count, request.dtype, 0), result_of_ranks(op, comm.size)
        sendbuf = filled(PAGES.sendbuf, count, request.dtype, comm.rank + 1)
        self.bound = Bound(bind(request, sendbuf, self.recvbuf, comm, op), None)
        if request.algorithm == NATIVE:
            datatype = native_datatype(request.dtype)
            send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, self.recvbuf))
            begin, finish = partial(comm.Iallreduce, send, recv, MPI.SUM), division(self.recvbuf, comm, op)
            self.bound = self.bound._replace(begin=begin, finish=finish)

    @property
    def call(self) -> Prepared:
        """The blocking all-reduce."""
        return self.bound.call

    @property
    def is_wrong(self) -> bool:
        """Whether the result is another one than it must be."""
        return bool(np.any(self.recvbuf != self.expected))


class Buckets:
    """All that a step hands over. Each bucket has vectors of its own; recorded calls of one length share them."""

    def __init__(self, request: Request, comm: MPI.Comm):
        """Raises Unsupported, AlgorithmError."""
        shared = request.overlap == BETWEEN
        keys = request.counts if shared else [*range(len(request.counts))]
        self.stream_type = STREAMS[request.overlap]
        self.buckets = {key: Bucket(request, n, comm, request.op) for key, n in dict(zip(keys, request.counts)).items()}
        self.bound = [self.buckets[key].bound for key in keys]
        self.alone = [one.call.run for one in self.bound]

    def prepare(self) -> None:
        """Forget the results of the former step."""
        for bucket in self.buckets.values():
            bucket.recvbuf.fill(0)

    def stream(self) -> Stream:
        """What a step hands its buckets over to."""
        return self.stream_type(self.bound)

    @property
    def wrong(self) -> int:
        """How many results of the last step are wrong."""
        return sum(bucket.is_wrong for bucket in self.buckets.values())

    def close(self) -> None:
        """Free what MPI holds."""
        for bucket in self.buckets.values():
            bucket.call.close()
