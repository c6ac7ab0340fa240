"""What is no log of all-reduce times, but may be given for one: traces, dumps, databases, each by its own name."""

import re

PEEKED = 100_000  # characters
TRACE = "a trace in the Chrome format, as PyTorch's profiler writes it; 'allreduce-bench stragglers' is about traces"
CONTENTS = {
    b"SQLite format 3\0": "a SQLite database, as of Nsight Systems",
    **{
        bytes((0x80, protocol)): "a Python pickle, which is not opened, since it can run code"
        for protocol in range(2, 6)
    },
}
TEXTS = (
    (re.compile(r'"traceEvents"\s*:'), TRACE),
    (re.compile(r'\A\s*\[\s*\{[^{}]{0,500}"ph"\s*:\s*"[A-Za-z]"'), TRACE),
    (re.compile(r'\A\s*\{[\s\S]*"pg_(?:config|status)"\s*:'), "a dump of PyTorch's Flight Recorder"),
    (re.compile(r"\A\s*(?:<\?xml[^>]*>\s*)?<algo\b"), "an algorithm of MSCCL, which has no times"),
    (re.compile(r"\A\s*<(?:\?xml|!doctype|html)\b", re.IGNORECASE), "XML or HTML"),
)


def other_content(content: bytes) -> str:
    """What a binary file is; empty: nothing that is known."""
    return next((name for start, name in CONTENTS.items() if content.startswith(start)), "")


def other_text(text: str) -> str:
    """What a text is that no importer reads; empty: nothing that is known."""
    return next((name for pattern, name in TEXTS if pattern.search(text, 0, PEEKED)), "")
