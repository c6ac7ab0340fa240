"""The command `allreduce-bench` as `python -m allreduce_bench`; a rank that `run` started bypasses click."""

import io
import os
import select
import signal
import sys

if __name__ == "__main__" and sys.argv[1:2] == ["measure"] and sys.path[0] == os.getcwd():
    del sys.path[0]  # where -m looks for every module first, often on a shared file system


class Stderr(io.FileIO):
    """File 2, unbuffered. What cannot be written, as on a full disk, is dropped: whoever reports goes on."""

    def __init__(self) -> None:
        super().__init__(2, "w", closefd=False)

    def write(self, data) -> int:
        """Write, and wait while a reader is slow; return the number of bytes that are done with."""
        try:
            while (written := super().write(data)) is None:  # another process has made the file non-blocking
                select.select([], [self], [])
        except OSError:
            return len(data)
        return written


def open_streams() -> Stderr:
    """Open the null device in place of closed files 0 to 2, which the next files would become; return stderr's."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it takes the lowest free number: this one
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    raw = Stderr()
    encoding = sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=True)
    return raw


STDERR = open_streams()  # before any other file is opened

from allreduce_bench.measuring.startup import rank_of  # noqa: E402  # its stopwatch starts here


def program() -> None:
    """Run the command `allreduce-bench` as `cli.main` does, but Ctrl-C is one line even while modules are imported."""

    def leave(number: int, frame: object) -> None:
        if rank_of(os.environ) == 0:
            STDERR.write(b"error: interrupted\n")
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
