"""Checkpoints of a program: whole files with checksums in a folder, and what each loss of a rank cost.

    checkpoints = Checkpoints(comm)                       # in the folder of `exec --checkpoint`
    newest = checkpoints.newest({"weights": weights})     # None: start at the beginning
    ...
    checkpoints.save(step, weights=weights)               # rank 0 writes
    checkpoints.done(step)                                # after every step: tells what a loss costs

`step-40.<checksum>.npz` holds arrays of numpy.
"""

import io
import json
import os
import struct
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..message import Refused, say
from ..runs.checkpoint_files import whole_checkpoints, write_checkpoint
from ..runs.files import open_kept
from ..runs.start import CHECKPOINT_VARIABLE, RESTART_VARIABLE
from .checkpoint_costs import HISTORY

SUFFIX = ".npz"
REACHED = "reached"  # the last step that was done
STEP = struct.Struct("<q")


class CheckpointError(Refused, RuntimeError):
    """Checkpoints cannot be written, or are of another program."""


class Checkpoint(NamedTuple):
    """What a program goes on from."""

    step: int
    arrays: dict[str, np.ndarray]
    lost_steps: int  # steps that were done after it, and are done again


class Checkpoints:
    """The checkpoints of a program in one folder that all ranks see; rank 0 of `comm` reads and writes it."""

    def __init__(self, comm: MPI.Comm, folder: Path | str | None = None):
        """Take `folder`, or that of `exec --checkpoint`. Raises CheckpointError if there is none."""
        named = folder or os.environ.get(CHECKPOINT_VARIABLE)
        if not named:
            raise CheckpointError("programs.no_checkpoint_folder")
        self.comm, self.folder = comm, Path(named)
        self._reached_before: tuple[int, float, int] | None = None  # step, seconds since the epoch, steps lost
        self._damaged: list[Path] = []  # found by rank 0, removed once a whole one is written
        self._began = False  # whether a step was done since

    def newest(self, like: Mapping[str, np.ndarray] | None = None) -> Checkpoint | None:
        """Return the newest whole checkpoint on all ranks; damaged ones are named on stderr, and left out.

        Raises CheckpointError on all ranks if its arrays have other names, shapes or types than those of `like`, or
        the folder cannot be read. Collective over the communicator.
        """
        found: tuple[Checkpoint | None, Refused | None] = (None, None)
        if self.comm.rank == 0:
            try:
                found = self._newest_here(like), None
            except CheckpointError as error:
                found = None, error
            except OSError as error:
                found = None, CheckpointError("programs.checkpoint_os_error", folder=self.folder, error=error)
        checkpoint, refusal = self.comm.bcast(found, 0)
        if refusal:
            raise refusal
        return checkpoint

    def save(self, step: int, **arrays: np.ndarray) -> None:
        """Write the state after `step` steps, on rank 0; the newest two are kept. Raises CheckpointError there.

        Those of later steps are left alone: they are of another start of the program.
        """
        if self.comm.rank:
            return
        for name, array in arrays.items():
            if np.asarray(array).dtype.hasobject:
                raise CheckpointError("programs.checkpoint_of_objects", name=name)
        began = time.perf_counter()
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]  # names of arrays are not its options
        try:
            write_checkpoint(self.folder, step, content.getbuffer(), SUFFIX, self._damaged)
            self._damaged.clear()
        except OSError as error:
            raise CheckpointError("programs.checkpoint_os_error", folder=self.folder, error=error) from error
        self._note(saved=step, seconds=time.perf_counter() - began)

    def done(self, step: int) -> None:
        """Note in a file, on rank 0, that `step` steps are done: so a restart knows what was lost."""
        if self.comm.rank:
            return
        if self._reached_before:
            reached, at, lost_steps = self._reached_before
            if not self._began:
                self._began = True
                self._note(first=step, seconds=time.time() - at)
            if step < reached:
                return
            self._note(back=step, lost_steps=lost_steps, seconds=time.time() - at)
            self._reached_before = None
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / REACHED).write_bytes(STEP.pack(step))

    def _newest_here(self, like: Mapping[str, np.ndarray] | None) -> Checkpoint | None:
        self._damaged.clear()
        for path, step, content in whole_checkpoints(self.folder, SUFFIX, self._leave_out):
            try:
                with np.load(io.BytesIO(content), allow_pickle=False) as file:
                    arrays = dict(file)
            except (ValueError, zipfile.BadZipFile):
                self._leave_out(path)
                continue
            if like is not None:
                _refuse_others(path, arrays, like)
            return Checkpoint(step, arrays, self._look_back(step))
        self._look_back(0)
        return None

    def _leave_out(self, path: Path) -> None:
        print(say("programs.checkpoint_damaged", path=path), file=sys.stderr, flush=True)
        self._damaged.append(path)

    def _look_back(self, step: int) -> int:
        """Remember how far the program had come before; return the steps done after `step`."""
        path = self.folder / REACHED
        try:
            with open_kept(path) as file:
                (reached,) = STEP.unpack(file.read(STEP.size + 1))
                at = os.fstat(file.fileno()).st_mtime
        except (OSError, struct.error):
            return 0
        lost_steps = max(0, reached - step)
        is_restarted = reached > 0 and RESTART_VARIABLE in os.environ  # else the time between two starts is no loss
        self._reached_before = (reached, at, lost_steps) if is_restarted else None
        return lost_steps

    def _note(self, **facts: float) -> None:
        with open(self.folder / HISTORY, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")


def _refuse_others(path: Path, arrays: Mapping[str, np.ndarray], like: Mapping[str, np.ndarray]) -> None:
    """Raise CheckpointError unless the arrays are those of this program."""
    found, expected = ({name: f"{a.dtype}{[*a.shape]}" for name, a in of.items()} for of in (arrays, like))
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            raise CheckpointError(
                "programs.checkpoint_of_another",
                path=path,
                name=name,
                found=found.get(name, "no such array"),
                expected=expected.get(name, "no such array"),
            )
