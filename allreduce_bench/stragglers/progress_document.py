"""What counts of collective calls say of ranks, in `stragglers --format json`, and its JSON Schema's contents."""

from typing import Any

from ..runs.json_schema.build import by_name, fields, items, or_null, text, whole
from .progress import DEAD, NO_MEMBER, NO_RECORD, UNRESPONSIVE, Count, Progress
from .progress_sentences import progress_sentences

RANKS = items(whole(), "numbers of ranks")
COUNT = fields(
    {
        "collective": text("which calls are counted; empty: all collective calls of the group"),
        "entered": by_name(whole(), "of each rank: the last call that it has entered, from 1"),
        "left": by_name(whole(), "of each rank: the last call that it has left; no ranks: not known"),
    }
)
HELD = fields(
    {
        "number": whole("number of the call in its group"),
        "collective": text("which it is, such as all_reduce"),
        "nbytes": or_null(whole("vector of a rank; unit: bytes; null: not known")),
        "waiting": RANKS | {"description": "ranks that have entered it and not left"},
        "absent": RANKS | {"description": "ranks with a record that have not entered it"},
        "started": RANKS | {"description": "of those waiting: where the GPU is known to have begun it"},
    }
)
PROGRESS = fields(
    {
        "path": text("the file, or the first of them"),
        "kind": text("what it is: flight-recorder, nccl-ras"),
        "group": text("process group or communicator"),
        "members": RANKS,
        "verdict": items(text(), "sentences, what matters most first"),
        "counts": items(COUNT, "calls of each kind"),
        "behind": by_name(whole(), "of each rank that is behind: by how many calls of a kind, at most"),
        "missing": items(
            fields({"rank": whole("its number"), "why": text("why", NO_RECORD, UNRESPONSIVE, DEAD, NO_MEMBER)}),
            "ranks of which nothing is known",
        ),
        "held": items(HELD, "the earliest calls that some ranks have entered and not every rank has left"),
        "unlike": items(
            fields({"number": whole("number of the call"), "done": by_name(RANKS, "what is done -> by which ranks")}),
            "the earliest calls in which ranks do not do the same",
        ),
        "failed": by_name(text(), "of each rank that reports one: its error"),
    }
)


def progress_object(progress: Progress) -> dict[str, Any]:
    """One group, as PROGRESS describes it."""
    return {
        "path": progress.path,
        "kind": progress.kind,
        "group": progress.group,
        "members": list(progress.members),
        "verdict": progress_sentences(progress),
        "counts": [_count(count) for count in progress.counts],
        "behind": _named(progress.behind),
        "missing": [one._asdict() for one in progress.missing],
        "held": [call._asdict() for call in progress.held],
        "unlike": [{"number": call.number, "done": dict(call.done)} for call in progress.unlike],
        "failed": _named(progress.failed),
    }


def _count(count: Count) -> dict[str, Any]:
    return {"collective": count.collective, "entered": _named(count.entered), "left": _named(count.left)}


def _named(of_ranks: Any) -> dict[str, Any]:
    return {str(rank): value for rank, value in of_ranks.items()}
