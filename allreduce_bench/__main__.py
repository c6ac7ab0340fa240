"""`python -m allreduce_bench` is the command `allreduce-bench`; a rank that `run` started goes past click."""

import os
import sys

from allreduce_bench.measuring import startup  # noqa: E402, F401  # its stopwatch starts here

if not __package__ and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]  # started by its path, as staged ranks are: this folder holds modules of the package, no others

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        if sys.path[0] == os.getcwd():  # where -m looks for every module first, often on a shared file system
            del sys.path[0]
        from allreduce_bench.measuring.command import main
    else:
        from allreduce_bench.cli import main
    main()
