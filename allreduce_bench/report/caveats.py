"""The caveats of a run: findings, failed checks, cells without a time.

All functions return text about one run, made from its summary rows and the facts of its launches.
"""

from collections.abc import Sequence

from ..evaluation.agreement import BUG, broken_promise
from ..evaluation.summary_row import SummaryRow, competitor_of
from ..machine import LEVELS
from ..units import format_size, in_ranks
from .caveat import FAILED, Caveat, Note, cell_size, cells_text, gaps
from .time_caveats import find_time_caveats
from .wrong_clusters_sentence import cluster_sentences

BADGES = {  # in this order
    "oversubscribed": "oversubscribed",
    "pretended": "PRETENDED nodes",
    "arithmetic": "16-bit arithmetic",
    "quota": "CPU time limited",
    "pypi": "MPI without fabric driver",
    "interfaces": "ambiguous interfaces",
    "hyperthreads": "ranks share cores",
    "virtual": "virtual hosts",
    "mixed": "heterogeneous nodes",
    "loaded": "machine under load",
    "stolen": "CPU steal",
    "throttled": "CPU throttled",
    "port errors": "port errors",
    "degraded link": "degraded link",
    "governor": "CPU frequency varies",
    "timer": "coarse timer",
    "caches": "cache size unknown",
    "clock": "clocks disagree",
    "sync": "fallback synchronisation",
}
EXACT = ("all results exact", "Every measured cell gave the exact result before and after the timed calls.")
SEVERE = ("oversubscribed", "pretended")  # for runs that do not store the level


def find_caveats(rows: Sequence[SummaryRow], attempts: Sequence[dict], missing: Sequence[str] = ()) -> list[Caveat]:
    """The caveats of the launches and the summary, then the good news; plain information comes last.

    `missing`: sentences about the cells that jobs should have measured and did not.
    """
    bit_caveats = [*_of_replicas(rows), *_of_reproducibility(rows)]
    imported = any("source" in fact for fact in attempts)
    row_caveats = [
        *_of_checks(rows, imported),
        *_of_clusters(rows),
        *_of_accidents(rows),
        *bit_caveats,
        *_of_gaps(rows),
        *_of_whole(rows),
        *find_time_caveats(rows),
    ]
    caveats = [*_of_promises(rows), *_of_launches(attempts), *row_caveats, *_of_jobs(missing)]
    return sorted(caveats, key=lambda caveat: caveat.level == "info")


def _of_launches(attempts: Sequence[dict]) -> list[Caveat]:
    """The findings of the launches, each kind with its rank counts; the severe ones first."""
    launches_of: dict[tuple[str, str], dict[Note, set[int]]] = {}
    for fact in attempts:
        for finding in fact.get("findings", []):
            code = finding["code"]
            level = finding.get("level") or ("severe" if code in SEVERE else "caution")
            note = Note(finding["text"], finding.get("effect", ""), finding.get("advice", ""))
            launches_of.setdefault((level, code), {}).setdefault(note, set()).add(fact["ranks"])
    caveats = []
    for level, code in sorted(launches_of, key=_urgency):
        ranks_of_note = launches_of[level, code]
        badge = f"{BADGES.get(code, code)} at {in_ranks(set().union(*ranks_of_note.values()))}"
        notes = (
            note._replace(text=f"{note.text} (launches of {in_ranks(rank_counts)})")
            for note, rank_counts in ranks_of_note.items()
        )
        caveats.append(Caveat(level, badge, tuple(notes)))
    return caveats


def _urgency(kind: tuple[str, str]) -> tuple[int, int]:
    level, code = kind
    return -LEVELS.index(level) if level in LEVELS else 0, [*BADGES, code].index(code)


def _of_checks(rows: Sequence[SummaryRow], imported: bool) -> list[Caveat]:
    failed = []
    for state, badge_words in FAILED.items():
        failed_cells = [gap for gap in gaps(rows) if gap.state == state]
        texts = [f"{gap.algorithm} at {in_ranks([gap.ranks])}, {gap.sizes}: {gap.reason}" for gap in failed_cells]
        if failed_cells:
            failed.append(
                Caveat(
                    "bad",
                    f"{badge_words}: {', '.join(dict.fromkeys(gap.algorithm for gap in failed_cells))}",
                    tuple(map(Note, texts)),
                )
            )
    if failed:
        return failed
    if all(row.get("wrong") == 0 for row in rows if row["time_s"] is not None):
        badge, text = ("no wrong results", "The logs report no wrong result.") if imported else EXACT
        return [Caveat("good", badge, (Note(text),))]
    return [Caveat("caution", "unchecked results", (Note("The results of some timed cells were not checked."),))]


def _of_clusters(rows: Sequence[SummaryRow]) -> list[Caveat]:
    notes = tuple(map(Note, cluster_sentences(rows)))
    return [Caveat("bad", "wrong results cluster", notes)] if notes else []


def _of_accidents(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Cells that were measured in one launch and hung in another."""
    texts = [
        f"{competitor_of(row)} {cell_size(row)}, {row['ranks']} ranks, hung {accident.words}"
        for row in rows
        for accident in row.get("accidents") or ()
        if row["state"] == "done"
    ]
    return [Caveat("caution", "hung in some launches", tuple(map(Note, texts)))] if texts else []


def _of_replicas(rows: Sequence[SummaryRow]) -> list[Caveat]:
    diverging: dict[str, set[int]] = {}
    for row in rows:
        if row.get("same_bits") == 0:
            diverging.setdefault(competitor_of(row), set()).add(int(str(row["ranks"])))
    if not diverging:
        return []
    names = ", ".join(f"{name} at {in_ranks(at)}" for name, at in diverging.items())
    text = f"different bits on different ranks (replicas of a model would diverge): {names}"
    return [Caveat("caution", f"replicas diverge: {', '.join(diverging)}", (Note(text),))]


def _of_reproducibility(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Results that differ between repetitions although no schedule guarantees equal bits."""
    caveats = []
    for column, unit in (("same_bits_calls", "calls"), ("same_bits_launches", "launches")):
        changing: dict[str, set[int]] = {}
        for row in rows:
            if row.get(column) == 0 and not broken_promise(row):
                changing.setdefault(competitor_of(row), set()).add(int(str(row["ranks"])))
        if changing:
            names = ", ".join(f"{name} at {in_ranks(at)}" for name, at in changing.items())
            text = f"different bits in different {unit} for the same input (results are not reproducible): {names}"
            caveats.append(Caveat("caution", f"bits change between {unit}: {', '.join(changing)}", (Note(text),)))
    return caveats


def _of_promises(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Measurements that contradict a proved property of a schedule."""
    broken: dict[tuple, list[str]] = {}
    for row in rows:
        if words := broken_promise(row):
            sizes = broken.setdefault((competitor_of(row), int(str(row["ranks"])), words), [])
            sizes.append(format_size(int(str(row["nbytes"]))))
    if not broken:
        return []
    notes = [
        Note(
            f"{name} at {in_ranks([ranks])}, {', '.join(sizes)}: {words}",
            f"this is {BUG}; do not trust any of its results",
        )
        for (name, ranks, words), sizes in broken.items()
    ]
    names = ", ".join(dict.fromkeys(name for name, *_ in broken))
    return [Caveat("bad", f"BROKEN PROMISE: {names}", tuple(notes))]


def _of_gaps(rows: Sequence[SummaryRow]) -> list[Caveat]:
    absent = sum(row["state"] not in ("done", *FAILED) for row in rows)
    text = f"{absent} of {len(rows)} planned cells have no time; the section 'Not measured' gives the reasons."
    return [Caveat("caution", f"{absent} of {len(rows)} cells not measured", (Note(text),))] if absent else []


def _of_whole(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Steps that a pipelined executor did not cut."""
    cells_of: dict[str, list[SummaryRow]] = {}
    for row in rows:
        if why := row.get("run_whole"):
            cells_of.setdefault(why, []).append(row)
    notes = tuple(Note(f"{cells_text(cells)} ran whole: {why}") for why, cells in cells_of.items())
    return [Caveat("info", "steps not cut", notes)] if notes else []


def _of_jobs(missing: Sequence[str]) -> list[Caveat]:
    if not missing:
        return []
    effect = "the times of these cells are based on fewer launches than planned, or are missing"
    advice = "submit them again; allreduce-bench collect prints the command"
    notes = [Note(text) for text in missing[:-1]] + [Note(missing[-1], effect, advice)]
    return [Caveat("caution", "incomplete launches", tuple(notes))]
