"""The transport for a program's communicator: over mpi4py, over torch, or of one process alone.

Neither mpi4py nor torch is loaded for the other one.
"""

import os
from typing import Any

from .transport import Transport


def transport_of(comm: Any) -> Transport:
    """Return the transport of a communicator of mpi4py, or of a process group of torch (None: the default one).

    Called on all its ranks. Raises StepMonitorError and TypeError, with one sentence.
    """
    origins = {base.__module__.partition(".")[0] for base in type(comm).__mro__}
    if comm is None and _is_alone():
        return Transport()
    if comm is None or "torch" in origins:
        from .torch_transport import TorchTransport

        return TorchTransport(comm)
    if "mpi4py" not in origins:
        raise TypeError(
            f"StepMonitor: expected a communicator of mpi4py or a process group of torch, found {type(comm).__name__}"
        )
    from .mpi_transport import MpiTransport

    return MpiTransport(comm)


def _is_alone() -> bool:
    """Return whether torch is there without a process group, and nothing indicates further processes."""
    try:
        from torch import distributed
    except ImportError:
        return False
    is_initialized = distributed.is_available() and distributed.is_initialized()
    return not is_initialized and os.environ.get("WORLD_SIZE", "1") == "1"
