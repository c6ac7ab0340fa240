"""Checkpoints of a measured launch: the step, and what it is of; others in the same folder are refused."""

import json
from pathlib import Path
from typing import Any

from ..runs.checkpoint_files import whole_checkpoints, write_checkpoint

SUFFIX = ".json"


class CheckpointError(ValueError):
    """A checkpoint of something else."""


def write(folder: Path, step: int, of: dict[str, Any]) -> None:
    """Write the checkpoint of a step of what `of` describes. Raises OSError."""
    write_checkpoint(folder, step, json.dumps(of).encode(), SUFFIX)


def newest(folder: Path, of: dict[str, Any]) -> int:
    """Return the step of the newest whole checkpoint of a folder; 0: there is none.

    Raises CheckpointError if it is of something else, OSError.
    """
    for path, step, content in whole_checkpoints(folder, SUFFIX):
        found = json.loads(content)
        if found != of:
            raise CheckpointError(f"{path}: a checkpoint of {found}; expected one of {of}")
        return step
    return 0
