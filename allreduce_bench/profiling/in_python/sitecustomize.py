"""Imported by a rank's interpreter at its start: has the calls of mpi4py counted, and leaves no other trace."""

import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

FOLDER = os.path.dirname(os.path.abspath(__file__))
COUNTED = "mpi4py.MPI"


class WhenImported:
    """Finder that has the calls of mpi4py counted once the program has imported it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Return how the others find mpi4py, with the counting behind its import; None for all other modules."""
        if name != COUNTED:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                with contextlib.suppress(Exception):
                    count_calls_of(module, os.environ["ALLREDUCE_BENCH_PROFILE"])

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def run_other_sitecustomize() -> None:
    """Run the module of this name that this one hides, if there is any."""
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec and spec.loader:
        spec.loader.exec_module(module_from_spec(spec))


with contextlib.suppress(Exception):
    from mpi4py_allreduce_counts import count_calls_of

    sys.meta_path.insert(0, WhenImported())
sys.path[:] = [path for path in sys.path if path != FOLDER]
run_other_sitecustomize()
