"""The command `allreduce-bench` as `python -m allreduce_bench`; a rank that `run` started bypasses click."""

import os
import signal
import sys

if __name__ == "__main__" and sys.argv[1:2] == ["measure"] and sys.path[0] == os.getcwd():
    del sys.path[0]  # where -m looks for every module first, often on a shared file system

from allreduce_bench.measuring.startup import rank_of  # noqa: E402  # its stopwatch starts here


def program() -> None:
    """Run the command `allreduce-bench` as `cli.main` does, but Ctrl-C is one line even while modules are imported."""

    def leave(number: int, frame: object) -> None:
        if rank_of(os.environ) == 0:
            os.write(2, b"error: interrupted\n")
        os._exit(130)  # as shells have it

    if callable(signal.getsignal(signal.SIGINT)):  # not if it is ignored, as behind nohup
        signal.signal(signal.SIGINT, leave)
    from allreduce_bench.cli import main

    main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        from allreduce_bench.measuring.command import main

        main()
    else:
        program()
