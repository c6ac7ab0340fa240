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
import math
import operator
import os
import struct
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from mpi4py import MPI

from ..runs.checkpoint_files import MOST_STEPS, whole_checkpoints, write_checkpoint
from ..runs.files import kept_handle, open_kept
from ..runs.start import CHECKPOINT_VARIABLE, RESTART_VARIABLE
from ..units import escaped
from .agreement import end_with_errors
from .checkpoint_costs import HISTORY

SUFFIX, ARRAY = ".npz", ".npy"  # of a file, and of what is in it
REACHED = "reached"  # the last step that was done
STEP = struct.Struct("<q")


class CheckpointError(RuntimeError):
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
            raise CheckpointError("Checkpoints: no folder; name one, or start the program with exec --checkpoint DIR")
        self.comm, self.folder = comm, Path(named)
        self._reached_before: tuple[int, float, int] | None = None  # step, seconds since the epoch, steps lost
        self._damaged: list[Path] = []  # found by rank 0, removed once a whole one is written
        self._began = False  # whether a step was done since
        end_with_errors()  # of rank 0, which alone writes

    def newest(self, like: Mapping[str, np.ndarray] | None = None) -> Checkpoint | None:
        """Return the newest whole checkpoint on all ranks; damaged ones are named on stderr, and left out.

        Raises CheckpointError on all ranks if its arrays have other names, shapes or types than those of `like`, or
        the folder cannot be read. Collective over the communicator.
        """
        found: tuple[Checkpoint | None, Exception | None] = (None, None)
        if self.comm.rank == 0:
            try:
                found = self._newest_here(like), None
            except OSError as error:
                found = None, self._system_error(error)
            except Exception as error:  # whatever it is, the other ranks must not wait for this one
                found = None, error
        checkpoint, refusal = self.comm.bcast(found, 0)
        if refusal:
            raise refusal
        return checkpoint

    def save(self, step: int, /, **arrays: np.ndarray) -> None:
        """Write the state after `step` steps, on rank 0; the newest two are kept. Raises CheckpointError there.

        Those of later steps are left alone: they are of another start of the program. Raises CheckpointError on all
        ranks for a step or arrays that no file can keep.
        """
        number, kept = _check_step(step), {name: np.asanyarray(array) for name, array in arrays.items()}
        for name, array in kept.items():
            _refuse_type(name, array.dtype)
        if self.comm.rank:
            return
        began = time.perf_counter()
        try:
            write_checkpoint(self.folder, number, _pack(kept), SUFFIX, self._damaged)
            self._damaged.clear()
            self._note(saved=number, seconds=time.perf_counter() - began)
        except OSError as error:
            raise self._system_error(error) from error

    def done(self, step: int) -> None:
        """Note in a file, on rank 0, that `step` steps are done: so a restart knows what was lost.

        Raises CheckpointError on all ranks for what is no step, on rank 0 if the file cannot be written.
        """
        number = _check_step(step)
        if self.comm.rank:
            return
        try:
            if self._is_ahead(number):
                self._reach(number)
        except OSError as error:
            raise self._system_error(error) from error

    def _is_ahead(self, step: int) -> bool:
        """Return whether this step was not done before a loss; note the first one after it, and the first one ahead."""
        if self._reached_before is None:
            return True
        reached, at, lost_steps = self._reached_before
        if not self._began:
            self._began = True
            self._note(first=step, seconds=time.time() - at)
        if step < reached:
            return False
        self._note(back=step, lost_steps=lost_steps, seconds=time.time() - at)
        self._reached_before = None
        return True

    def _reach(self, step: int) -> None:
        """Write how far the program is; a rank that is killed meanwhile leaves the former step or this one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = kept_handle(self.folder / REACHED, os.O_WRONLY | os.O_CREAT)
        with open(handle, "wb", buffering=0) as file:
            file.write(STEP.pack(step))
            file.truncate()

    def _system_error(self, error: OSError) -> CheckpointError:
        reason = error.strerror or str(error)
        return CheckpointError(
            f"checkpoints: {error.filename or self.folder}: {reason}; expected a folder that rank 0 can read and "
            "write, with room for two checkpoints"
        )

    def _newest_here(self, like: Mapping[str, np.ndarray] | None) -> Checkpoint | None:
        self._damaged.clear()
        for path, step, content in whole_checkpoints(self.folder, SUFFIX, self._leave_out):
            try:
                arrays = _unpack(content)
            except MemoryError:  # no fault of the file
                raise
            except Exception:  # whole, but of something else, which may fail in any way
                self._leave_out(path, "holds no arrays of numbers, though it is whole")
                continue
            if like is not None:
                _refuse_others(path, arrays, like)
            return Checkpoint(step, arrays, self._look_back(step))
        self._look_back(0)
        return None

    def _leave_out(self, path: Path, why: str = "cut off or changed, it has another checksum than its name") -> None:
        print(escaped(f"warning: {path}: {why}; it is left out"), file=sys.stderr, flush=True)
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
        with open(self.folder / HISTORY, "a", encoding="utf-8", opener=kept_handle) as file:
            file.write(json.dumps(facts) + "\n")


def _check_step(step: int) -> int:
    """Return the step as a whole number. Raises CheckpointError if the name of no file can hold it."""
    try:
        number = operator.index(step)  # also of numpy's kinds, which JSON does not know
    except TypeError:
        number = -1
    if not 0 <= number < MOST_STEPS:
        raise CheckpointError(
            f"Checkpoints: step {step!r:.40}; expected the number of steps that are done, a whole number from 0 to "
            "999999999999999999"
        )
    return number


def _refuse_type(name: str, dtype: np.dtype) -> None:
    """Raise CheckpointError for a type that would not be read as it was written: objects, and types beyond numpy's."""
    if dtype.hasobject:
        raise CheckpointError(f"Checkpoints: {name} holds objects of Python; expected numbers")
    if np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) != dtype:
        raise CheckpointError(
            f"Checkpoints: {name} is of type {dtype}, which a file of numpy does not keep; convert it, for example to "
            "float32"
        )


def _pack(arrays: Mapping[str, np.ndarray]) -> memoryview:
    """Return a file of numpy's format npz; `np.savez` takes some names of arrays for its own arguments."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, array in arrays.items():
            with file.open(name + ARRAY, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getbuffer()


def _unpack(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of such a file. Raises ValueError for one whose header states more than there is."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for name in file.namelist():
            with file.open(name) as member:
                if _stated_nbytes(member) > len(content):  # numpy would ask for that much memory
                    raise ValueError
                member.seek(0)
                arrays[name.removesuffix(ARRAY)] = np.lib.format.read_array(member, allow_pickle=False)
    return arrays


def _stated_nbytes(member: IO[bytes]) -> int:
    """Return the bytes of an array by its header."""
    is_first = np.lib.format.read_magic(member) == (1, 0)
    read_header = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(member)
    return math.prod(shape) * dtype.itemsize


def _refuse_others(path: Path, arrays: Mapping[str, np.ndarray], like: Mapping[str, np.ndarray]) -> None:
    """Raise CheckpointError unless the arrays are those of this program."""
    found, expected = (
        {name: f"{a.dtype}{[*a.shape]}" for name, one in of.items() for a in (np.asanyarray(one),)}
        for of in (arrays, like)
    )
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            raise CheckpointError(
                f"{path}: a checkpoint of another program: its {name} is {found.get(name, 'no such array')}, expected "
                f"{expected.get(name, 'no such array')}; give each program a folder of its own"
            )
