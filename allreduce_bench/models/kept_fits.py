"""Fits that were made before, by a digest of what they were made from: the same data are not fitted twice.

Each is a JSON file in `allreduce-bench/fits` of the user's cache folder (XDG_CACHE_HOME, else ~/.cache). One that is
damaged is made anew, and where none can be written all is fitted as before. The digest covers the times, the terms of
the schedules, and the program: its version, the modules that fit, and the libraries they use.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import __version__
from ..runs.files import read_kept, write_atomically
from ..runs.typed_json import JsonError, read_as
from .fitting import Reach, Residuals, Scores
from .forms import Observations, SizeLine
from .model import ModelPart

MOST_FITS = 1000  # beyond, the oldest is removed
MOST_NBYTES = 2**22  # of one
PROGRAM = ("models/*.py", "stats.py")  # what decides about a fit and its notes


class KeptFit(NamedTuple):
    """What is fitted to the observations of one series."""

    scores: Scores
    plain: Scores  # of the alpha-beta fit
    parts: tuple[ModelPart, ...]
    lines: tuple[SizeLine, ...]  # of a trend
    trend_share: float  # of the logarithm of a time
    uniform: ModelPart | None  # of a known schedule
    notes: tuple[str, ...]


class _ScoresInJson(NamedTuple):
    reach: Reach
    log: dict[str, tuple[float, ...]]  # as in Residuals, by their kind
    covered: dict[str, tuple[bool, ...]]


class _InJson(NamedTuple):
    scores: _ScoresInJson
    plain: _ScoresInJson
    parts: tuple[ModelPart, ...]
    lines: tuple[SizeLine, ...]
    trend_share: float
    uniform: ModelPart | None
    notes: tuple[str, ...]


def kept_or_fitted(observed: Observations, fit: Callable[[Observations], KeptFit]) -> KeptFit:
    """Return what `fit` made of these observations before, or makes and keeps now."""
    path = _folder() / f"{_digest(observed)}.json"
    with suppress(OSError, ValueError, RecursionError):
        return _read(read_kept(path, MOST_NBYTES))
    fitted = fit(observed)
    text = _written(fitted)
    try:
        same = _read(text.encode())  # what is read later is what is returned now
    except JsonError:  # a number without bounds
        return fitted
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        _remove_oldest(path.parent)
    return same


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "allreduce-bench" / "fits"


def _remove_oldest(folder: Path) -> None:
    kept = [path for path in folder.iterdir() if path.suffix == ".json"]
    if len(kept) > MOST_FITS:
        min(kept, key=lambda path: path.stat().st_mtime).unlink()


def _digest(observed: Observations) -> str:
    digest = sha256(_program().encode())
    for piece in _pieces(observed):
        digest.update(piece)
        digest.update(b"\n")
    return digest.hexdigest()


def _pieces(observed: Observations) -> Iterator[bytes]:
    for values in (observed.ranks, observed.size_bytes, observed.logs):
        yield f"{values.dtype} {values.shape}".encode()
        yield values.tobytes()
    for name, columns in observed.paths.items():
        yield f"{name} {columns.terms}".encode()
    yield str(observed.switches).encode()


@cache
def _program() -> str:
    """Return what the program is: other modules or libraries may fit otherwise."""
    import scipy  # late: only its version

    package = Path(__file__).parent.parent
    digest = sha256()
    for pattern in PROGRAM:
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return f"{__version__} {np.__version__} {scipy.__version__} {digest.hexdigest()}\n"


def _written(fitted: KeptFit) -> str:
    scores, plain = map(_scores_in_json, (fitted.scores, fitted.plain))
    return json.dumps(_InJson(scores, plain, *fitted[2:])._asdict())


def _scores_in_json(scores: Scores) -> _ScoresInJson:
    logs = {kind: tuple(residuals.log.tolist()) for kind, residuals in scores.residuals.items()}
    covered = {kind: tuple(residuals.covered.tolist()) for kind, residuals in scores.residuals.items()}
    return _ScoresInJson(scores.reach, logs, covered)


def _read(content: bytes) -> KeptFit:
    """Return the fit in a file. Raises ValueError if it is damaged."""
    read = read_as(_InJson, json.loads(content), exact=True)
    return KeptFit(_scores(read.scores), _scores(read.plain), *read[2:])


def _scores(read: _ScoresInJson) -> Scores:
    residuals = {kind: Residuals(np.array(log), np.array(read.covered[kind])) for kind, log in read.log.items()}
    return Scores(read.reach, residuals)
