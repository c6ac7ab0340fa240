"""What a reader must know before trusting the times of a run: findings, failed checks, cells without a time.

Everything here is text about one run, from its summary rows and the facts of its launches.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.agreement import BUG, broken_promise
from ..evaluation.cell_times import AND, MIN_LAUNCHES
from ..evaluation.summary import Summary, by_size
from ..machine.finding import LEVELS
from ..measuring.budget import MAX_REPETITIONS
from ..runs.schema import ALONE
from ..stats import LEAST_FOR_INTERVAL
from ..units import format_size, format_time, in_ranks

BADGES = {  # in this order
    "oversubscribed": "oversubscribed",
    "pretended": "PRETENDED nodes",
    "arithmetic": "16-bit arithmetic",
    "quota": "processor time was limited",
    "pypi": "MPI without a fabric",
    "interfaces": "interfaces can be confused",
    "hyperthreads": "ranks shared cores",
    "mixed": "nodes of several kinds",
    "loaded": "machine was loaded",
    "governor": "clocks varied",
    "timer": "coarse clock",
    "caches": "size of the caches unknown",
    "clock": "clocks disagree",
    "sync": "other start of calls",
}
SEVERE = ("oversubscribed", "pretended")  # where a run does not say the level itself
MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_LAG1, STRONG_DRIFT = 0.5, 1.1
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it
UNUSUAL = ("cold", ALONE)  # what is said of a cell beside its size
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


def findings(rows: Sequence[Summary], attempts: Sequence[dict], missing: Sequence[str] = ()) -> list[Finding]:
    """What the launches and the summary say against the times, or for them; mere information comes last.

    `missing`: of the cells that jobs should have measured and did not, in words.
    """
    of_bits = [*_of_replicas(rows), *_of_reproducibility(rows)]
    imported = any("source" in fact for fact in attempts)
    of_rows = [*_of_checks(rows, imported), *_of_accidents(rows), *of_bits, *_of_gaps(rows), *_of_intervals(rows)]
    of_rows += [*_of_floors(rows), *_of_calls([row for row in rows if row["time_s"] is not None])]
    found = [*_of_promises(rows), *_of_launches(attempts), *of_rows, *_of_jobs(missing)]
    return sorted(found, key=lambda finding: finding.level == "info")


def gaps(rows: Sequence[Summary]) -> list[Gap]:
    """The cells without a time, those that failed a check first."""
    sizes: dict[tuple, list[str]] = {}
    for row in rows:
        if row["state"] != "done":
            key = (str(row["state"]), int(str(row["ranks"])), str(row["algorithm"]), str(row["reason"] or ""))
            sizes.setdefault(key, []).append(_size(row))
    found = [Gap(state, ranks, name, ", ".join(of), reason) for (state, ranks, name, reason), of in sizes.items()]
    return sorted(found, key=lambda gap: gap.state not in FAILED)


def _size(row: Summary) -> str:
    """`8 B`, or `8 B cold`, `8 B alone`."""
    words = [format_size(int(str(row["nbytes"]))), *(word for word in (row["cache"], row["groups"]) if word in UNUSUAL)]
    return " ".join(words)


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


def _of_checks(rows: Sequence[Summary], imported: bool) -> list[Finding]:
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
        told = ("no wrong results", "The logs say that none was wrong.") if imported else ("all results exact", text)
        return [Finding("good", told[0], (Note(told[1]),))]
    return [Finding("caution", "unchecked results", (Note("Some times belong to results that were not checked."),))]


def _of_accidents(rows: Sequence[Summary]) -> list[Finding]:
    """Cells that were measured after all, but hung in another launch."""
    texts = [
        f"{row['algorithm']} {_size(row)}, {row['ranks']} ranks, hung {words}"
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


def _of_reproducibility(rows: Sequence[Summary]) -> list[Finding]:
    """Where a result is not the same when it is asked for again, and no schedule promised that it would be."""
    found = []
    for column, of in (("same_bits_calls", "calls"), ("same_bits_launches", "launches")):
        changing: dict[str, set[int]] = {}
        for row in rows:
            if row.get(column) == 0 and not broken_promise(row):
                changing.setdefault(str(row["algorithm"]), set()).add(int(str(row["ranks"])))
        if changing:
            names = ", ".join(f"{name} at {in_ranks(at)}" for name, at in changing.items())
            text = f"different bits in different {of} on the same floats, so that a result cannot be repeated: {names}"
            found.append(Finding("caution", f"bits change between {of}: {', '.join(changing)}", (Note(text),)))
    return found


def _of_promises(rows: Sequence[Summary]) -> list[Finding]:
    """Measurements that contradict what was proved of a schedule."""
    broken: dict[tuple, list[str]] = {}
    for row in rows:
        if words := broken_promise(row):
            sizes = broken.setdefault((str(row["algorithm"]), int(str(row["ranks"])), words), [])
            sizes.append(format_size(int(str(row["nbytes"]))))
    if not broken:
        return []
    notes = [
        Note(f"{name} at {in_ranks([ranks])}, {', '.join(sizes)}: {words}", f"this is {BUG}; trust no result of it")
        for (name, ranks, words), sizes in broken.items()
    ]
    names = ", ".join(dict.fromkeys(name for name, *_ in broken))
    return [Finding("bad", f"BROKEN PROMISE: {names}", tuple(notes))]


def _of_gaps(rows: Sequence[Summary]) -> list[Finding]:
    absent = sum(row["state"] not in ("done", *FAILED) for row in rows)
    text = f"{absent} of {len(rows)} planned cells have no time; see below which, and why."
    return [Finding("caution", f"{absent} of {len(rows)} cells not measured", (Note(text),))] if absent else []


def _of_jobs(missing: Sequence[str]) -> list[Finding]:
    if not missing:
        return []
    effect = "fewer launches than planned stand behind the times of these cells, or none"
    advice = "submit them again, as allreduce-bench collect says"
    notes = [Note(text) for text in missing[:-1]] + [Note(missing[-1], effect, advice)]
    return [Finding("caution", "incomplete launches", tuple(notes))]


def _of_intervals(rows: Sequence[Summary]) -> list[Finding]:
    kinds = {row.get("interval") for row in rows}
    if not kinds & {"repetitions", "range"}:
        return []
    notes = [Note("How much launches differ is not known: the intervals hold the spread within launches only.")]
    if "range" in kinds:
        notes.append(
            Note(f"Cells of fewer than {LEAST_FOR_INTERVAL} calls have no interval: nobody is told from the fastest.")
        )
    return [Finding("caution", f"fewer than {MIN_LAUNCHES} launches", tuple(notes))]


def _of_calls(done: Sequence[Summary]) -> list[Finding]:
    """What the calls of the measured cells say against their times."""
    kinds = {
        "different definitions of a time": (
            _redefined(done),
            "cells have times of another definition than others of their size, or than other launches of theirs",
            "the difference between two such times is partly one of how they were measured",
            "choose one start of the calls with --sync",
        ),
        "many invalid calls": (
            [row for row in done if row["invalid"] > MUCH_INVALID * (row["invalid"] + row["repetitions"])],
            f"cells lost more than {MUCH_INVALID:.0%} of their calls, for which a rank came late or a clock was wrong",
            "calls that began badly may be the slow ones, so that the times left are too good",
            "leave each rank a core of its own, or use --sync barrier",
        ),
        "precision not reached": (
            [row for row in done if {"time", "calls", "within"} & set((row.get("stopped") or "").split(AND))],
            "cells ended, in some launch, before --precision was reached: their time or their most calls were used up",
            "their intervals are wider than was asked for",
            f"give them more by --cell-time, beyond {MAX_REPETITIONS} calls by --min-time",
        ),
        "calls depend on each other": (
            [row for row in done if _is_strong(row)],
            f"cells have calls that follow each other (rank correlation of consecutive calls above {STRONG_LAG1:g})",
            "they say less than their number; the intervals know, the quantiles do not",
            "look for what comes and goes on the machine or the network",
        ),
        "times drift": (
            [row for row in done if _drifts(row)],
            f"cells became slower or faster within a launch by more than {STRONG_DRIFT - 1:.0%} and their interval",
            "there is no single time of the cell, and its median depends on how long it ran",
            "use more --warmups or a longer --min-time",
        ),
    }
    return [
        Finding("caution", badge, (Note(f"{len(rows)} of {len(done)} {text}: {_cells(rows)}", effect, advice),))
        for badge, (rows, text, effect, advice) in kinds.items()
        if rows
    ]


def _redefined(done: Sequence[Summary]) -> list[Summary]:
    """The rows whose launches, or whose rivals at the same size, have another definition of time_s."""
    found = []
    for group in by_size(done).values():
        several = len({row["time_definition"] for row in group}) > 1
        found += [row for row in group if several or AND in row["time_definition"]]
    return found


def _is_strong(row: Summary) -> bool:
    """Whether lag-1 is strong, and too strong for chance in a launch of so many calls (95 %)."""
    calls = row["repetitions"] / row["launches"]
    return row["lag1"] is not None and row["lag1"] > max(STRONG_LAG1, 2 / calls**0.5)


def _drifts(row: Summary) -> bool:
    """Whether a launch drifts by much, and by more than the interval says of the cell's time anyway."""
    much = max(STRONG_DRIFT, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much


def _cells(rows: Sequence[Summary]) -> str:
    """`ring (8 B, 1 KiB), two_tree (8 B) at 2 ranks; ...`."""
    sizes: dict[int, dict[str, list[str]]] = {}
    for row in rows:
        of = sizes.setdefault(row["ranks"], {}).setdefault(row["algorithm"], [])
        of.append(_size(row))
    return "; ".join(
        ", ".join(f"{name} ({', '.join(of)})" for name, of in algorithms.items()) + f" at {in_ranks([ranks])}"
        for ranks, algorithms in sizes.items()
    )


def _of_floors(rows: Sequence[Summary]) -> list[Finding]:
    """All-reduces that took less than what every one of them holds: a call, and between ranks a copy of the vector."""
    texts = []
    for row in rows:
        if row["time_s"] is None:
            continue
        floors = [("no call at all", row["call_floor_s"])]
        if row["ranks"] > 1 and row["nbytes"] >= COPIES_FROM:
            floors.append(("a local copy of the vector", row["copy_floor_s"]))
        below = [(what, floor_s) for what, floor_s in floors if floor_s and row["time_high_s"] < floor_s]
        texts += [
            f"{row['algorithm']} {_size(row)}, {row['ranks']} ranks, took {format_time(row['time_s'])}, "
            f"{what} {format_time(floor_s)}"
            for what, floor_s in below
        ]
    effect = "the time is too short to be true, or the machine was disturbed while the floor was measured"
    notes = tuple(Note(text, effect, "measure again; where it stays so, mistrust the clock") for text in texts)
    return [Finding("caution", "times below a floor", notes)] if notes else []
