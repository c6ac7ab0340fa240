"""Transport that the MPI reports about itself while it starts: asked, not guessed from variables."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

from .startup import rank_of, size_of

MOST_RANKS = 512  # Open MPI connects all pairs of nodes for its answer, which takes long for more ranks
# For Open MPI from 5.0 on, MPICH and Intel MPI; each ignores the others'. Open MPI 4 has no answer.
QUESTIONS = {"OMPI_MCA_ompi_display_comm": "mpi_init", "MPIR_CVAR_DEBUG_SUMMARY": "1", "I_MPI_DEBUG": "2"}
OPEN_MPI = re.compile(
    r"^Host 0 \[.*?^Connection summary:[^\n]*\n  on-host: +(?P<on>[^\n]*)\n  off-host: +(?P<off>[^\n]*)\n"
    r"(?:Exceptions:\n(?:  host \d+:[^\n]*\n)*)?\n?",
    re.MULTILINE | re.DOTALL,
)
MPICH = re.compile(r"^==== [^\n]* ====\n.*?^==== data structure summary ====\n.*?^=+\n", re.MULTILINE | re.DOTALL)
INTEL = re.compile(r"(?:^\[\d+\] MPI startup\(\): [^\n]*\n)+", re.MULTILINE)


class TransportAnswer:
    """Result of asking; complete at the end of `asked_transport`."""

    words: str | None = None  # e.g. `sm on a node, tcp between nodes`; None: not asked, not rank 0, or no answer
    init_s: float | None = None  # duration of the body


@contextmanager
def asked_transport() -> Iterator[TransportAnswer]:
    """Have the MPI report its transport while the body starts it, by importing mpi4py.MPI or by MPI.Init.

    All ranks must enter; only the time is taken for one rank, for more than MOST_RANKS, and if the launcher does not
    tell their number. Other output of the MPI reaches stdout when the body has ended, stderr at once. Variables set by
    the user are kept, and the answer is then printed, too.
    """
    answer, size = TransportAnswer(), size_of(os.environ)
    asks = size is not None and 1 < size <= MOST_RANKS
    added = {name: value for name, value in QUESTIONS.items() if asks and name not in os.environ}
    os.environ.update(added)
    capture = _CapturedStdout.begin() if asks and rank_of(os.environ) == 0 else None
    begun = perf_counter()
    try:
        yield answer
    finally:
        answer.init_s = perf_counter() - begun
        for name in added:
            os.environ.pop(name, None)
        if capture is not None:
            printed = capture.end()
            answer.words, rest = split_answer(printed)
            _print(rest if len(added) == len(QUESTIONS) else printed)


def split_answer(text: str) -> tuple[str | None, str]:
    """Return the transport in a few words, and `text` without the MPI's answer; (None, `text`) without an answer."""
    if match := OPEN_MPI.search(text):
        return _transport_of_open_mpi(match["on"], match["off"]), text[: match.start()] + text[match.end() :]
    if match := MPICH.search(text):
        return _transport_of_mpich(match[0]), text[: match.start()] + text[match.end() :]
    if match := INTEL.search(text):
        return _transport_of_intel(match[0]), text[: match.start()] + text[match.end() :]
    return None, text


def _transport_of_open_mpi(on_host: str, off_host: str) -> str | None:
    within, between = _method(on_host), _method(off_host)
    if within == between:
        return within
    methods = [(within, "on a node"), (between, "between nodes")]
    return within if between is None else ", ".join(f"{method} {where}" for method, where in methods if method)


def _method(sentence: str) -> str | None:
    """Return `sm` of `all connections are sm or self`; None if nothing is connected."""
    match = re.fullmatch(r"(all|most) connections are (.*?)(?: or self)?", sentence.strip())
    if not match or match[2] in ("n/a", "self"):
        return None
    name = match[2]
    if name.startswith("ucx="):  # transport;device,transport;device
        name = "ucx " + "+".join(dict.fromkeys(pair.split(";")[0] for pair in name[4:].split(",")))
    return f"mostly {name}" if match[1] == "most" else name


def _transport_of_mpich(block: str) -> str | None:
    if provider := re.search(r"^libfabric provider: (\S+)", block, re.MULTILINE):
        return f"libfabric {provider[1]}"
    netmod = re.search(r"^==== (\w+) netmod ", block, re.MULTILINE)
    return f"{netmod[1]} netmod" if netmod else None


def _transport_of_intel(block: str) -> str:
    """Return the transport of Intel MPI: without a network it loads no provider, and its ranks share memory."""
    provider = re.search(r"libfabric provider: (\S+)", block)
    return f"libfabric {provider[1]}" if provider else "shm"


class _CapturedStdout:
    """Output to file descriptor 1 between `begin` and `end`, by Python or by a library."""

    def __init__(self, stdout: int, file: int):
        self.stdout, self.file = stdout, file

    @classmethod
    def begin(cls) -> "_CapturedStdout | None":
        """Begin to capture; None if there is no standard output."""
        try:
            _flush()
            stdout = os.dup(1)
        except OSError:
            return None
        file = _nameless_file()
        os.dup2(file, 1)
        return cls(stdout, file)

    def end(self) -> str:
        _flush()
        os.dup2(self.stdout, 1)
        os.close(self.stdout)
        with open(self.file, "rb") as file:
            file.seek(0)
            return file.read().decode(errors="surrogateescape")


def _nameless_file() -> int:
    """Return a file in memory if the system supports it, else a removed one."""
    with suppress(AttributeError, OSError):
        return os.memfd_create("stdout")
    import tempfile  # late: where there are no files in memory

    number, path = tempfile.mkstemp()
    os.unlink(path)
    return number


def _flush() -> None:
    """Flush Python's and C's standard output."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def _print(text: str) -> None:
    if text:
        with open(1, "wb", closefd=False) as stdout:
            stdout.write(text.encode(errors="surrogateescape"))
