"""`python -m allreduce_bench` is the command `allreduce-bench`; a rank that `run` started goes past click."""

import os
import sys

from . import startup  # noqa: F401  # its stopwatch starts here

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        if sys.path[0] == os.getcwd():  # where -m looks for every module first, often on a shared file system
            del sys.path[0]
        from .measuring import main
    else:
        from .cli import main
    main()
