"""Whether this Python can compile what ranks run; nothing heavy is imported to answer that."""

import sys
from importlib.util import find_spec

INSTALL = "pip install 'allreduce-bench[compiled]'"


def why_not_compiled() -> str | None:
    """Why `--executor compiled` cannot run with this interpreter, in one sentence; None: as far as is seen it can.

    Whether the MPI library has the functions that compiled code calls, its ranks find out: they raise Unsupported.
    """
    if sys.platform != "linux":
        return f"--executor compiled needs Linux, whose clock its loop reads; this is {sys.platform}"
    if find_spec("numba") is None:
        return f"--executor compiled needs numba: {INSTALL}"
    if find_spec("llvmlite") is None:
        return f"--executor compiled needs llvmlite, which comes with numba: {INSTALL}"
    return None
