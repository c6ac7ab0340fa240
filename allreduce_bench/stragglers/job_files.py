"""What PyTorch and NCCL write of a job, told by content: traces of Kineto, records of the Flight Recorder, NCCL RAS."""

from collections.abc import Iterable
from pathlib import Path

from ..importers.documents import head_of, is_pickle
from ..importers.inspector import files_of
from . import flight_recorder, kineto_events, nccl_ras

KINETO, FLIGHT_RECORDER, RAS, PICKLE = "kineto", "flight-recorder", "nccl-ras", "pickle"
RECOGNISERS = {
    KINETO: kineto_events.recognises,
    FLIGHT_RECORDER: flight_recorder.recognises,
    RAS: nccl_ras.recognises,
}

TITLES = {
    KINETO: "a trace in the Chrome format, as torch.profiler writes it",
    FLIGHT_RECORDER: "a record of PyTorch's Flight Recorder",
    RAS: "a report of NCCL RAS",
}


def description_of(head: str) -> str:
    """Return what a text that begins so is, and which command reads it; empty: none of these."""
    kind = next((kind for kind, recognises in RECOGNISERS.items() if recognises(head)), "")
    return f"{TITLES[kind]}: give it to 'allreduce-bench stragglers'" if kind else ""


def kind_of(path: Path) -> str:
    """One of the names above; empty: anything else, also a folder."""
    head = head_of(path)
    if is_pickle(head):
        return PICKLE
    text = head.decode(errors="replace")
    return next((kind for kind, recognises in RECOGNISERS.items() if recognises(text)), "")


def kinds_of(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Each path with its kind; a folder of such files gives way to them. Pickles of a folder with others are left."""
    found = []
    for path in paths:
        below = _below(path) if path.is_dir() and not (path / "run.json").exists() and not files_of(path) else []
        others = [one for one in below if one[1] != PICKLE]
        found += others or below or [(path, kind_of(path))]
    return found


def _below(folder: Path) -> list[tuple[Path, str]]:
    every = ((file, kind_of(file)) for file in sorted(folder.rglob("*")))
    return [one for one in every if one[1]]
