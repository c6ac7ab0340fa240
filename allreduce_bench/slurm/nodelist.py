"""Slurm's lists of nodes: `n[1-3,7],gpu-[01-02]` and the names that it stands for."""

import re
from collections.abc import Iterator
from itertools import product
from math import prod

MOST_NODES = 100_000  # no cluster has as many; a longer list is damaged, or meant to do harm
PART = re.compile(r"\[([^\][]*)\]|([^\][,]+)")


def expand(text: str) -> list[str]:
    """The names in order. Raises ValueError for what is no list of nodes."""
    names = [name for word in _split_words(text.strip()) for name in _of_word(word, text)]
    if len(names) > MOST_NODES:
        raise _refusal(text)
    return names


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
