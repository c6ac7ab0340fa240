"""Checkpoints: whole files with a checksum, of which the newest whole one is taken.

A file holds one line of JSON with what it is of, then its content. It is written under another name and renamed, so
that a rank that is lost while it writes leaves the former one whole; what was cut off all the same has another checksum
and is passed over.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ..message import Refused
from ..runs.files import read_given, write_atomically

MOST_NBYTES = 16 * 2**30
KEPT = 2  # files in a folder: the newest, and the one before


class CheckpointError(Refused, ValueError):
    """A file that is no whole checkpoint, or one of something else."""


class Checkpoint(NamedTuple):
    """What was kept after a step."""

    step: int
    of: dict[str, Any]  # what it is of, such as the sizes of a network: others are refused
    content: bytes


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write the checkpoint of a step into a folder, and delete old ones. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"step": checkpoint.step, "of": checkpoint.of, "nbytes": len(checkpoint.content)}
    body = json.dumps(head).encode() + b"\n" + checkpoint.content
    path = folder / f"step-{checkpoint.step:09d}.checkpoint"
    write_atomically(path, b"%08x\n" % crc32(body) + body)
    for old in [*_files(folder)][KEPT:]:
        old.unlink(missing_ok=True)
    return path


def read(path: Path) -> Checkpoint:
    """Read one file. Raises CheckpointError where it is not whole, OSError where there is none."""
    checksum, _, body = read_given(path, MOST_NBYTES).partition(b"\n")
    if checksum != b"%08x" % crc32(body):
        raise CheckpointError("survive.checkpoint_cut_off", path=path)
    head, _, content = body.partition(b"\n")
    values = json.loads(head)
    return Checkpoint(values["step"], values["of"], content)


def newest(folder: Path, of: dict[str, Any]) -> Checkpoint | None:
    """Return the newest whole checkpoint of a folder; None: there is none.

    Raises CheckpointError if it is of something else.
    """
    for path in _files(folder):
        with suppress(OSError, CheckpointError):
            found = read(path)
            break
    else:
        return None
    if found.of != of:
        raise CheckpointError("survive.checkpoint_of_another", path=path, found=found.of, expected=of)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Yield the checkpoints of a folder, the newest first."""
    yield from sorted(folder.glob("step-*.checkpoint"), reverse=True)


# How often to write one


class Interval(NamedTuple):
    """Seconds of work between two checkpoints."""

    young_s: float
    daly_s: float


def interval(takes_s: float, mttf_s: float) -> Interval:
    """Return the interval that loses least, where a checkpoint takes `takes_s` and a loss comes every `mttf_s`.

    Young, Commun. ACM 17(9), 1974, and the estimate of higher order of Daly, Future Gener. Comput. Syst. 22(3), 2006.
    """
    young_s, ratio = sqrt(2 * takes_s * mttf_s), takes_s / (2 * mttf_s)
    daly_s = young_s * (1 + sqrt(ratio) / 3 + ratio / 9) - takes_s if ratio < 1 else mttf_s
    return Interval(young_s, daly_s)


def share_lost(every_s: float, takes_s: float, mttf_s: float, recovery_s: float) -> float:
    """Return the share of time that checkpoints, lost work and recoveries take, to first order."""
    return takes_s / (every_s + takes_s) + (every_s / 2 + recovery_s) / mttf_s
