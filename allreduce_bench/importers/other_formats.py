"""Texts that are no log of all-reduce times, but may be given for one, by their names."""

import re

from ..wings import offered

PEEKED = 100_000  # characters
OTHERS = (
    (re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<algo\b"), "an algorithm of MSCCL, which has no times"),
    (re.compile(r"\s*<(?:\?xml|!doctype|html)\b", re.IGNORECASE), "XML or HTML"),
)


def other_text(text: str) -> str:
    """Return what a text is that no importer reads; empty: nothing that is known."""
    head = text[:PEEKED]
    for described in offered("log_of_job"):
        if description := described(head):
            return description
    return next((name for pattern, name in OTHERS if pattern.match(head)), "")
