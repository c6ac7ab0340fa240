"""Texts that are no log of all-reduce times, but may be given for one, by their names."""

import re

from ..stragglers.job_files import FLIGHT_RECORDER, KINETO, RAS, RECOGNISERS

PEEKED = 100_000  # characters
OF_JOBS = {
    KINETO: "a trace in the Chrome format, as torch.profiler writes it",
    FLIGHT_RECORDER: "a record of PyTorch's Flight Recorder",
    RAS: "a report of NCCL RAS",
}
OTHERS = (
    (re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<algo\b"), "an algorithm of MSCCL, which has no times"),
    (re.compile(r"\s*<(?:\?xml|!doctype|html)\b", re.IGNORECASE), "XML or HTML"),
)


def other_text(text: str) -> str:
    """What a text is that no importer reads; empty: nothing that is known."""
    head = text[:PEEKED]
    if kind := next((kind for kind, recognises in RECOGNISERS.items() if recognises(head)), ""):
        return f"{OF_JOBS[kind]}: give it to 'allreduce-bench stragglers'"
    return next((name for pattern, name in OTHERS if pattern.match(head)), "")
