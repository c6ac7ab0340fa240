"""Files of rules, read as the libraries read them: what they say about all-reduce, and why a library refuses them.

Open MPI's classic format is a stream of numbers: anything else is skipped, one character after the other, up to the end
of the line after `#`. A file that it refuses is ignored without a word, unless built for debugging. From 6.0 on it
tries JSON first. MPICH ends the launch at a file that it cannot use.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..runs.files import read_given_text

LONGEST = 10**7  # bytes of a file
ALLREDUCE, COLLECTIVES = 2, 22  # Open MPI's number of all-reduce, and of collectives
ALGORITHMS = (6, 7)  # largest number of an algorithm: before Open MPI 6, and from then on
VERSION = re.compile(r"rule-file-version-(\d+)")
TOKEN = re.compile(  # a number as of C's %li, or what is skipped
    r"(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*))|\s+|#[^\n]*|(?P<other>.)", re.DOTALL
)
WORD = re.compile(r"[^\s\d#]+")
ANOTHER = re.compile(r"[ \t]*[0-9]")  # a number on the same line

# MPICH
FOR_ALL = ("allgather", "barrier", "bcast", "gather", "reduce")  # collectives that few programs do without
COLLECTIVE = re.compile(
    r"collective=i?((neighbor_)?(allgatherv?|alltoall[vw]?)|allreduce|barrier|bcast|exscan|gatherv?"
    r"|reduce(_scatter(_block)?)?|scan|scatterv?)"
)
BOOLEANS = "is_multi_threaded|is_commutative|is_sendbuf_inplace|is_op_built_in|is_block_regular|is_node_consecutive"
LIMITS = "comm_size<=?|count<=?|avg_msg_size<=?|total_msg_size<=?|comm_avg_ppn<=?"
KEY = re.compile(
    rf"comm_type=(intra|inter)|({BOOLEANS})=(yes|no|any)|({LIMITS})\d+|comm_size=(pow2|node_comm_size|any)"
    r"|count<pow2|(count|avg_msg_size|total_msg_size|comm_avg_ppn)=any|comm_hierarchy=(parent|node_roots|node|flat|any)"
)
NEEDS_REST = re.compile(rf"({LIMITS})\d+|count<pow2|comm_size=(pow2|node_comm_size)")  # keys that may not stand last
LEAF = re.compile(r"(algorithm|composition)=(\w+)")
LEAVES = {  # of all-reduce
    *(
        f"MPIR_Allreduce_intra_{name}"
        for name in ("smp", "recursive_doubling", "recursive_multiplying", "ring", "tree")
    ),
    *(f"MPIR_Allreduce_intra_{name}" for name in ("reduce_scatter_allgather", "k_reduce_scatter_allgather", "recexch")),
    *("MPIR_Allreduce_intra_ccl", "MPIR_Allreduce_allcomm_nb", "MPIR_Allreduce_inter_reduce_exchange_bcast"),
    *(f"MPIDI_Allreduce_intra_composition_{name}" for name in ("alpha", "beta", "gamma", "delta")),
    "MPIDI_POSIX_mpi_allreduce_release_gather",
}


class RulesError(ValueError):
    """A file of rules that the library does not use."""


class Rule(NamedTuple):
    """The algorithm of all-reduces of so many ranks and bytes, or more, up to the next rule."""

    ranks: int
    size_bytes: int
    algorithm: int | str  # Open MPI's number or name; 0: the library's own choice
    segment_nbytes: int = 0


def open_mpi_rules(path: Path, major_version: int) -> list[Rule]:
    """Return the rules of Open MPI's file about all-reduce. Raises RulesError where it ignores the file, or fails."""
    text = _text(path)
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        rules = _classic(path, text, ALGORITHMS[major_version >= 6])
    elif major_version < 6:
        raise RulesError(
            f"ignored: malformed rules file: {path}: JSON is read by Open MPI from 6.0 on; expected the classic format"
        )
    else:
        rules = _json(path, document)
    if not rules:
        raise RulesError(f"{path}: no rules about all-reduce")
    return rules


def _text(path: Path) -> str:
    try:
        return read_given_text(path, LONGEST)
    except OSError as error:
        raise RulesError(f"ignored: rules file {path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise RulesError(f"ignored: rules file {path}: no text") from error


class _Numbers:
    """The numbers of a text, one after the other, as Open MPI reads them."""

    def __init__(self, path: Path, text: str, start: int):
        self.path, self.text, self.at = path, text, start
        self.line = 1  # of the last number
        self.skipped = ""  # what was skipped first

    def next(self, what: str, most: int | None = None) -> int:
        """Return the next number. Raises RulesError: there is none, or it is negative or larger than `most`."""
        while found := TOKEN.match(self.text, self.at):
            self.at = found.end()
            if found["number"]:
                self.line, value = self._line_of(found.start()), _whole(found["number"])
                if value < 0 or (most is not None and value > most):
                    expected = "0 or more" if most is None else f"0 to {most}"
                    raise self.refusal(f"expected {expected} as {what}, found {value}")
                return value
            if found["other"] and not self.skipped:
                word = WORD.match(self.text, found.start())
                shown, line = (word[0] if word else found[0])[:40], self._line_of(found.start())
                self.skipped = f"; '{shown}' in line {line} is no number and was skipped"
        self.line = len(self.text.rstrip().splitlines())
        raise self.refusal(f"the file ends before {what}")

    def refusal(self, why: str) -> RulesError:
        """Return the error for a file that Open MPI ignores."""
        where = f"{self.path}, line {self.line}"
        return RulesError(f"ignored: malformed rules file: {where}: {why}{self.skipped}")

    def _line_of(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1


def _whole(text: str) -> int:
    """Parse as C's strtol with base 0: a leading 0 means octal."""
    digits = text.lstrip("+-")
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") else 10
    return int(digits, base) * (-1 if text.startswith("-") else 1)


def _classic(path: Path, text: str, algorithms: int) -> list[Rule]:
    """Return the rules of the classic format, whose algorithms are numbered up to `algorithms`.

    Raises RulesError where Open MPI refuses the file, or the calls that it is about.
    """
    version = VERSION.match(text)
    numbers, rules = _Numbers(path, text, version.end() if version else 0), []
    for _ in range(numbers.next("the number of collectives", COLLECTIVES)):
        collective = numbers.next("the number of a collective", COLLECTIVES - 1)
        for _ in range(numbers.next("the count of communicator sizes")):
            ranks = numbers.next("a communicator size")
            for number in range(numbers.next("the count of message sizes")):
                size_bytes, algorithm = numbers.next("a message size"), numbers.next("an algorithm")
                line = numbers.line
                numbers.next("a fan-out")
                segment_nbytes = numbers.next("a segment size")
                if version and int(version[1]) > 1 and ANOTHER.match(text, numbers.at):
                    numbers.next("a number of requests")
                if number == 0 and size_bytes:
                    numbers.line = line
                    raise numbers.refusal(f"expected a rule for 0 bytes first, found {size_bytes}")
                if collective == ALLREDUCE and algorithm > algorithms:
                    raise RulesError(
                        f"the all-reduce fails by this rules file: {path}, line {line}: expected 0 to {algorithms} as "
                        f"an algorithm, found {algorithm}{numbers.skipped}"
                    )
                if collective == ALLREDUCE:
                    rules.append(Rule(ranks, size_bytes, algorithm, segment_nbytes))
    return rules


def _json(path: Path, document: dict) -> list[Rule]:
    """Return the rules of the format of Open MPI 6. Raises RulesError where it refuses the file."""
    collectives = document.get("collectives")
    if not isinstance(collectives, dict):
        raise RulesError(f"ignored: malformed rules file: {path}: collectives: expected an object of collectives")
    rules = []
    for collective, of_sizes in collectives.items():
        if not isinstance(of_sizes, list):
            raise RulesError(f"ignored: malformed rules file: {path}: {collective}: expected an array of rules")
        for number, of_size in enumerate(of_sizes, start=1):
            found = _json_rules(path, f"{collective}, rule {number}", of_size)
            rules += found if collective == "allreduce" else []
    return rules


def _json_rules(path: Path, at: str, of_size: Any) -> list[Rule]:
    """Return the rules of a range of communicator sizes. Raises RulesError."""
    within = of_size.get("rules") if isinstance(of_size, dict) else None
    if not isinstance(within, list) or not all(isinstance(rule, dict) for rule in within):
        raise RulesError(
            f"ignored: malformed rules file: {path}: {at}: expected an object with an array 'rules' of objects"
        )
    for rule in (of_size, *within):
        for name in ("comm_size_min", "comm_size_max", "msg_size_min", "msg_size_max", "seg_size", "faninout", "reqs"):
            value = rule.get(name, 0)
            if type(value) is not int and not (isinstance(value, str) and value[:3].lower() == "inf"):
                raise RulesError(f"ignored: malformed rules file: {path}: {at}, {name}: expected a whole number or inf")
    ranks = of_size.get("comm_size_min", 0)
    numbered = (rule for rule in within if isinstance(rule.get("alg"), int | str))  # others are dropped
    return [Rule(ranks, rule.get("msg_size_min", 0), rule["alg"], rule.get("seg_size", 0)) for rule in numbered]


def check_mpich_rules(path: Path, is_alone: bool) -> None:
    """Check a file of MPICH's choices. Raises RulesError where MPICH would end the launch.

    `is_alone`: other collectives have no other file, so that MPICH ends where one is called that this one lacks.
    """
    text = _text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise RulesError(
            f"the launch ends at this rules file: {path}, line {error.lineno}: no JSON: {error.msg.lower()}"
        ) from error
    for key, expected in _wrong_keys(document):
        at = text.find(json.dumps(key)) if key else 0
        line = text.count("\n", 0, max(at, 0)) + 1
        raise RulesError(f"the launch ends at this rules file: {path}, line {line}: expected {expected}, found {key!r}")
    named = {key.replace(" ", "") for key in document}
    if "collective=allreduce" not in named:
        raise RulesError(f"{path}: no rules about all-reduce")
    lacking = [name for name in FOR_ALL if f"collective={name}" not in named]
    if is_alone and lacking:
        raise RulesError(
            f"the launch ends at this rules file: {path}: no rules for {', '.join(lacking)}, and MPICH ends where one "
            "of them is called"
        )


def _wrong_keys(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the keys that MPICH does not take, and what it expects there; an empty key: the whole document."""
    if not isinstance(document, dict):
        yield "", "an object of collectives"
        return
    for key in document:
        if not COLLECTIVE.fullmatch(key.replace(" ", "")):
            yield key, "collective=NAME"
    for key, last, value in _keys(document):
        written = key.replace(" ", "")
        leaf = LEAF.fullmatch(written)
        if not isinstance(value, dict):
            yield key, "an object"
        elif not (leaf or KEY.fullmatch(written) or written.startswith("collective=")):
            yield key, "a key of MPICH"
        elif leaf and re.search("[^I]allreduce", leaf[2], re.IGNORECASE) and leaf[2] not in LEAVES:
            yield key, "an algorithm of MPICH"
        elif last and NEEDS_REST.fullmatch(written):
            yield key, f"{re.split('[<=]', written)[0]}=any after it"


def _keys(document: dict) -> Iterator[tuple[str, bool, Any]]:
    """Yield each key of a tree, down to algorithms: whether it is the last one of its object, and what stands there."""
    for number, (key, value) in enumerate(document.items(), start=1):
        yield key, number == len(document), value
        if isinstance(value, dict) and not LEAF.fullmatch(key.replace(" ", "")):  # below are parameters of its own
            yield from _keys(value)
