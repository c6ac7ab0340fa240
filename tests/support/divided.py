"""Do the factors of a text follow from its own table? For what the program prints, and for what pages show of it."""

import re
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from allreduce_bench.units import parse_size, significant

SIZE = r"\d+ (?:B|KiB|MiB|GiB)"
FACTOR = re.compile(
    rf"(?P<lead>\S+)(?: \((?:equal|not told apart)\))? (?:at all sizes|up to (?P<most_size>{SIZE})|at (?P<only>{SIZE})"
    rf"|from (?P<low>{SIZE}) to (?P<high>{SIZE}))(?: except (?P<but>{SIZE}(?:, {SIZE})*))?(?: \(not ranked[^)]*\))?: "
    r"(?:(?P<leader>\S+) is nowhere slower, )?(?P<least>[\d.]+)(?: to (?P<most>[\d.]+))? times as fast as "
    r"(?P<rival>the second fastest|\S+) \((?P<worst>[\d.]+) in the worst of \d+ launch(?:es)?\)"
)
COMPARED = re.compile(r" +([\d.]+) +([\d.]+) +([\d.]+)  \(?(?:slower|faster|same|undecided)")

Times = dict[tuple[int, str], float]  # (bytes, competitor) -> microseconds as printed


class Said(NamedTuple):
    """A factor in a sentence, and what it should be."""

    sentence: str
    said: str
    divided: str  # what the times of the table give
    low: float  # of its interval
    high: float


def tables_of(text: str) -> Iterator[tuple[Times, str]]:
    """The times of each table of `run` or `show`, and the lines below it, up to the next table or its end."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"^ *size .* best ", line)]
    for head, after in zip(heads, [*heads[1:], len(lines)]):
        rows, below = [], head + 1
        while below < len(lines) and re.match(rf" *{SIZE} ", lines[below]):
            rows.append(lines[below])
            below += 1
        yield _times(lines[head - 1], lines[head], rows), "\n".join(lines[below:after])


def _times(first: str, second: str, rows: list[str]) -> Times:
    """Names and times end in the same column; marks follow."""
    times: Times = {}
    above = {match.end(): match[0] for match in re.finditer(r"\S+", first)}
    for match in re.finditer(r"\S+", second[: second.index(" best ")]):
        upper = above.get(match.end(), "")
        is_split = upper.endswith("_") or match[0].startswith("@") or not upper
        name = f"{upper}{'' if is_split else ' '}{match[0]}"
        for row in rows:
            time_us = row[: match.end()].split()[-1]
            if match[0] != "size" and re.fullmatch(r"[\d.]+", time_us):
                times[parse_size(re.match(rf" *({SIZE})", row)[1].replace(" ", "")), name] = float(time_us)
    return times


def _rival_of(times: Times, size: int, rival: str, leader: str) -> float | None:
    """The time that a leader is compared with at a size."""
    if rival.startswith("the second"):
        return min(time for (at, name), time in times.items() if at == size and name != leader)
    return times.get((size, rival))


def factors_of(text: str) -> list[Said]:
    """Both ends of every factor that is said below a table of the text, beside those that the table's times give."""
    found = []
    for times, below in tables_of(text):
        for match in FACTOR.finditer(" ".join(below.split())):
            leader = match["leader"] or _first_of(match["lead"], below)
            low = _size(match["low"] or match["only"]) if match["low"] or match["only"] else 0
            high = match["high"] or match["only"] or match["most_size"]
            but = {_size(size) for size in (match["but"] or "").split(", ") if size}
            sizes = sorted({size for size, _ in times if low <= size <= (_size(high) if high else inf)} - but)
            both = [(_rival_of(times, size, match["rival"], leader), times.get((size, leader))) for size in sizes]
            known = [rival / own for rival, own in both if rival and own]
            assert known, (match[0], times)
            least, most, worst = match["least"], match["most"] or match["least"], float(match["worst"])
            found.append(Said(match[0], least, significant(min(known), 2), worst, float(most)))
            found.append(Said(match[0], most, significant(max(known), 2), float(least), float(most)))
    return found


def _size(text: str) -> int:
    return parse_size(text.replace(" ", ""))


def _first_of(last: str, below: str) -> str:
    """The first of `ring, tree or native`, whose last is known."""
    shared = re.search(rf"(\S+?)(?:, \S+)* or {re.escape(last)} \(", " ".join(below.split()))
    return shared[1] if shared else last


def ratios_of(text: str) -> list[Said]:
    """Every ratio of a table of `compare`, beside that of its two times."""
    return [
        Said(match[0], match[3], significant(float(match[2]) / float(match[1]), 3), 0.0, inf)
        for match in COMPARED.finditer(text)
    ]
