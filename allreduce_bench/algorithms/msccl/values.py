"""What the instructions do to the vector: moves of chunks between GPUs, and which have to come before which.

A rank of this suite has its input, which stays as it is, and one vector; what arrives overwrites a chunk of the vector
or is added to it. A GPU has scratch besides. So a chunk that lands in scratch moves later here: when it is added, when
it is sent on, or when it stays as the result. The additions and their order stay the same. A schedule that needs two
values of a chunk at once, besides the input, is refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .execution import Done
from .file import Chunk, Instruction, MscclFile, NoAllreduce


@dataclass(eq=False)
class Move:
    """One chunk of a message, from the vector of a GPU, or its input, to the vector of another."""

    sender: Instruction
    chunk: int  # of the vector
    contributions: int  # GPUs whose data it holds, as bits
    receiver: Instruction | None = None  # None: not received yet
    original: bool = False  # it sends the input
    reduce: bool | None = None  # what arrives is added to the vector, or overwrites it; None: it is not used
    after: "list[Move]" = field(default_factory=list)  # those that have to end before it begins
    not_before: "list[Move]" = field(default_factory=list)  # those that have to begin before it ends


@dataclass(eq=False)
class Value:
    """What a GPU has of a chunk of the vector."""

    chunk: int
    contributions: int
    move: Move | None = None  # that brings it, or what was added last; None: it is the GPU's input
    settled: bool = True  # it is, or was, in the vector; else it waits to be used


def moves_of(file: MscclFile, done: Iterable[Done], in_place: bool) -> list[Move]:
    """Return the moves of all chunks. Raises NoAllreduce if the instructions are none, or need more memory."""
    gpus = [_Gpu(file, number, in_place) for number in range(file.gpus)]
    moves: list[Move] = []
    sent: dict[Instruction, list[Move]] = {}
    for one, sender in done:
        leaving = gpus[one.gpu].do(one, sent.pop(sender) if sender else [])
        moves += leaving
        if one.kind.sends:
            sent[one] = leaving
    for gpu in gpus:
        gpu.finish()
    used = [move for move in moves if move.reduce is not None]
    for move in used:
        move.not_before = [other for other in move.not_before if other.reduce is not None]
    return used


class _Gpu:
    """The buffers of a GPU, and the vector of the rank in its place."""

    def __init__(self, file: MscclFile, number: int, in_place: bool):
        self.file, self.number, self.in_place = file, number, in_place
        self.vector = [Value(chunk, 1 << number) for chunk in range(file.chunks)]
        self.sends: list[list[Move]] = [[] for _ in self.vector]  # of each chunk, those of what is in the vector
        self.cells: dict[Chunk, Value] = {("i", value.chunk): value for value in self.vector}
        self.writer: dict[Chunk, Instruction] = {}

    def do(self, one: Instruction, arriving: list[Move]) -> list[Move]:
        """Do an instruction; return what it sends."""
        read = [self._load(one, chunk) for chunk in one.read(self.in_place)]
        operands = [read[place :: one.length] for place in range(one.length)]
        for found, move in zip(operands, arriving):
            move.receiver = one
            found.append(Value(move.chunk, move.contributions, move, settled=False))
        values = [found[0] if len(found) == 1 else self._add(one, *found) for found in operands if found]
        for cell, value in zip(one.written(self.in_place), values):
            self.cells[cell], self.writer[cell] = value, one
        return [self._send(one, value) for value in values] if one.kind.sends else []

    def finish(self) -> None:
        """Put the result into the vector. Raises NoAllreduce if it is none."""
        everyone = (1 << self.file.gpus) - 1
        for chunk in range(self.file.chunks):
            cell = "i" if self.in_place else "o", chunk
            value, writer = self.cells.get(cell), self.writer.get(cell)
            place = self.file.place(writer) if writer else f"{self.file.path}: GPU {self.number}"
            if value is None:
                raise NoAllreduce("msccl.result_unwritten", place=place, own=self.number, chunk=chunk)
            if value.chunk != chunk:
                raise NoAllreduce("msccl.result_of_other", place=place, own=self.number, chunk=chunk, found=value.chunk)
            if missing := everyone & ~value.contributions:
                raise NoAllreduce("msccl.result_lacks", place=place, own=self.number, chunk=chunk, gpu=_lowest(missing))
            self._settle(writer, value)

    def _load(self, one: Instruction, cell: Chunk) -> Value:
        if cell not in self.cells:
            raise NoAllreduce("msccl.unwritten", place=self.file.place(one), buffer=cell[0], chunk=cell[1])
        return self.cells[cell]

    def _add(self, one: Instruction, first: Value, second: Value) -> Value:
        """Add what waits to what is in the vector."""
        place = self.file.place(one)
        if first.chunk != second.chunk:
            raise NoAllreduce("msccl.adds_other_chunk", place=place, first=first.chunk, second=second.chunk)
        if common := first.contributions & second.contributions:
            raise NoAllreduce("msccl.adds_twice", place=place, chunk=first.chunk, gpu=_lowest(common))
        if not (first.settled or second.settled):
            self._settle(one, first)
        kept, added = (second, first) if second.settled and not first.settled else (first, second)
        if added.settled or self.vector[kept.chunk] is not kept:
            raise NoAllreduce("msccl.two_values", place=place, chunk=kept.chunk)
        self._put(added, reduce=True)
        result = Value(kept.chunk, kept.contributions | added.contributions, added.move)
        self.vector[kept.chunk] = result
        return result

    def _send(self, one: Instruction, value: Value) -> Move:
        move = Move(one, value.chunk, value.contributions, original=value.move is None)
        if value.move:
            self._settle(one, value)
            move.after.append(value.move)
            self.sends[value.chunk].append(move)
        return move

    def _settle(self, one: Instruction | None, value: Value) -> None:
        """Put a value that waits into the vector. Raises NoAllreduce if it was there and is no longer."""
        if not value.settled:
            self._put(value, reduce=False)
            self.vector[value.chunk] = value
        if self.vector[value.chunk] is not value:
            place = self.file.place(one) if one else f"{self.file.path}: GPU {self.number}"
            raise NoAllreduce("msccl.two_values", place=place, chunk=value.chunk)

    def _put(self, value: Value, reduce: bool) -> None:
        """Let a value that waits change the vector: after it was completed so far, and not before that was sent."""
        move, before = value.move, self.vector[value.chunk].move
        assert move is not None  # only inputs have none, and they are settled
        move.reduce, value.settled = reduce, True
        move.after += [before] if before else []
        move.not_before += self.sends[value.chunk]
        self.sends[value.chunk] = []


def _lowest(gpus: int) -> int:
    """Return the lowest number in a set of bits."""
    return (gpus & -gpus).bit_length() - 1
