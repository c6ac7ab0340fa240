"""Measure, prove, model and explain all-reduce algorithms over MPI."""

__version__ = "0.1.0"

_OF_PROGRAMS = {"StepMonitor": "step_monitor"}  # what people import -> its module; loaded once it is asked for


def __getattr__(name: str) -> object:
    if name not in _OF_PROGRAMS:
        raise AttributeError(f"module 'allreduce_bench' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f".programs.{_OF_PROGRAMS[name]}", __name__), name)
