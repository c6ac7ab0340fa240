"""Measure, prove, model and explain all-reduce algorithms over MPI."""

from importlib import import_module

__version__ = "0.1.0"

# name that programs import from here -> its module, loaded on first use
_OFFERED = {
    "Allreduce": "programs.allreduce",
    "CheckpointError": "programs.checkpoints",
    "Checkpoints": "programs.checkpoints",
    "MPIHook": "programs.torch_hook",
    "PreparedAllreduces": "programs.prepared",
    "RankLost": "programs.surviving",
    "StepMonitor": "stragglers.monitor.step_monitor",
    "mpi_allreduce_hook": "programs.torch_hook",
    "survivors": "programs.allreduce",
    "wrap": "programs.allreduce",
}


def __getattr__(name: str) -> object:
    """Return a name of `_OFFERED`; modules without MPI do not load it."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_OFFERED[name]}", __name__), name)
