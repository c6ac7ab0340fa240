"""Whether Python can compile here."""

import sys
from functools import cache
from importlib import import_module

INSTALL = "pip install 'allreduce-bench[compiled]'"  # installs numba


@cache
def why_not_compiled() -> str | None:
    """Return what compiled executors lack here, worded to follow their name; None: nothing visible.

    Loads numba, which takes half a second. Whether the MPI library has the functions that compiled code calls shows
    only in ranks: they raise Unsupported.
    """
    if sys.platform != "linux":
        return f"needs Linux, whose clock its loop reads; this is {sys.platform}"
    try:
        numba = import_module("numba")
    except Exception as error:  # noqa: BLE001  # whatever a broken installation raises
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return f"needs numba: {INSTALL}"
        return f"needs numba, which does not load ({type(error).__name__}: {error}): {INSTALL}"
    if numba.config.DISABLE_JIT:
        return "needs numba's compiler, which NUMBA_DISABLE_JIT switches off; unset it"
    return None
