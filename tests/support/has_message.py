"""What a text says, by the codes of its sentences: tests assert codes and values, tables of messages hold the words."""

import re
from string import Formatter

from allreduce_bench.message import template_of


def message_pattern(code: str, /, **values: object) -> str:
    """Return a pattern of the sentence of `code` with these values, whatever its other values are.

    White space of any length separates words, as in tables and pages. Raises KeyError for an unknown code or value.
    """
    pattern, left = "", dict(values)
    for words, name, spec, conversion in Formatter().parse(template_of(code)):
        pattern += r"\s+".join(map(re.escape, re.split(r"\s+", words)))
        if name is None:
            continue
        if name not in values:
            pattern += r"[\s\S]*?"
            continue
        left.pop(name, None)
        value = repr(values[name]) if conversion == "r" else values[name]
        pattern += r"\s+".join(map(re.escape, re.split(r"\s+", format(value, spec or ""))))
    if left:
        raise KeyError(f"{code} has no {', '.join(left)}")
    return pattern


def has_message(text: str, code: str, /, **values: object) -> bool:
    """Return whether a text has the sentence of `code` with these values."""
    return re.search(message_pattern(code, **values), text) is not None


def has_error(text: str, code: str, /, **values: object) -> bool:
    """Return whether a text has a line of an error with the sentence of `code` and these values."""
    return re.search("error: " + message_pattern(code, **values), text) is not None
