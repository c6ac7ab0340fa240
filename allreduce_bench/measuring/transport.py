"""Transport that the MPI reports about itself while it starts: asked, not guessed from variables."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def asked_transport() -> Iterator[TransportAnswer]:
    """Have the MPI report its transport while the body starts it, by importing mpi4py.MPI or by MPI.Init.

    All ranks must enter; nothing is asked of one rank, of more than MOST_RANKS, and if the launcher does not tell their
    number. Other output of the MPI reaches stdout when the body has ended, stderr at once. Variables set by the user
    are kept, and the answer is then printed, too.
    """
    answer, size = TransportAnswer(), size_of(os.environ)
    if size is None or not 1 < size <= MOST_RANKS:
        yield answer
        return
    added = {name: value for name, value in QUESTIONS.items() if name not in os.environ}
    os.environ.update(added)
    captured = _capture_stdout() if rank_of(os.environ) == 0 else None
    try:
        yield answer
    finally:
        for name in added:
            os.environ.pop(name, None)
        if captured is not None:
            printed = _release_stdout(*captured)
            answer.words, rest = split_answer(printed)
            os.write(1, (rest if len(added) == len(QUESTIONS) else printed).encode(errors="surrogateescape"))


def split_answer(text: str) -> tuple[str | None, str]:
    """Return the transport in a few words, and `text` without the MPI's answer; (None, `text`) without an answer."""
    for pattern, words in ((OPEN_MPI, _open_mpi_words), (MPICH, _mpich_words), (INTEL, _intel_words)):
        if match := pattern.search(text):
            return words(match), text[: match.start()] + text[match.end() :]
    return None, text


def _open_mpi_words(answer: re.Match[str]) -> str | None:
    within, between = _method(answer["on"]), _method(answer["off"])
    if within == between or between is None:
        return within
    return f"{within} on a node, {between} between nodes" if within else f"{between} between nodes"


def _method(sentence: str) -> str | None:
    """Return `sm` of `all connections are sm or self`; None if nothing is connected."""
    match = re.fullmatch(r"(all|most) connections are (.*?)(?: or self)?", sentence.strip())
    if not match or match[2] in ("n/a", "self"):
        return None
    name = match[2]
    if name.startswith("ucx="):  # transport;device,transport;device
        name = "ucx " + "+".join(dict.fromkeys(pair.split(";")[0] for pair in name[4:].split(",")))
    return f"mostly {name}" if match[1] == "most" else name


def _mpich_words(answer: re.Match[str]) -> str | None:
    netmod = re.search(r"^==== (\w+) netmod ", answer[0], re.MULTILINE)
    return _provider(answer) or (f"{netmod[1]} netmod" if netmod else None)


def _intel_words(answer: re.Match[str]) -> str:
    return _provider(answer) or "shm"  # without a network it loads no provider, and its ranks share memory


def _provider(answer: re.Match[str]) -> str | None:
    provider = re.search(r"libfabric provider: (\S+)", answer[0])
    return f"libfabric {provider[1]}" if provider else None


def _capture_stdout() -> tuple[int, int] | None:
    """Send file descriptor 1, of Python and of libraries, to a nameless file; return what it was, and the file.

    None: there is no standard output.
    """
    try:
        _flush()
        stdout = os.dup(1)
    except OSError:
        return None
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("stdout")
    else:
        import tempfile  # late: where there are no files in memory

        file, path = tempfile.mkstemp()
        os.unlink(path)
    os.dup2(file, 1)
    return stdout, file


def _release_stdout(stdout: int, file: int) -> str:
    """Restore file descriptor 1; return what was written to it."""
    _flush()
    os.dup2(stdout, 1)
    os.close(stdout)
    with open(file, "rb") as captured:
        captured.seek(0)
        return captured.read().decode(errors="surrogateescape")


def _flush() -> None:
    """Flush Python's and C's standard output."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
