"""Whether this Python can compile what ranks run."""

import sys
from functools import cache
from importlib import import_module

INSTALL = "pip install 'allreduce-bench[compiled]'"


@cache
def why_not_compiled() -> str | None:
    """What compiled executors lack here, in words that follow their name; None: as far as is seen nothing.

    It loads numba, which takes half a second. Whether the MPI library has the functions that compiled code calls, its
    ranks find out: they raise Unsupported.
    """
    if sys.platform != "linux":
        return f"needs Linux, whose clock its loop reads; this is {sys.platform}"
    try:
        numba = import_module("numba")
    except Exception as error:  # noqa: BLE001  # what a broken installation raises
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return f"needs numba: {INSTALL}"
        return f"needs numba, which does not load ({type(error).__name__}: {error}): {INSTALL}"
    if not hasattr(getattr(numba, "types", None), "ExternalFunction"):
        version = getattr(numba, "__version__", "without a version")
        return f"needs a numba with types.ExternalFunction, found numba {version}: {INSTALL}"
    if numba.config.DISABLE_JIT:
        return "needs numba's compiler, which NUMBA_DISABLE_JIT switches off; unset it"
    return None
