"""MSCCL XML: files of others, schedules made by hand, and a machine that runs their thread blocks on numbers.

The machine shares nothing with the package but the format: each step of a block is done at once, the blocks take turns
in any order, and messages are kept until they are received.
"""

import gzip
from collections import deque
from collections.abc import Iterator, Sequence
from random import Random
from xml.etree import ElementTree

import numpy as np
from places import DATA

FILES = DATA / "msccl"
ONE_STEP = "allreduce-1step-4n-ll-1pass"  # 4 GPUs, in place
OUT_OF_PLACE = "allreduce-allpairs-8n-Simple-1pass-op"
ALL_PAIRS = "allreduce-allpairs-8n-ll-32tb"  # reduces and gathers
RING = "all-reduce-ring-ll"  # 16 GPUs, 24 channels, in place and out of place
ALL_GATHER = "allgather-8n-1kb-4kb"


def text_of(name: str) -> str:
    """The text of a file of others."""
    return gzip.decompress((FILES / f"{name}.xml.gz").read_bytes()).decode()


def step(words: str) -> dict[str, str | int]:
    """The attributes of a step, of words such as `re s1 i0 x2 after 0.3 told`: source, target, chunks, wait."""
    kind, *rest = words.split()
    cells = [word for word in rest if word[0] in "ios" and word[1:].isdigit()]
    source, target = [*cells, *["i0", "o0"][len(cells) :]]
    number, _, at = rest[rest.index("after") + 1].partition(".") if "after" in rest else ("-1", ".", "-1")
    count = next((word[1:] for word in rest if word[0] == "x"), "0" if kind == "nop" else "1")
    values = kind, source[0], source[1:], target[0], target[1:], count, number, at, int("told" in rest)
    return dict(zip(("type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"), values))


def made(gpus: Sequence[Sequence[tuple]], chunks: int, scratch: int = 0, **attributes: object) -> str:
    """The XML of thread blocks `(send, recv, channel, steps…)` of each GPU, in place unless `attributes` say more."""
    head = {"name": "made", "proto": "LL", "nchannels": 4, "nchunksperloop": chunks, "ngpus": len(gpus)}
    head |= {"coll": "allreduce", "inplace": 1, "outofplace": 0, "minBytes": 0, "maxBytes": 0} | attributes
    outputs = chunks if head["outofplace"] else 0
    lines = [f"<algo {_attributes(head)}>"]
    for gpu, blocks in enumerate(gpus):
        lines.append(f'<gpu id="{gpu}" i_chunks="{chunks}" o_chunks="{outputs}" s_chunks="{scratch}">')
        for number, (send, recv, channel, *steps) in enumerate(blocks):
            lines.append(f'<tb id="{number}" send="{send}" recv="{recv}" chan="{channel}">')
            lines += [f'<step s="{place}" {_attributes(step(words))}/>' for place, words in enumerate(steps)]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>\n"])


def _attributes(values: dict) -> str:
    return " ".join(f'{name}="{value}"' for name, value in values.items())


def halves() -> str:
    """Two GPUs that each reduce a chunk and send it back."""
    return made([[(1 - gpu, 1 - gpu, 0, *_half(gpu))] for gpu in (0, 1)], chunks=2)


def _half(gpu: int) -> Iterator[str]:
    own, other = f"i{gpu}", f"i{1 - gpu}"
    yield from (f"s {other} {other}", f"rrc {own} {own}", f"s {own} {own}", f"r {other} {other}")


def doubling(waits: bool = True) -> str:
    """Recursive doubling of four GPUs: in the second round two exchange their sums, if they wait for them."""
    told, after = ("told", "after 0.2") if waits else ("", "")
    return made(
        [
            [
                (gpu ^ 1, gpu ^ 1, 0, "s i0 s0", "r i0 s0", f"re s0 i0 {told}"),
                (gpu ^ 2, gpu ^ 2, 1, f"s i0 s1 {after}", "r i0 s1", "re s1 i0"),
            ]
            for gpu in range(4)
        ],
        chunks=1,
        scratch=2,
    )


def run(text: str, inputs: Sequence[np.ndarray], in_place: bool, random: Random) -> list[np.ndarray] | None:
    """What all GPUs end with, the blocks in an order that `random` chooses; None: they wait for ever.

    `inputs` have an element for each chunk. What nobody wrote is not a number.
    """
    memory = []
    for gpu, vector in zip(sorted(ElementTree.fromstring(text), key=lambda gpu: int(gpu.attrib["id"])), inputs):
        lengths = {buffer: int(gpu.attrib[f"{buffer}_chunks"]) for buffer in "ios"}
        buffers = {buffer: np.full(length, np.nan) for buffer, length in lengths.items()} | {"i": vector.copy()}
        memory.append(buffers | ({"o": buffers["i"]} if in_place else {}))
    blocks = {
        (int(gpu.attrib["id"]), int(block.attrib["id"])): block for gpu in ElementTree.fromstring(text) for block in gpu
    }
    done, network = dict.fromkeys(blocks, 0), dict[tuple[int, int, str], deque]()
    while any(done[key] < len(block) for key, block in blocks.items()):
        able = [key for key, block in blocks.items() if _can_go_on(key, block, done, network)]
        if not able:
            return None
        for key in random.sample(able, len(able)):
            if _can_go_on(key, blocks[key], done, network):
                _do(key[0], blocks[key], blocks[key][done[key]].attrib, memory[key[0]], network)
                done[key] += 1
    return [buffers["i" if in_place else "o"] for buffers in memory]


def _ends(gpu: int, block: ElementTree.Element) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    """Where a block receives, and where it sends."""
    source, dest, channel = int(block.attrib["recv"]), int(block.attrib["send"]), block.attrib["chan"]
    return (source, gpu, channel), (gpu, dest, channel)


def _can_go_on(key: tuple[int, int], block: ElementTree.Element, done: dict, network: dict) -> bool:
    if done[key] == len(block):
        return False
    words = block[done[key]].attrib
    awaited = int(words["depid"])
    is_held = awaited >= 0 and done[key[0], awaited] <= int(words["deps"])
    return not is_held and (
        not words["type"].startswith("r") or words["type"] == "re" or bool(network.get(_ends(key[0], block)[0]))
    )


def _do(gpu: int, block: ElementTree.Element, words: dict, buffers: dict, network: dict) -> None:
    """Do a step at once."""
    kind, count = words["type"], int(words["cnt"])
    source, target = (
        buffers[words[f"{side}buf"]][int(words[f"{side}off"]) : int(words[f"{side}off"]) + count]
        if int(words[f"{side}off"]) >= 0
        else np.empty(0)
        for side in ("src", "dst")
    )
    incoming, outgoing = _ends(gpu, block)
    arrived = network[incoming].popleft() if kind in ("r", "rcs", "rrs", "rrc", "rrcs") else None
    value = {
        "s": lambda: source.copy(),
        "cpy": lambda: source.copy(),
        "r": lambda: arrived,
        "rcs": lambda: arrived,
        "re": lambda: target + source,
        "nop": lambda: None,
    }.get(kind, lambda: source + arrived)()
    if kind in ("r", "rcs", "rrc", "rrcs", "re", "cpy"):
        target[:] = value
    if kind in ("s", "rcs", "rrs", "rrcs"):
        network.setdefault(outgoing, deque()).append(value)
