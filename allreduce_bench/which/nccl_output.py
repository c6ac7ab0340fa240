"""What NCCL's own lines say, held against what was expected: as a table and sentences, and as JSON."""

import json
from collections.abc import Sequence

from ..importers.nccl_log import ALGORITHMS, SYMMETRIC, Choice, NcclLog
from ..runs.identified import NO, OPEN, YES
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_size, unknown_word
from .output import Verdict, refutation_sentence, verdict_words

SCHEMA = "urn:allreduce-bench:which-nccl:1"


def nccl_verdicts(log: NcclLog, expect: Sequence[tuple[int, str]]) -> list[Verdict]:
    """Return whether the expected algorithms ran. Raises ValueError: NCCL has no such name, the log no such size."""
    sizes = sorted({choice.size_bytes for choice in log.choices})
    for size, name in expect:
        if name not in (*ALGORITHMS, SYMMETRIC):
            raise ValueError(unknown_word("algorithm of NCCL", name, (*ALGORITHMS, SYMMETRIC)))
        if size not in sizes:
            has = ", ".join(map(format_size, sizes))
            raise ValueError(f"--expect: no all-reduce of {format_size(size)} in the log; it has {has}")
    return [Verdict(size, name, _state(log, size, name)) for size, name in expect]


def _state(log: NcclLog, size: int, name: str) -> str:
    """Return whether all calls of a size got it; open: its lines may be about another collective."""
    got = {choice.algorithm for choice in _named_at(log, size)}
    if not got:
        return OPEN
    return YES if got == {name} else NO


def nccl_lines(log: NcclLog, verdicts: Sequence[Verdict], screen: Screen = UNBOUNDED) -> tuple[list[str], list[str]]:
    """Return the lines of the table, and sentences below it."""
    heads = ["size", "ran", "protocol", "channels", "calls"] + (["expected"] if verdicts else [])
    rows = [heads]
    for one in log.choices:
        channels = "" if one.channels is None else f"{one.channels[0]}-{one.channels[1]}"
        name = _words(one.algorithm)
        name = name if one.named else f"{name} (perhaps of another collective)"
        row = [format_size(one.size_bytes), name, _words(one.protocol), channels, str(one.calls)]
        at_size = [verdict for verdict in verdicts if verdict.size_bytes == one.size_bytes]
        rows.append([*row, ", ".join(map(verdict_words, at_size))] if verdicts else row)
    head = f"NCCL {log.version or '?'}, by its own log"
    return [head, "", *fitted(columns_of(rows, left=(0, 1, 2, 3, 5)), screen)], _sentences(log, verdicts)


def _sentences(log: NcclLog, verdicts: Sequence[Verdict]) -> list[str]:
    left_out = f"lines about a choice that are left out, since they are not understood: {log.left_out}"
    sentences = [left_out] if log.left_out else []
    for one in verdicts:
        if one.state == NO:
            names = dict.fromkeys(_words(found.algorithm) for found in _named_at(log, one.size_bytes))
            sentences.append(refutation_sentence(one, ", ".join(names)))
    return sentences


def _named_at(log: NcclLog, size_bytes: int) -> list[Choice]:
    return [choice for choice in log.choices if choice.size_bytes == size_bytes and choice.named]


def _words(name: str) -> str:
    """Return a name; numbers are those that no name is known for."""
    return f"unknown (NCCL's number {name})" if name.isdecimal() else name


def nccl_json_text(log: NcclLog, verdicts: Sequence[Verdict]) -> str:
    """Return `which --nccl-log LOG --format json`."""
    content = {
        "schema": SCHEMA,
        "version": log.version or None,
        "ranks": list(log.ranks),
        "choices": [one._asdict() for one in log.choices],
        "left_out": log.left_out,
        "expected": [one._asdict() for one in verdicts],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"
