"""NCCL's own lines about its choices, from logs of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL,TUNING.

Rank 0 of each communicator writes one line a call from NCCL 2.20 on, in these forms (NVIDIA/nccl, src/enqueue.cc and
src/scheduler; the second as in a log of a job), the oldest first:

    1048576 Bytes -> Algo 1 proto 2 time 74.1
    AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 74.1
    AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}
    AllReduce [Symmetric]: 1048576 Bytes -> Kernel AllReduce_RSxLDMC_AGxSTMC nchannels 8 nthreads 512 nWorks 1

The oldest form does not name the collective: it is taken from the line that the same process wrote when it was called
(COLL), else it stays unnamed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .lines import read_text
from .row import LogError

ALLREDUCE, SYMMETRIC = "AllReduce", "symmetric"
ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")  # by number
PROTOCOLS = ("LL", "LL128", "Simple")
SPELLINGS = {"ll": "LL", "ll128": "LL128", "simple": "Simple"}
ITEMSIZES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)  # bytes of an element, by the number of its type

LINE = re.compile(r"(?:(?P<process>[\w.-]+:\d+):\d+\s+)?(?:\[\d+\]\s*)?NCCL INFO (?P<text>.*)")
HOST = re.compile(  # at the beginning of a line of NCCL, and in nccl-tests' list of ranks
    r"(?m)^(?:\[[\d :.-]+\] ?)?(?P<host>[\w.-]+):\d+:\d+ (?:\[\d+\] )?NCCL |\bon +(?P<listed>\S+) +device\b"
)
ABOUT_A_CHOICE = " Bytes -> "
MOST_BYTES = 2**63 - 1  # NCCL's sizes are size_t: more is a damaged line
CHOICE = re.compile(
    r"(?:(?P<collective>\w+): )?(?P<size_bytes>\d+) Bytes -> Algo (?P<algorithm>\w+) proto (?P<protocol>\w+)"
    r"(?: time [\d.]+| channel\{Lo\.\.Hi\}=\{(?P<low>\d+)\.\.(?P<high>\d+)\})"
)
KERNEL = re.compile(
    r"(?P<collective>\w+) \[Symmetric\]: (?P<size_bytes>\d+) Bytes -> Kernel (?P<kernel>\w+)"
    r" nchannels (?P<channels>\d+)"
)
CALL = re.compile(
    r"(?P<collective>\w+): opCount [0-9a-f]+ sendbuff \S+ recvbuff \S+ count (?P<count>\d+)"
    r" datatype (?P<dtype>\d+) op \d+ root \d+ comm \w+ \[nranks=(?P<ranks>\d+)\]"
)
VERSION = re.compile(r"\bN?R?CCL version ?:? ?(\d+\.\d+\.\d+)")


class Choice(NamedTuple):
    """What NCCL chose for all-reduces of one size."""

    size_bytes: int
    algorithm: str  # ring, tree, nvls, …; `symmetric` for kernels over symmetric memory
    protocol: str  # LL, LL128, Simple; of a symmetric kernel its name
    channels: tuple[int, int] | None  # the first and the last; None: the line does not say
    named: bool  # the line, or the call before it, says that it is an all-reduce
    calls: int = 1
    processes: tuple[str, ...] = ()  # that wrote the lines, as host:pid


class NcclLog(NamedTuple):
    """The choices in logs of one job."""

    version: str  # empty: not in the logs
    ranks: tuple[int, ...]  # sizes of the communicators of all-reduces; empty: not in the logs
    choices: list[Choice]  # by size; of several at a size the most frequent first
    left_out: int = 0  # lines about a choice that are not understood


class _Line(NamedTuple):
    """A line of NCCL, in a process."""

    process: str
    text: str


def read_nccl_logs(paths: Sequence[Path]) -> NcclLog:
    """Return the choices in the logs of one job, one file or several. Raises LogError: none has any."""
    texts = {path: read_text(path) for path in paths}
    lines = [line for path, text in texts.items() for line in _nccl_lines(path, text)]
    return _log_of(lines, texts.values(), paths[0])


def choices_in(path: Path, text: str) -> NcclLog | None:
    """Return the choices in the text of a log; None if it has none."""
    if ABOUT_A_CHOICE not in text:
        return None
    try:
        return _log_of(list(_nccl_lines(path, text)), [text], path)
    except LogError:
        return None


def _log_of(lines: Sequence[_Line], texts: Iterable[str], path: Path) -> NcclLog:
    """Return the choices in the lines of one job. Raises LogError: there are none."""
    calls = [(line.process, found) for line in lines if (found := CALL.match(line.text))]
    sizes = _sizes_of_calls(calls)
    choices: dict[Choice, list[str]] = defaultdict(list)  # of one call -> the processes of all calls
    left_out = 0
    for line in lines:
        collective, choice = _choice(line, sizes)
        if choice and collective in ("", ALLREDUCE):
            choices[choice].append(line.process)
        elif not choice:
            left_out += ABOUT_A_CHOICE in line.text
    if not choices:
        raise LogError(_why_nothing(lines, path))
    counted = [
        choice._replace(calls=len(processes), processes=tuple(dict.fromkeys(processes)))
        for choice, processes in choices.items()
    ]
    counted.sort(key=lambda choice: (choice.size_bytes, -choice.calls))
    version = next((found[1] for text in texts if (found := VERSION.search(text))), "")
    ranks = {int(found["ranks"]) for _, found in calls if found["collective"] == ALLREDUCE}
    return NcclLog(version, tuple(sorted(ranks)), counted, left_out)


def _nccl_lines(path: Path, text: str) -> Iterable[_Line]:
    """Yield the lines of NCCL; a process that they do not name is that of the file."""
    begin = foreign_begin(text)
    for line in text.splitlines():
        if "NCCL INFO " not in line:
            continue
        at = begin.search(line) if begin else None  # within a row of a benchmark, too
        if found := LINE.search(line, at.start() if at else 0):
            yield _Line(found["process"] or path.name, found["text"])


def foreign_begin(text: str) -> re.Pattern | None:
    """Return the pattern with which a line of NCCL begins, by the hosts that a text names; None: it has none."""
    if "NCCL " not in text:
        return None
    hosts = {match["host"] or match["listed"] for match in HOST.finditer(text)}
    names = "|".join(sorted(map(re.escape, hosts), key=len, reverse=True))
    return re.compile(rf"(?:\[[\d :.-]+\] ?)?(?:{names}):\d+:\d+ (?:\[\d+\] )?NCCL ") if hosts else None


def _choice(line: _Line, sizes: dict[str, dict[int, str]]) -> tuple[str, Choice | None]:
    """Return collective and choice of a line; no collective: unnamed; None: the line is about something else."""
    if found := CHOICE.match(line.text):
        size_bytes, low, high = int(found["size_bytes"]), found["low"], found["high"]
        if size_bytes > MOST_BYTES:
            return "", None
        collective = found["collective"] or sizes.get(line.process, {}).get(size_bytes, "")
        channels = None if low is None else (int(low), int(high))
        algorithm = _named(found["algorithm"].lower(), ALGORITHMS)
        protocol = _named(SPELLINGS.get(found["protocol"].lower(), found["protocol"]), PROTOCOLS)
        return collective, Choice(size_bytes, algorithm, protocol, channels, bool(collective))
    if found := KERNEL.match(line.text):
        channels = (0, int(found["channels"]) - 1)
        return found["collective"], Choice(int(found["size_bytes"]), SYMMETRIC, found["kernel"], channels, True)
    return "", None


def _named(text: str, names: Sequence[str]) -> str:
    """Return the name of a number; other texts are names themselves."""
    return names[int(text)] if text.isdecimal() and int(text) < len(names) else text


def _sizes_of_calls(calls: Iterable[tuple[str, re.Match]]) -> dict[str, dict[int, str]]:
    """Return, for each process, the collective of each size; empty where several have the same size."""
    sizes: dict[str, dict[int, str]] = defaultdict(dict)
    for process, found in calls:
        size_bytes = int(found["count"]) * dict(enumerate(ITEMSIZES)).get(int(found["dtype"]), 0)
        if found["collective"] in ("AllGather", "ReduceScatter"):  # NCCL counts all parts
            size_bytes *= int(found["ranks"])
        known = sizes[process].setdefault(size_bytes, found["collective"])
        if known != found["collective"]:
            sizes[process][size_bytes] = ""
    return sizes


def _why_nothing(lines: Sequence[_Line], path: Path) -> str:
    """Return what a log lacks."""
    if not lines:
        return f"{path}: no line of NCCL; run the job with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL,TUNING"
    if any(CALL.match(line.text) for line in lines):
        return f"{path}: calls, but no choices; add TUNING to NCCL_DEBUG_SUBSYS"
    return f"{path}: no all-reduce among the lines of NCCL; run the job with NCCL_DEBUG_SUBSYS=COLL,TUNING"
