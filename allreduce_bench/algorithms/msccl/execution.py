"""Execution of the thread blocks of all GPUs, side by side, without data: in which order their instructions are done.

A block does one instruction after the other; one that waits for another block, or for a message, holds it up. Messages
from a block to another keep their order, and are kept until they are received.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from .file import Block, Instruction, MscclFile, NoAllreduce

Channel = tuple[int, int, int]  # source, destination, number


class Done(NamedTuple):
    """An instruction that is done, and the one that sent what it received."""

    instruction: Instruction
    sender: Instruction | None


def execute(file: MscclFile) -> Iterator[Done]:
    """Yield each instruction as it is done, in a possible order.

    Raises NoAllreduce if a block waits for ever, if both ends of a message differ in length, or if nobody receives it.
    """
    at = dict.fromkeys(file.blocks, 0)  # instructions that each block has done
    sent: dict[Channel, deque[Instruction]] = defaultdict(deque)
    asleep: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)  # by what blocks wait for
    ready = deque(file.blocks)
    while ready:
        key = ready.popleft()
        block = file.blocks[key]
        if at[key] == len(block.instructions):
            continue
        one, sender = block.instructions[at[key]], None
        incoming, outgoing = (block.source, block.gpu, block.channel), (block.gpu, block.dest, block.channel)
        if one.after and at[one.gpu, one.after[0]] <= one.after[1]:
            asleep[one.gpu, one.after].append(key)
            continue
        if one.kind.receives:
            if not sent[incoming]:
                asleep[incoming].append(key)
                continue
            sender = sent[incoming].popleft()
            if sender.length != one.length:
                raise NoAllreduce(
                    "msccl.lengths_of_message",
                    place=file.place(one),
                    count=one.length,
                    sender=sender,
                    sent=sender.length,
                )
        at[key] += 1
        yield Done(one, sender)
        ready.append(key)
        ready.extend(asleep.pop((one.gpu, (one.block, one.step)), ()))
        if one.kind.sends:
            sent[outgoing].append(one)
            ready.extend(asleep.pop(outgoing, ()))
    _refuse_waiting(file, at)
    if lost := next((queue[0] for queue in sent.values() if queue), None):
        block = file.blocks[lost.gpu, lost.block]
        receiver = file.receiving[block.gpu, block.dest, block.channel]
        raise NoAllreduce("msccl.never_received", place=file.place(lost), gpu=receiver.gpu, block=receiver.number)


def _refuse_waiting(file: MscclFile, at: dict[tuple[int, int], int]) -> None:
    """Raise NoAllreduce for a block that has not ended, first for one that waits for a block that has."""
    waiting = []
    for key, block in file.blocks.items():
        if at[key] < len(block.instructions):
            one = block.instructions[at[key]]
            awaited = _awaited(file, block, one, at)
            waiting.append((at[awaited.gpu, awaited.number] < len(awaited.instructions), one, awaited))
    if waiting:
        is_waiting, one, awaited = min(waiting, key=lambda found: (found[0], found[1][:3]))
        where = awaited.instructions[at[awaited.gpu, awaited.number]] if is_waiting else None
        raise NoAllreduce(
            "msccl.waits_for_waiting" if is_waiting else "msccl.waits_for_ended",
            place=file.place(one),
            gpu=awaited.gpu,
            block=awaited.number,
            step=where.step if where else len(awaited.instructions),
        )


def _awaited(file: MscclFile, block: Block, one: Instruction, at: dict[tuple[int, int], int]) -> Block:
    """Return the block for which an instruction waits."""
    if one.after and at[one.gpu, one.after[0]] <= one.after[1]:
        return file.blocks[one.gpu, one.after[0]]
    return file.sending[block.source, block.gpu, block.channel]
