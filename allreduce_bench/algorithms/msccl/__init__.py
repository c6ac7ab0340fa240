"""Other people's schedules: MSCCL XML becomes an algorithm, whose steps make the same additions in the same order.

In: a file (`file`: tables; `execution`: who waits for whom; `races`; `values`: what moves when; `rounds`: steps).
Out: an `Algorithm` for as many ranks as the file has GPUs, named like the file, or a refusal with GPU, block and step.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from ...message import say
from ...schedule import Ranges, Schedule, Step, longest_block, split
from ...schedule.algorithm import Algorithm, AlgorithmError, Cost, Topology
from ...schedule.price import price
from .execution import execute
from .file import MscclFile, read
from .races import refuse_races
from .rounds import schedules_of
from .values import moves_of

NAME = r"[A-Za-z0-9_][\w.+-]*"  # of an algorithm in tables and plans


def algorithm_of(path: Path) -> Algorithm:
    """Return the algorithm of an MSCCL file. Raises AlgorithmError."""
    if not re.fullmatch(NAME, path.stem):
        raise AlgorithmError("msccl.name", path=path)
    try:
        status = path.stat()
        return _algorithm_of(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise AlgorithmError("msccl.unreadable", path=path, strerror=error.strerror) from error


@lru_cache(maxsize=64)  # a command asks several times
def _algorithm_of(path: Path, changed_ns: int, nbytes: int) -> Algorithm:
    file = read(path, path.read_bytes())
    schedules = converted(file)
    name, chunks, gpus = path.stem, file.chunks, file.gpus
    messages = price(schedules, 1, 0).messages
    elements = price(schedules, 0, 1).elements
    reduced = price(schedules, 0, 0, 1).reduced

    def generate(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
        blocks = split(range(count), chunks)

        def of(ranges: Ranges) -> Ranges:
            return tuple(range(blocks[span.start].start, blocks[span.stop - 1].stop) for span in ranges)

        for step in schedules[rank]:
            yield step._replace(send=of(step.send), recv=of(step.recv))

    def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
        chunk = longest_block(count, chunks)
        return Cost(messages, elements * chunk, reduced * chunk)

    def unfit(size: int, topology: Topology) -> str | None:
        return None if size == gpus else say("msccl.needs_ranks", name=name, gpus=gpus, size=size)

    return Algorithm(
        name=name,
        generate=generate,
        cost=cost,
        exact=False,
        formula=f"{messages} alpha + {Fraction(elements, chunks)} n beta + {Fraction(reduced, chunks)} n gamma",
        needs=frozenset({f"{gpus} ranks"}),
        segmented=False,
        bounded=False,
        on_request=True,
        known_as="",
        cost_words="",
        best="",
        source="",
        summary=say("msccl.summary", gpus=gpus, channels=file.channels, chunks=chunks, protocol=file.protocol),
        doc="",
        module=__name__,
        file=str(path),
        unfit=unfit,
        chunks=chunks,
    )


def converted(file: MscclFile) -> list[Schedule]:
    """Return the steps of each rank, on a vector with an element for each chunk.

    Raises NoAllreduce if the file is no all-reduce in one of the ways in which it says that it runs.
    """
    done = list(execute(file))
    for in_place in file.in_place:
        refuse_races(file, done, in_place)
        schedules = schedules_of(file, moves_of(file, done, in_place))
    return schedules
