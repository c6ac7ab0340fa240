"""Which transport a program has: that of its communicator. Neither mpi4py nor torch is loaded for the other one."""

from typing import Any

from .transport import Transport


def transport_of(comm: Any) -> Transport:
    """The carrier of a communicator of mpi4py, or of a process group of torch (None: the default one).

    All ranks of it must call this. Raises StepMonitorError and TypeError, with one sentence.
    """
    origins = {base.__module__.partition(".")[0] for base in type(comm).__mro__}
    if comm is None or "torch" in origins:
        from .torch_transport import TorchTransport

        return TorchTransport(comm)
    if "mpi4py" not in origins:
        kind = type(comm).__name__
        raise TypeError(f"StepMonitor: expected a communicator of mpi4py or a process group of torch, found {kind}")
    from .mpi_transport import MpiTransport

    return MpiTransport(comm)
