"""Traces of torch.profiler: those of tests/data/torch, changed, and made ones.

`Edit` takes the document of a rank and changes it. What NCCL adds is made by the fields of its sources.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from places import DATA

TORCH = DATA / "torch"
RANKS = 4
ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    float("nan"),
    10**30,
    "",
    "\x1b[31m\n",
    [],
    {},
    [[]],
    [{}],
    "[1,2",
    "-5",
    "9" * 25,
)
Document = dict[str, Any]
Edit = Callable[[int, Document], None]


def write_traces(folder: Path, edit: Edit | None = None, of: str = "late", ranks: range = range(RANKS)) -> list[Path]:
    """The recorded traces, changed, one file a rank."""
    return _write(folder, "trace", edit, {rank: _unpacked(TORCH / of / f"trace_{rank}.json.gz") for rank in ranks})


def _unpacked(path: Path) -> Document:
    return json.loads(gzip.decompress(path.read_bytes()))


def _write(folder: Path, name: str, edit: Edit | None, documents: Mapping[int, Document]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank, document in documents.items():
        if edit:
            edit(rank, document)
        paths.append(folder / f"{name}_{rank}.json")
        paths[-1].write_text(json.dumps(document))
    return paths


def damaged(document: Document, draw: random.Random) -> Document:
    """A copy in which one to three values are left out or are of another kind."""
    copy = json.loads(json.dumps(document))
    for *parents, last in draw.choices(list(_places(document)), k=draw.randint(1, 3)):
        try:
            parent = copy
            for key in parents:
                parent = parent[key]
            parent.pop(last) if draw.random() < 0.3 else parent.__setitem__(last, draw.choice(ODD))
        except (KeyError, IndexError, TypeError, AttributeError):  # gone by an earlier damage
            pass
    return copy


def _places(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value; the first ten of a list alone."""
    items = (
        content.items() if isinstance(content, dict) else enumerate(content[:10]) if isinstance(content, list) else ()
    )
    for key, value in items:
        yield (*above, key)
        yield from _places(value, (*above, key))


def without(*beginnings: str) -> Edit:
    """Leave out the events whose names begin so."""

    def edit(rank: int, document: Document) -> None:
        events = document["traceEvents"]
        document["traceEvents"] = [event for event in events if not event["name"].startswith(beginnings)]

    return edit


def two_hosts(rank: int, document: Document) -> None:
    """Ranks 2 and 3 on a host whose clock is an hour ahead and gains 5 us a second."""
    if rank >= 2:
        document["host_name"] = "other"
        document["baseTimeNanoseconds"] += 3600 * 10**9
        first = document["traceEvents"][0]["ts"]
        for event in document["traceEvents"]:
            event["ts"] = first + (event["ts"] - first) * (1 + 5e-6)


def of_nccl(rank: int, document: Document) -> None:
    """The calls as `record_param_comms` of NCCL, numbered, in the group dp, and what a GPU does of them."""
    document["distributedInfo"]["backend"] = "nccl"
    events = [event for event in document["traceEvents"] if event["name"] == "c10d::allreduce_"]
    document["traceEvents"] = []
    for number, event in enumerate(events):
        said = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Seq": number + 7}
        args = {**said, "Process Group Name": "dp", "Process Group Description": "data"}
        document["traceEvents"] += [
            {**event, "name": "record_param_comms", "args": args},
            {**event, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "cat": "kernel", "args": {}},
            {**event, "name": "nccl:all_reduce", "cat": "gpu_user_annotation", "args": {}},
            {**event, "name": "record_param_comms", "args": {**args, "Collective name": "wait", "Seq": 3}},
        ]
