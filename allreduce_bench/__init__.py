"""Measure, prove, model and explain all-reduce algorithms over MPI."""

from .message import say

__version__ = "0.1.0"

# what programs import from here -> its module, loaded when it is asked for
_OFFERED = {
    "Allreduce": "programs.allreduce",
    "MPIHook": "programs.torch_hook",
    "PreparedAllreduces": "programs.prepared",
    "StepMonitor": "stragglers.monitor.step_monitor",
    "mpi_allreduce_hook": "programs.torch_hook",
    "wrap": "programs.allreduce",
}


def __getattr__(name: str) -> object:
    """What is offered, without loading an MPI before."""
    if name not in _OFFERED:
        raise AttributeError(say("core.module_no_attribute", name=__name__, name_2=name))
    from importlib import import_module

    return getattr(import_module(f".{_OFFERED[name]}", __name__), name)
