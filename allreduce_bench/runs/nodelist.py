"""Slurm's lists of nodes: `n[1-3,7],gpu-[01-02]` and the names that it stands for."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from ..units import spans

MOST_NODES = 100_000  # no cluster has as many; a longer list is damaged, or meant to do harm
LAST_NUMBER = re.compile(r"(.*?)(\d{1,9})(\D*)")
PART = re.compile(r"\[([^\][]*)\]|([^\][,]+)")


def expand(text: str) -> list[str]:
    """The names in order. Raises ValueError for what is no list of nodes."""
    names = [name for word in _split_words(text.strip()) for name in _of_word(word, text)]
    if len(names) > MOST_NODES:
        raise _refusal(text)
    return names


def compress(names: Iterable[str]) -> str:
    """A list that stands for the names, sorted: those that differ in their last number share brackets: `n[01-03,07]`.

    `expand` gives the names back.
    """
    numbers_of: dict[tuple[str, int, str], set[int]] = {}  # with as many digits, so that no zero is lost
    for name in sorted(set(names)):
        match = LAST_NUMBER.fullmatch(name)
        stem, digits, tail = match.groups() if match else (name, "", "")
        numbers_of.setdefault((stem, len(digits), tail), set()).update([int(digits)] if digits else [])
    return ",".join(_word(*place, numbers) for place, numbers in numbers_of.items())


def _word(stem: str, width: int, tail: str, numbers: set[int]) -> str:
    """`n[01-03,07]-ib`, or `n07-ib` of one number, or a name without any."""
    ends = [(f"{first:0{width}}", f"{last:0{width}}") for first, last in spans(numbers)]
    words = [first if first == last else f"{first}-{last}" for first, last in ends]
    inside = ",".join(words)
    return f"{stem}[{inside}]{tail}" if len(numbers) > 1 else f"{stem}{inside}{tail}"


def _split_words(text: str) -> Iterator[str]:
    """The parts between commas outside of brackets."""
    return (word for word in re.split(r",(?![^\[]*\])", text) if word)


def _of_word(word: str, text: str) -> list[str]:
    if PART.sub("", word) or not word:
        raise _refusal(text)
    choices = [_numbers_of(match[1], text) if match[2] is None else [match[2]] for match in PART.finditer(word)]
    if prod(map(len, choices)) > MOST_NODES:
        raise _refusal(text)
    return ["".join(parts) for parts in product(*choices)]


def _numbers_of(inside: str, text: str) -> list[str]:
    """The numbers of `1-3,07`, with as many digits as the first of each span."""
    numbers: list[str] = []
    for span in inside.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", span.strip())
        if not match:
            raise _refusal(text)
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < first + MOST_NODES:
            raise _refusal(text)
        numbers += [f"{number:0{len(match[1])}}" for number in range(first, last + 1)]
    return numbers


def _refusal(text: str) -> ValueError:
    return ValueError(f"'{text[:80]}' is not a list of nodes; expected a list such as n[1-3,7],gpu-[01-02]")
