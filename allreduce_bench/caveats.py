"""What a reader must know before trusting the times of a run: findings, failed checks, cells without a time.

Everything here is text about one run, from its summary rows and the facts of its launches.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .finding import LEVELS
from .summary import MIN_LAUNCHES, Summary
from .units import format_size, in_ranks

BADGES = {  # in this order
    "oversubscribed": "oversubscribed",
    "pretended": "PRETENDED nodes",
    "arithmetic": "16-bit arithmetic",
    "quota": "processor time was limited",
    "pypi": "MPI without a fabric",
    "interfaces": "interfaces can be confused",
    "hyperthreads": "ranks shared cores",
    "loaded": "machine was loaded",
    "governor": "clocks varied",
    "timer": "coarse clock",
    "clock": "clocks disagree",
    "sync": "other start of calls",
}
SEVERE = ("oversubscribed", "pretended")  # where a run does not say the level itself
FAILED = {"wrong": "WRONG RESULTS", "refused": "NO ALL-REDUCE", "hung": "HUNG"}


class Note(NamedTuple):
    """One thing that was found; empty: not said."""

    text: str
    effect: str = ""  # on the numbers
    advice: str = ""


class Finding(NamedTuple):
    """Something a reader must know before trusting the times."""

    level: str  # good, info, caution, severe (times mean something else than they seem to), bad (wrong results)
    badge: str  # a few words
    notes: tuple[Note, ...]


class Gap(NamedTuple):
    """Cells of one algorithm that have no time, for one reason."""

    state: str
    ranks: int
    algorithm: str
    sizes: str
    reason: str


def findings(rows: Sequence[Summary], attempts: Sequence[dict]) -> list[Finding]:
    """What the launches and the summary say against the times, or for them; mere information comes last."""
    of_rows = [*_of_checks(rows), *_of_accidents(rows), *_of_replicas(rows), *_of_gaps(rows), *_of_intervals(rows)]
    found = [*_of_launches(attempts), *of_rows]
    return sorted(found, key=lambda finding: finding.level == "info")


def gaps(rows: Sequence[Summary]) -> list[Gap]:
    """The cells without a time, those that failed a check first."""
    sizes: dict[tuple, list[str]] = {}
    for row in rows:
        if row["state"] != "done":
            key = (str(row["state"]), int(str(row["ranks"])), str(row["algorithm"]), str(row["reason"] or ""))
            sizes.setdefault(key, []).append(format_size(int(str(row["nbytes"]))))
    found = [Gap(state, ranks, name, ", ".join(of), reason) for (state, ranks, name, reason), of in sizes.items()]
    return sorted(found, key=lambda gap: gap.state not in FAILED)


def _of_launches(attempts: Sequence[dict]) -> list[Finding]:
    """What the launches said, each kind with the rank counts at which it was said; the severe ones first."""
    launches_of: dict[tuple[str, str], dict[Note, set[int]]] = {}
    for fact in attempts:
        for finding in fact.get("findings", []):
            code = finding["code"]
            level = finding.get("level") or ("severe" if code in SEVERE else "caution")
            note = Note(finding["text"], finding.get("effect", ""), finding.get("advice", ""))
            launches_of.setdefault((level, code), {}).setdefault(note, set()).add(fact["ranks"])
    found = []
    for level, code in sorted(launches_of, key=_urgency):
        said = launches_of[level, code]
        badge = f"{BADGES.get(code, code)} at {in_ranks(set().union(*said.values()))}"
        notes = (note._replace(text=f"{note.text} (launches of {in_ranks(at)})") for note, at in said.items())
        found.append(Finding(level, badge, tuple(notes)))
    return found


def _urgency(kind: tuple[str, str]) -> tuple[int, int]:
    level, code = kind
    return -LEVELS.index(level) if level in LEVELS else 0, [*BADGES, code].index(code)


def _of_checks(rows: Sequence[Summary]) -> list[Finding]:
    failed = []
    for state, words in FAILED.items():
        found = [gap for gap in gaps(rows) if gap.state == state]
        texts = [f"{gap.algorithm} at {in_ranks([gap.ranks])}, {gap.sizes}: {gap.reason}" for gap in found]
        if found:
            failed.append(
                Finding(
                    "bad",
                    f"{words}: {', '.join(dict.fromkeys(gap.algorithm for gap in found))}",
                    tuple(map(Note, texts)),
                )
            )
    if failed:
        return failed
    if all(row.get("wrong") == 0 for row in rows if row["time_s"] is not None):
        text = "Every measured cell gave the exact result before and after its timing."
        return [Finding("good", "all results exact", (Note(text),))]
    return [Finding("caution", "unchecked results", (Note("Some times belong to results that were not checked."),))]


def _of_accidents(rows: Sequence[Summary]) -> list[Finding]:
    """Cells that were measured after all, but hung in another launch."""
    texts = [
        f"{row['algorithm']} {format_size(int(str(row['nbytes'])))}, {row['ranks']} ranks, hung {words}"
        for row in rows
        for words in row.get("accidents") or ()
        if row["state"] == "done"
    ]
    return [Finding("caution", "hung in another launch", tuple(map(Note, texts)))] if texts else []


def _of_replicas(rows: Sequence[Summary]) -> list[Finding]:
    diverging: dict[str, set[int]] = {}
    for row in rows:
        if row.get("same_bits") == 0:
            diverging.setdefault(str(row["algorithm"]), set()).add(int(str(row["ranks"])))
    if not diverging:
        return []
    names = ", ".join(f"{name} at {in_ranks(at)}" for name, at in diverging.items())
    text = f"different bits on different ranks, so that replicas of a model would drift apart: {names}"
    return [Finding("caution", f"replicas diverge: {', '.join(diverging)}", (Note(text),))]


def _of_gaps(rows: Sequence[Summary]) -> list[Finding]:
    absent = sum(row["state"] not in ("done", *FAILED) for row in rows)
    text = f"{absent} of {len(rows)} planned cells have no time; see below which, and why."
    return [Finding("caution", f"{absent} of {len(rows)} cells not measured", (Note(text),))] if absent else []


def _of_intervals(rows: Sequence[Summary]) -> list[Finding]:
    if not any(row.get("interval") == "repetitions" for row in rows):
        return []
    text = "The intervals hold the spread within launches only; another mpirun can differ by much more."
    return [Finding("caution", f"fewer than {MIN_LAUNCHES} launches", (Note(text),))]
