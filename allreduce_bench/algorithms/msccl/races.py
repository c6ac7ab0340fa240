"""Races: chunks of a buffer that two thread blocks use, one of them to write, without one waiting for the other.

What is done before is known by vector clocks: for each block, how many instructions of every other block are done for
certain, since it waited for them or for a message that was sent after them. A schedule with a race may give the right
sum in one order and a wrong one in another; it is no all-reduce.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from .execution import Done
from .file import Chunk, Instruction, MscclFile, NoAllreduce


def refuse_races(file: MscclFile, done: Iterable[Done], in_place: bool) -> None:
    """Raise NoAllreduce for the first two instructions, in the order of `done`, that race."""
    number_of = {key: number for number, key in enumerate(file.blocks)}
    clocks = np.zeros((len(number_of), len(number_of)), dtype=np.int32)
    after: dict[Instruction, np.ndarray] = {}  # clocks when an instruction was done that others wait for
    wrote: dict[tuple[int, Chunk], Instruction] = {}  # by GPU and chunk, the last one that wrote it
    read: dict[tuple[int, Chunk], list[Instruction]] = defaultdict(list)  # those that read it since then
    for one, sender in done:
        clock = clocks[number_of[one.gpu, one.block]]
        if one.after:
            number, step = one.after
            np.maximum(clock, after[file.blocks[one.gpu, number].instructions[step]], out=clock)
        if sender:
            np.maximum(clock, after[sender], out=clock)
        conflicts = []
        for cell in ((one.gpu, chunk) for chunk in one.read(in_place)):
            if cell in wrote:
                conflicts.append((cell, wrote[cell]))
            read[cell].append(one)
        for cell in ((one.gpu, chunk) for chunk in one.written(in_place)):
            conflicts += [(cell, earlier) for earlier in read.pop(cell, ())]
            if cell in wrote:
                conflicts.append((cell, wrote[cell]))
            wrote[cell] = one
        for (_, (buffer, chunk)), earlier in conflicts:
            if earlier.block != one.block and clock[number_of[earlier.gpu, earlier.block]] <= earlier.step:
                raise NoAllreduce(
                    "msccl.race",
                    place=file.place(one),
                    block=earlier.block,
                    step=earlier.step,
                    buffer=buffer,
                    chunk=chunk,
                )
        clock[number_of[one.gpu, one.block]] = one.step + 1
        if one.announced or one.kind.sends:
            after[one] = clock.copy()
