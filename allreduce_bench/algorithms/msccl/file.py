"""Reading of MSCCL XML into tables: GPUs with thread blocks, which hold instructions (the `step`s of the file).

What is no MSCCL file of an all-reduce, or names what is not there, is refused with the line, the GPU, the block and the
step. Here only the form is checked; what the blocks do together is found by `execution`, `races` and `values`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from ...schedule.algorithm import AlgorithmError

TAGS = ("algo", "gpu", "tb", "step")  # each inside the one before
BUFFERS = {"i": "i_chunks", "o": "o_chunks", "s": "s_chunks"}  # input, output, scratch: attributes of their lengths
NUMBER = re.compile("-?[0-9]{1,9}")
MOST_GPUS, MOST_CHUNKS, MOST_NUMBER = 1024, 1 << 16, 10**9
MOST = {  # of all GPUs together
    "chunks of inputs": 1 << 18,
    "thread blocks": 2048,
    "steps": 1 << 16,
    "chunks that steps move": 1 << 18,
}


class Kind(NamedTuple):
    """What an instruction does with each of its chunks, in this order.

    Two chunks of those that it receives and reads are added; one is kept as it is. The result is written and sent.
    """

    receives: bool = False
    reads_source: bool = False
    reads_target: bool = False
    writes: bool = False
    sends: bool = False


KINDS = {
    "s": Kind(reads_source=True, sends=True),
    "r": Kind(receives=True, writes=True),
    "rcs": Kind(receives=True, writes=True, sends=True),
    "rrs": Kind(receives=True, reads_source=True, sends=True),
    "rrc": Kind(receives=True, reads_source=True, writes=True),
    "rrcs": Kind(receives=True, reads_source=True, writes=True, sends=True),
    "re": Kind(reads_source=True, reads_target=True, writes=True),
    "cpy": Kind(reads_source=True, writes=True),
    "nop": Kind(),
}


Chunk = tuple[str, int]  # buffer, and number in it


class Cells(NamedTuple):
    """Consecutive chunks of a buffer of a GPU."""

    buffer: str  # a key of BUFFERS
    start: int
    length: int

    def each(self, in_place: bool) -> list[Chunk]:
        """Return each chunk; in place, the output is the input."""
        buffer = "i" if in_place and self.buffer == "o" else self.buffer
        return [(buffer, number) for number in range(self.start, self.start + self.length)]


class Instruction(NamedTuple):
    """A step of a thread block."""

    gpu: int
    block: int
    step: int
    line: int
    kind: Kind
    source: Cells
    target: Cells
    after: tuple[int, int] | None  # block and step of the same GPU that are done before it begins
    announced: bool  # whether others may wait for it

    @property
    def length(self) -> int:
        """Return its number of chunks."""
        return self.source.length

    def read(self, in_place: bool) -> list[Chunk]:
        """Return the chunks of its GPU that it reads."""
        source, target = self.source.each(in_place), self.target.each(in_place)
        return target * self.kind.reads_target + source * self.kind.reads_source

    def written(self, in_place: bool) -> list[Chunk]:
        """Return the chunks of its GPU that it writes."""
        return self.target.each(in_place) * self.kind.writes

    def __str__(self) -> str:
        return f"GPU {self.gpu}, block {self.block}, step {self.step}"


class Block(NamedTuple):
    """Thread block: its instructions run one after the other, beside those of other blocks."""

    gpu: int
    number: int
    dest: int  # the GPU that it sends to; -1: none
    source: int  # the GPU that it receives from; -1: none
    channel: int
    line: int
    instructions: tuple[Instruction, ...]


class MscclFile(NamedTuple):
    """Content of an MSCCL file of an all-reduce."""

    path: Path
    gpus: int
    chunks: int  # of the vector
    channels: int
    protocol: str
    in_place: tuple[bool, ...]  # the ways in which it runs: in place, out of place, or both
    blocks: dict[tuple[int, int], Block]  # by GPU and number

    @property
    def receiving(self) -> dict[tuple[int, int, int], Block]:
        """Return the blocks that receive, by source, destination and channel."""
        return {(block.source, block.gpu, block.channel): block for block in self.blocks.values() if block.source >= 0}

    @property
    def sending(self) -> dict[tuple[int, int, int], Block]:
        """Return the blocks that send, by source, destination and channel."""
        return {(block.gpu, block.dest, block.channel): block for block in self.blocks.values() if block.dest >= 0}

    def place(self, one: Instruction) -> str:
        """Return where an instruction stands."""
        return f"{self.path}:{one.line}: {one}"


class NoAllreduce(AlgorithmError):
    """Error: the file is MSCCL XML, and what it describes is no all-reduce."""

    exit_code = 1


class _Element(NamedTuple):
    """An element of the XML."""

    line: int
    attributes: dict[str, str]
    parts: list["_Element"]


class _Place(NamedTuple):
    """An element, and words for where it stands."""

    path: Path
    element: _Element
    words: str = ""  # `GPU 0, block 3`

    def __str__(self) -> str:
        return f"{self.path}:{self.element.line}: {self.words or TAGS[0]}"

    def word(self, name: str) -> str:
        """Return an attribute. Raises AlgorithmError if it is missing."""
        try:
            return self.element.attributes[name]
        except KeyError:
            raise AlgorithmError("msccl.attribute_missing", place=self, name=name) from None

    def one_of(self, name: str, known: dict) -> str:
        """Return an attribute that is one of the keys of `known`. Raises AlgorithmError."""
        if (word := self.word(name)) not in known:
            raise AlgorithmError("msccl.one_of", place=self, name=name, word=word, known=", ".join(known))
        return word

    def number(self, name: str, least: int, most: int) -> int:
        """Return an attribute as a number within these bounds. Raises AlgorithmError."""
        word = self.word(name)
        if not NUMBER.fullmatch(word) or not least <= int(word) <= most:
            raise AlgorithmError("msccl.number", place=self, name=name, word=word, least=least, most=most)
        return int(word)

    def parts(self, words: str, attribute: str) -> Iterator["_Place"]:
        """Yield its elements; `words` are the beginning of theirs, with a number that `attribute` holds."""
        for part in self.element.parts:
            yield _Place(self.path, part, f"{words}{part.attributes.get(attribute, '?'):.20}")


def read(path: Path, content: bytes) -> MscclFile:
    """Return the tables of an MSCCL file. Raises AlgorithmError, in one sentence, for what is none of an all-reduce."""
    algo = _Place(path, _root(path, content))
    if (collective := algo.word("coll")) != "allreduce":
        raise AlgorithmError("msccl.collective", place=algo, collective=collective)
    gpus, channels = algo.number("ngpus", 2, MOST_GPUS), algo.number("nchannels", 1, MOST_NUMBER)
    chunks = algo.number("nchunksperloop", 1, MOST_CHUNKS)
    ways = {True: algo.number("inplace", 0, 1), False: algo.number("outofplace", 0, 1)}
    in_place = tuple(way for way, holds in ways.items() if holds)
    if not in_place:
        raise AlgorithmError("msccl.neither_in_place_nor_out", place=algo)
    found: dict[int, _Place] = {}
    for place in algo.parts("GPU ", "id"):
        number = place.number("id", 0, gpus - 1)
        if number in found:
            raise AlgorithmError("msccl.twice", place=place)
        found[number] = place
    if missing := [number for number in range(gpus) if number not in found]:
        raise AlgorithmError("msccl.gpu_missing", place=algo, gpu=missing[0], gpus=gpus)
    blocks = {
        (gpu, block.number): block for gpu in range(gpus) for block in _blocks(found[gpu], gpu, gpus, chunks, channels)
    }
    file = MscclFile(path, gpus, chunks, channels, algo.word("proto"), in_place, blocks)
    _refuse_long(file, algo)
    _refuse_ends(file)
    _refuse_odd_waits(file)
    return file


def _root(path: Path, content: bytes) -> _Element:
    """Return the outermost element of the XML. Raises AlgorithmError for other text, and for a document type."""
    parser, open_elements = expat.ParserCreate(), list[_Element]()
    outermost = _Element(0, {}, [])

    def begin(name: str, attributes: dict[str, str]) -> None:
        depth, line = len(open_elements), parser.CurrentLineNumber
        expected = TAGS[depth] if depth < len(TAGS) else "nothing"
        if name != expected:
            raise AlgorithmError("msccl.element", path=path, line=line, name=name, expected=expected)
        element = _Element(line, attributes, [])
        (open_elements[-1] if open_elements else outermost).parts.append(element)
        open_elements.append(element)

    def end(name: str) -> None:
        open_elements.pop()

    def refuse_document_type(*_: object) -> None:  # the only place of entities, which may expand without a bound
        raise AlgorithmError("msccl.document_type", path=path, line=parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse_document_type
    try:
        parser.Parse(content, True)
    except AlgorithmError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last two: of encodings
        raise AlgorithmError("msccl.no_xml", path=path, error=error) from error
    return outermost.parts[0]


def _blocks(place: _Place, gpu: int, gpus: int, chunks: int, channels: int) -> Iterator[Block]:
    """Yield the thread blocks of a GPU."""
    lengths = {buffer: place.number(name, 0, MOST_CHUNKS) for buffer, name in BUFFERS.items()}
    if lengths["i"] != chunks or lengths["o"] not in (0, chunks):
        raise AlgorithmError(
            "msccl.lengths_of_buffers", place=place, inputs=lengths["i"], outputs=lengths["o"], chunks=chunks
        )
    known: set[int] = set()
    for part in place.parts(f"{place.words}, block ", "id"):
        number = part.number("id", 0, MOST_NUMBER)
        if number in known:
            raise AlgorithmError("msccl.twice", place=part)
        known.add(number)
        dest, source = (part.number(name, -1, gpus - 1) for name in ("send", "recv"))
        if gpu in (dest, source):
            raise AlgorithmError("msccl.own_peer", place=part, gpu=gpu)
        instructions = tuple(_instructions(part, gpu, number, lengths, dest, source))
        yield Block(gpu, number, dest, source, part.number("chan", 0, channels - 1), part.element.line, instructions)


def _instructions(
    place: _Place, gpu: int, block: int, lengths: dict[str, int], dest: int, source: int
) -> Iterator[Instruction]:
    """Yield the instructions of a thread block."""
    for expected, part in enumerate(place.parts(f"{place.words}, step ", "s")):
        if (step := part.number("s", 0, MOST_NUMBER)) != expected:
            raise AlgorithmError("msccl.step_expected", place=part, expected=expected)
        kind = KINDS[(type_ := part.one_of("type", KINDS))]
        for acts, peer, name in ((kind.sends, dest, "send"), (kind.receives, source, "recv")):
            if acts and peer < 0:
                raise AlgorithmError("msccl.no_peer", place=part, type=type_, name=name)
        count = part.number("cnt", 1 if any(kind) else 0, MOST_CHUNKS)
        read = _cells(part, "src", lengths, count if kind.reads_source else 0)
        written = _cells(part, "dst", lengths, count if kind.reads_target or kind.writes else 0)
        waits_for, at = part.number("depid", -1, MOST_NUMBER), part.number("deps", -1, MOST_NUMBER)
        after = None if waits_for < 0 else (waits_for, at)
        announced = bool(part.number("hasdep", 0, 1))
        source_cells, target_cells = Cells(*read, count), Cells(*written, count)
        yield Instruction(gpu, block, step, part.element.line, kind, source_cells, target_cells, after, announced)


def _cells(place: _Place, prefix: str, lengths: dict[str, int], count: int) -> tuple[str, int]:
    """Return buffer and offset of the chunks that an instruction reads or writes; `count` 0: it uses none."""
    buffer, start = place.one_of(f"{prefix}buf", BUFFERS), place.number(f"{prefix}off", -1, MOST_NUMBER)
    if count and not 0 <= start <= lengths[buffer] - count:
        raise AlgorithmError(
            "msccl.outside_of_buffer",
            place=place,
            offset=f"{prefix}off",
            start=start,
            count=count,
            buffer=buffer,
            length=lengths[buffer],
        )
    return buffer, start


def _refuse_long(file: MscclFile, algo: _Place) -> None:
    """Raise AlgorithmError for a file that would take very long to prove."""
    instructions = [one for block in file.blocks.values() for one in block.instructions]
    moved = sum(one.length for one in instructions)
    numbers = file.gpus * file.chunks, len(file.blocks), len(instructions), moved
    for (what, most), number in zip(MOST.items(), numbers):
        if number > most:
            raise AlgorithmError("msccl.long", place=algo, what=what, number=number, most=most)


def _refuse_ends(file: MscclFile) -> None:
    """Raise AlgorithmError for two blocks of a GPU at one end of a channel, or a block that nobody is connected to."""
    ends = {"send": ("dest", file.sending, file.receiving), "recv": ("source", file.receiving, file.sending)}
    for block in file.blocks.values():
        place = f"{file.path}:{block.line}: GPU {block.gpu}, block {block.number}"
        for name, (field, own, others) in ends.items():
            if (peer := getattr(block, field)) < 0:
                continue
            ends_of_channel = (block.gpu, peer) if name == "send" else (peer, block.gpu)
            if own[(*ends_of_channel, block.channel)] is not block:
                raise AlgorithmError("msccl.channel_shared", place=place, name=name, peer=peer, channel=block.channel)
            acts = any(one.kind.sends if name == "send" else one.kind.receives for one in block.instructions)
            if acts and (*ends_of_channel, block.channel) not in others:
                raise AlgorithmError(
                    "msccl.nobody_at_other_end", place=place, name=name, peer=peer, channel=block.channel
                )


def _refuse_odd_waits(file: MscclFile) -> None:
    """Raise AlgorithmError for an instruction that waits for one that is not there, or that is not announced."""
    for block in file.blocks.values():
        for one in block.instructions:
            if one.after is None:
                continue
            number, step = one.after
            awaited = file.blocks.get((one.gpu, number))
            if awaited is None or not 0 <= step < len(awaited.instructions):
                raise AlgorithmError("msccl.waits_for_nothing", place=file.place(one), block=number, step=step)
            if not awaited.instructions[step].announced:
                raise AlgorithmError("msccl.waits_for_unannounced", place=file.place(one), block=number, step=step)
