"""The algorithms that a plan names, loaded anew and held against what they were when the run began."""

from pathlib import Path
from zlib import crc32

from .algorithms import Algorithm, AlgorithmError, find
from .plan import Plan


def digest_of(path: str) -> str:
    """The fingerprint of a file. Raises AlgorithmError where it cannot be read."""
    try:
        return f"{crc32(Path(path).read_bytes()):08x}"
    except OSError as error:
        raise AlgorithmError(f"{path}: {error.strerror}; the run needs this algorithm's file") from error


def algorithms_of(plan: Plan) -> dict[str, Algorithm]:
    """The plan's algorithms by name, native left out. Raises AlgorithmError for a file that is gone or changed."""
    for path, digest in zip(plan.files, plan.file_digests):
        if digest_of(path) != digest:
            raise AlgorithmError(f"{path}: has changed since the run began; begin a new run, or restore the file")
    own = find([*plan.files])
    return own | find([name for name in plan.algorithms if name not in own and name != "native"])
