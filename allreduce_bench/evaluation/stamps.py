"""The stamps of every rank at every call of a cell, from the file beside its rows."""

import numpy as np

from ..runs.files import open_kept
from ..runs.folder import RunFolder
from ..runs.rows import Row, RunError
from ..runs.schema import PLAIN_STAMPS, STAMPS


def stamps_of(folder: RunFolder, mark: Row) -> np.ndarray:
    """Return the stamps of every rank and call, warm-ups first, of a cell measured with --record all or --compute.

    float64 [2, call, rank]: entry and exit; with --compute [4, call, rank]: STAMPS. Seconds on the common clock (rank
    0's); `mark` is a row of `folder.marks()` whose `stamps` is not empty. Raises RunError.
    """
    path = folder.launches / mark["stamps"]
    expected = f"expected float64 [2 or 4, call, {mark['ranks']}] in a file of its launch"
    if path.parent.parent != folder.launches or path.parent.name != f"{mark['launch']}.{mark['attempt']}.stamps":
        raise RunError(f"{path}: damaged: {expected}")
    try:
        with open_kept(path) as file:
            stamps = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise RunError(f"{path}: damaged: {error}; {expected}") from error
    shapes = [(len(kinds), int(mark["ranks"])) for kinds in (PLAIN_STAMPS, STAMPS)]
    if not isinstance(stamps, np.ndarray) or stamps.dtype != float or stamps.shape[::2] not in shapes:
        raise RunError(f"{path}: damaged: {expected}")
    return stamps
