"""The caveats of a run: what limits the trust in its times, and missing cells.

`find_caveats` gathers them: findings of launches, failed checks, differing results, doubtful times, times below their
limit. All functions return text about one run, made from its summary rows and the facts of its launches. Sentences of
their own: `launch_states_sentence`, `damage_sentence`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..evaluation import doubts
from ..evaluation.agreement import BUG, SIZE, WrongCluster, broken_promise, wrong_clusters
from ..evaluation.competing import competing
from ..evaluation.doubts import MUCH_INVALID, STRONG_DRIFT
from ..evaluation.limits import LATENCY, LIMITS, LINKS, LOCAL, passes_limit, passes_link, refutes_limit
from ..evaluation.summary_row import SummaryRow, time_of
from ..machine import LEVELS, finding
from ..units import format_size, format_time, in_ranks, three_digits
from .launch_states_sentence import launch_apart_sentences, launch_states_sentences

# cells without a time, and results
FAILED_BADGES = {  # state -> badge
    "wrong": "WRONG RESULTS",
    "refused": "NO ALL-REDUCE",
    "hung": "HUNG",
}
EXACT = ("all results exact", "Every measured cell gave the exact result before and after the timed calls.")
DIFFERING_BITS = (  # column of 0 where they differ, badge, text
    ("same_bits", "replicas diverge", "different bits on different ranks (replicas of a model would diverge)"),
    (
        "same_bits_calls",
        "bits change between calls",
        "different bits in different calls for the same input (results are not reproducible)",
    ),
    (
        "same_bits_launches",
        "bits change between launches",
        "different bits in different launches for the same input (results are not reproducible)",
    ),
)
ROUNDED = (
    "results right up to rounding",
    "Every measured cell gave the exact result where sums are not rounded; where they are, ranks differ in their last "
    "bits.",
)


# findings of launches
BADGES = {  # in this order
    "oversubscribed": "oversubscribed",
    "pretended": "PRETENDED nodes",
    "arithmetic": "16-bit arithmetic",
    "pypi": "MPI without fabric driver",
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
    "sync": "calls by barriers",
}


# times
FLOORS = {  # column -> what a reference time measures
    "call_floor_s": "no call at all",
    "copy_floor_s": "a local copy of the vector",
}


# times below their lower bound
CODE = "limit"  # code of the findings


class Bound(NamedTuple):
    """The words on times that are shorter than their lower bound."""

    faster: str  # than what they are
    causes: str
    advice: str


BOUNDS = {  # what sets the bound
    LINKS: Bound(
        "the link allows",
        "the stated rate is wrong; the bytes took another path (several links, shared memory); the last bytes were "
        "still in kernel buffers when the calls returned",
        "give the total rate of all links of a node (--link-rate), check which networks carried the bytes, and measure "
        "larger vectors, for which buffers matter less",
    ),
    LATENCY: Bound(
        "the measured latency between nodes allows",
        "the clocks were compared while the network was busy",
        "measure again on quiet nodes",
    ),
    LOCAL: Bound(
        "local work allows (the reference times of copy and reduction)",
        "the reference times were disturbed; this all-reduce reduces in a faster way, or more than two vectors at once",
        "measure again on a quiet machine; if it happens again, this lower bound does not hold for this all-reduce",
    ),
}


class Note(NamedTuple):
    """One finding; an empty field is not printed."""

    text: str
    effect: str = ""  # on the numbers
    advice: str = ""


class Caveat(NamedTuple):
    """A limit on how far the times can be trusted."""

    level: str  # good, info, caution, severe (the times do not mean what they seem to), bad (wrong results)
    badge: str  # a few words
    notes: tuple[Note, ...]


class Warned(NamedTuple):
    """Findings that a page tells together, since they have the same effect and the same remedy."""

    level: str
    texts: tuple[str, ...]
    effect: str
    advice: str


class Gap(NamedTuple):
    """Cells of one algorithm without a time, for one reason."""

    state: str
    ranks: int
    algorithm: str
    sizes: str
    reason: str


class Remark(NamedTuple):
    """Why cells are not ranked, derived from their calls."""

    badge: str
    doubts: tuple[str, ...]
    text: str  # follows their number
    effect: str
    advice: str


def find_caveats(rows: Sequence[SummaryRow], attempts: Sequence[dict], missing: Sequence[str] = ()) -> list[Caveat]:
    """Return the caveats of the launches and the summary, then the good news; plain information comes last.

    `missing`: sentences about the cells that jobs should have measured and did not.
    """
    imported = any("source" in fact for fact in attempts)
    row_caveats = [
        *_find_failures(rows, imported),
        *_find_clusters(rows),
        *_find_accidents(rows),
        *_find_differing_bits(rows),
        *_find_absent_cells(rows),
        *_find_uncut_steps(rows),
        *find_time_caveats(rows),
    ]
    caveats = [*_find_broken_promises(rows), *_gather_findings(attempts), *row_caveats, *_find_unfinished_jobs(missing)]
    return sorted(caveats, key=lambda caveat: caveat.level == "info")


def join_notes(found: Sequence[Caveat]) -> list[Warned]:
    """Return what is not good, with notes of the same level, effect and advice as one."""
    texts_of: dict[tuple[str, str, str, str], list[str]] = {}
    for caveat in found:
        for note in caveat.notes if caveat.level != "good" else ():
            alone = "" if note.effect or note.advice else note.text
            texts_of.setdefault((caveat.level, note.effect, note.advice, alone), []).append(note.text)
    return [Warned(level, tuple(texts), effect, advice) for (level, effect, advice, _), texts in texts_of.items()]


def _gather_findings(attempts: Sequence[dict]) -> list[Caveat]:
    """Return the findings of the launches, each kind with its rank counts; the severe ones first."""
    launches_of: dict[tuple[str, str], dict[Note, set[int]]] = {}
    for fact in attempts:
        for one in fact.get("findings", []):
            code = one["code"]
            note = Note(one["text"], one.get("effect", ""), one.get("advice", ""))
            launches_of.setdefault((one["level"], code), {}).setdefault(note, set()).add(fact["ranks"])
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


def _find_failures(rows: Sequence[SummaryRow], imported: bool) -> list[Caveat]:
    failed = []
    for state, badge_words in FAILED_BADGES.items():
        failed_cells = [gap for gap in find_gaps(rows) if gap.state == state]
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
        if any(row.get("same_bits") == 0 for row in rows):  # another caveat says whose
            badge, text = ROUNDED
        return [Caveat("good", badge, (Note(text),))]
    return [Caveat("caution", "unchecked results", (Note("The results of some timed cells were not checked."),))]


def _find_clusters(rows: Sequence[SummaryRow]) -> list[Caveat]:
    notes = tuple(map(Note, cluster_sentences(rows)))
    return [Caveat("bad", "wrong results cluster", notes)] if notes else []


def cluster_sentences(rows: Iterable[SummaryRow]) -> list[str]:
    """Return a sentence for each value where wrong results cluster, such as n/p = 1 MiB."""
    return [_cluster_sentence(cluster) for cluster in wrong_clusters(rows)]


def _cluster_sentence(cluster: WrongCluster) -> str:
    what = "a size of" if cluster.kind == SIZE else "n/p ="
    share = f"{cluster.checked} of {cluster.all_checked} results were checked"
    rarity = _rarity_words(cluster.p_value)
    where = f"{what} {format_size(float(cluster.size_bytes))}"
    return f"{cluster.wrong} of {cluster.all_wrong} wrong results are at {where} ({share} there): {rarity}"


def _rarity_words(p_value: float) -> str:
    words = "below 0.0001 %" if p_value < 1e-6 else f"about {100 * p_value:.2g} %"
    return f"the probability of this by chance is {words}"


def _find_accidents(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Cells that were measured in one launch and hung in another."""
    texts = [
        f"{row['competitor']} {format_size(row['size_bytes'])}, {row['ranks']} ranks, hung {accident.words}"
        for row in rows
        for accident in row.get("accidents") or ()
        if row["state"] == "done"
    ]
    return [Caveat("caution", "hung in some launches", tuple(map(Note, texts)))] if texts else []


def _find_differing_bits(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Results that differ although no schedule guarantees equal bits."""
    caveats = []
    for column, badge, text in DIFFERING_BITS:
        ranks_of: dict[str, set[int]] = {}
        for row in rows:
            if row.get(column) == 0 and not broken_promise(row):
                ranks_of.setdefault(row["competitor"], set()).add(row["ranks"])
        if ranks_of:
            names = ", ".join(f"{name} at {in_ranks(ranks)}" for name, ranks in ranks_of.items())
            caveats.append(Caveat("caution", f"{badge}: {', '.join(ranks_of)}", (Note(f"{text}: {names}"),)))
    return caveats


def _find_broken_promises(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Measurements that contradict a proved property of a schedule."""
    broken: dict[tuple, list[str]] = {}
    for row in rows:
        if words := broken_promise(row):
            sizes = broken.setdefault((row["competitor"], row["ranks"], words), [])
            sizes.append(format_size(row["size_bytes"]))
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


def _find_absent_cells(rows: Sequence[SummaryRow]) -> list[Caveat]:
    absent = sum(row["state"] not in ("done", *FAILED_BADGES) for row in rows)
    text = f"{absent} of {len(rows)} planned cells have no time; the section 'Not measured' gives the reasons."
    return [Caveat("caution", f"{absent} of {len(rows)} cells not measured", (Note(text),))] if absent else []


def _find_uncut_steps(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Steps that a pipelined way did not cut."""
    cells_of: dict[str, list[SummaryRow]] = {}
    for row in rows:
        if why := row.get("run_whole"):
            cells_of.setdefault(why, []).append(row)
    notes = tuple(Note(f"{cells_text(cells)} ran whole: {why}") for why, cells in cells_of.items())
    return [Caveat("info", "steps not cut", notes)] if notes else []


def _find_unfinished_jobs(missing: Sequence[str]) -> list[Caveat]:
    if not missing:
        return []
    effect = "the times of these cells are based on fewer launches than planned, or are missing"
    advice = "submit them again; allreduce-bench collect prints the command"
    notes = [Note(text) for text in missing[:-1]] + [Note(missing[-1], effect, advice)]
    return [Caveat("caution", "incomplete launches", tuple(notes))]


def find_gaps(rows: Sequence[SummaryRow]) -> list[Gap]:
    """Return the cells without a time, those that failed a check first."""
    sizes: dict[tuple, list[str]] = {}
    for row in rows:
        if row["state"] != "done":
            key = (row["state"], row["ranks"], row["competitor"], row["reason"] or "")
            sizes.setdefault(key, []).append(format_size(row["size_bytes"]))
    cells = [
        Gap(state, ranks, name, ", ".join(cell_sizes), reason)
        for (state, ranks, name, reason), cell_sizes in sizes.items()
    ]
    return sorted(cells, key=lambda gap: gap.state not in FAILED_BADGES)


def cells_text(rows: Sequence[SummaryRow]) -> str:
    """Return `ring (8 B, 1 KiB), two_tree (8 B) at 2 ranks; ...`."""
    sizes: dict[int, dict[str, list[str]]] = {}
    for row in rows:
        cell_sizes = sizes.setdefault(row["ranks"], {}).setdefault(row["competitor"], [])
        cell_sizes.append(format_size(row["size_bytes"]))
    return "; ".join(
        ", ".join(f"{name} ({', '.join(cell_sizes)})" for name, cell_sizes in algorithms.items())
        + f" at {in_ranks([ranks])}"
        for ranks, algorithms in sizes.items()
    )


def find_time_caveats(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the caveats that the rows of a summary give about their times."""
    done = [row for row in rows if row["time_s"] is not None]
    return [*_find_levels(done), *_find_short_times(done), *_find_passed_limits(rows), *_find_doubted(done)]


def _find_levels(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the caveats of launches on two levels, and of launches apart."""
    caveats = []
    if told := launch_states_sentences(done):
        effect = (
            "the median over the launches represents neither level; it is not used for a winner, a fit or a comparison"
        )
        advice = "find out what differs between these launches: nodes, placement, or a timer in the transport"
        if all(states.differences for row in done if (states := row.get("launch_states"))):
            advice = "measure launches that do not differ in this, each kind as a run of its own"
        notes = (*map(Note, told[:-1]), Note(told[-1], effect, advice))
        caveats.append(Caveat("caution", "bimodal: two levels", notes))
    if apart := launch_apart_sentences(done):
        effect = "the median represents the other launches"
        notes = (*map(Note, apart[:-1]), Note(apart[-1], effect, "find out what differs in this launch"))
        caveats.append(Caveat("caution", "one launch apart", notes))
    return caveats


def _find_short_times(done: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than an empty call or, between ranks, than a copy of the vector."""
    texts = [
        f"{row['competitor']} {format_size(row['size_bytes'])}, {row['ranks']} ranks, "
        f"took {format_time(time_of(row))}, "
        f"{FLOORS[name]} {format_time(floor_s)}"
        for row in done
        for name, floor_s in doubts.passed_floors(row).items()
    ]
    effect = (
        "the time is implausibly short, or the machine was disturbed during the reference measurement: it is not ranked"
    )
    notes = tuple(Note(text, effect, "measure again; if it happens again, suspect the clock") for text in texts)
    return [Caveat("caution", "times below a reference time", notes)] if notes else []


def _find_passed_limits(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than their lower bound."""
    notes = [Note(found["text"], found["effect"], found["advice"]) for found in limit_findings(rows)]
    badge = "faster than the links allow" if any(map(passes_link, rows)) else "faster than their lower bound"
    return [Caveat("caution", badge, tuple(notes))] if notes else []


def _find_doubted(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Return why cells are not ranked, by their calls."""
    caveats = []
    for remark in REMARKS:
        if rows := [row for row in done if row.get("doubt") in remark.doubts]:
            text = f"{len(rows)} of {len(done)} cells {remark.text}: {cells_text(rows)}"
            effect = f"{remark.effect}: they are not ranked"
            caveats.append(Caveat("caution", remark.badge, (Note(text, effect, remark.advice),)))
    return caveats


REMARKS = (
    Remark(
        "different timing methods",
        (doubts.BARRIERS, doubts.DEFINITIONS, doubts.OTHER_DEFINITION),
        "were timed by another method than others of the same size, or by different methods in their launches",
        "part of the difference between such times comes from the method",
        "choose one synchronisation method for all calls with --sync",
    ),
    Remark(
        "another algorithm ran",
        (doubts.ANOTHER,),
        "are of another algorithm of the library than the one that was asked for",
        "their times say nothing about the algorithm that was asked for",
        "see in the section about native which algorithm ran, and leave out those that did not",
    ),
    Remark(
        "another default",
        (doubts.OTHER_DEFAULT,),
        "were measured where the library's own choice took another time than native, by more than 5 %",
        "the launches in which it is told what to use disturb it",
        "compare them with native:default, which those launches measured, too",
    ),
    Remark(
        "many invalid calls",
        (doubts.INVALID,),
        f"have more than {MUCH_INVALID:.0%} invalid calls (a rank started late, or its clock ran backwards)",
        "the invalid calls may be the slow ones, so the remaining times may be too short",
        "give each rank its own core, or use --sync barrier",
    ),
    Remark(
        "times drift",
        (doubts.DRIFT,),
        f"drifted within a launch, by a factor above {STRONG_DRIFT:g} and by more than their interval",
        "the cell has no single time; its median depends on how long it ran",
        "use more --warmups or a longer --min-time",
    ),
)


def limit_findings(rows: Sequence[SummaryRow]) -> list[dict]:
    """Return the findings about times below their lower bound: one for every number of ranks and kind of bound.

    As `machine.finding` makes them, with their `ranks`.
    """
    findings = []
    for ranks in sorted({row["ranks"] for row in rows}):
        passing = [row for row in competing(rows) if row["ranks"] == ranks and passes_limit(row)]
        for kind in LIMITS:
            if of_kind := [row for row in passing if row["limit_by"] == kind]:
                findings.append({"ranks": ranks, **_limit_finding(kind, of_kind)})
    return findings


def _faster_words(row: SummaryRow) -> str:
    """Return `faster than the link allows (hsn0, 40 Gbit/s from --link-rate)`, of a time below its lower bound."""
    kind = row.get("limit_by") or LINKS
    return f"faster than {BOUNDS[kind].faster}" + (f" ({row.get('link')})" if kind == LINKS else "")


def _limit_finding(kind: str, passing: Sequence[SummaryRow]) -> dict:
    """Return the finding about rows of one number of ranks, at least one, all with times below the lower bound."""
    most = max((row["limit_s"] or 0.0) / time_of(row) for row in passing)
    text = f"{_faster_words(passing[0])}, up to {three_digits(most)} times: {cells_text(passing)}"
    noise = "" if any(map(refutes_limit, passing)) else "the intervals contain the lower bound, so this may be noise; "
    effect = f"no efficiency above 100 % is given; {noise}likely causes: {BOUNDS[kind].causes}"
    return finding(CODE, "caution", text, effect, BOUNDS[kind].advice)
