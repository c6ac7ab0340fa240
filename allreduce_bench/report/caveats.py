"""The caveats of a run: what limits the trust in its times, and missing cells.

`find_caveats` gathers them: findings of launches, failed checks, differing results, doubtful times, times below their
limit. All functions return text about one run, made from its summary rows and the facts of its launches. Sentences of
their own: `launch_states_sentence`, `damage_sentence`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from ..evaluation import doubts
from ..evaluation.agreement import BUG, broken_promise
from ..evaluation.competing import competing
from ..evaluation.doubts import MUCH_INVALID, STRONG_DRIFT
from ..evaluation.limits import LATENCY, LIMITS, LINKS, LOCAL, passes_limit, passes_link, refutes_limit
from ..evaluation.summary_row import SummaryRow, time_of
from ..machine import LEVELS, finding
from ..units import format_size, format_time, in_ranks, three_digits
from .launch_states_sentence import launch_apart_sentences, launch_states_sentences


class Caveat(NamedTuple):
    """A limit on how far the times can be trusted, or the good news that a check found none."""

    level: str  # good, info, caution, severe (the times do not mean what they seem to), bad (wrong results)
    badge: str  # a few words
    texts: tuple[str, ...]  # what was found
    effect: str = ""  # on the numbers
    advice: str = ""


class Gap(NamedTuple):
    """Cells of one algorithm without a time, for one reason."""

    state: str
    ranks: int
    algorithm: str
    sizes: str
    reason: str


# cells without a time, and results
FAILED_BADGES = {  # state -> badge
    "wrong": "WRONG RESULTS",
    "refused": "NO ALL-REDUCE",
    "hung": "HUNG",
}
EXACT = Caveat(
    "good", "all results exact", ("Every measured cell gave the exact result before and after the timed calls.",)
)
ROUNDED = Caveat(
    "good",
    "results right up to rounding",
    (
        "Every measured cell gave the exact result where sums are not rounded; where they are, ranks differ in their "
        "last bits.",
    ),
)
REPORTED = Caveat("good", "no wrong results", ("The logs report no wrong result.",))
UNCHECKED = Caveat("caution", "unchecked results", ("The results of some timed cells were not checked.",))
NOT_REPRODUCIBLE = "for the same input (results are not reproducible)"
DIFFERING_BITS = {  # column of 0 where they differ -> badge, text
    "same_bits": ("replicas diverge", "different bits on different ranks (replicas of a model would diverge)"),
    "same_bits_calls": ("bits change between calls", f"different bits in different calls {NOT_REPRODUCIBLE}"),
    "same_bits_launches": ("bits change between launches", f"different bits in different launches {NOT_REPRODUCIBLE}"),
}

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
CODE = "limit"  # code of the findings about times below their lower bound
BOUNDS = {  # what sets the bound -> than what a time is faster, likely causes, advice
    LINKS: (
        "the link allows",
        "the stated rate is wrong; the bytes took another path (several links, shared memory); the last bytes were "
        "still in kernel buffers when the calls returned",
        "give the total rate of all links of a node (--link-rate), check which networks carried the bytes, and measure "
        "larger vectors, for which buffers matter less",
    ),
    LATENCY: (
        "the measured latency between nodes allows",
        "the clocks were compared while the network was busy",
        "measure again on quiet nodes",
    ),
    LOCAL: (
        "local work allows (the reference times of copy and reduction)",
        "the reference times were disturbed; this all-reduce reduces in a faster way, or more than two vectors at once",
        "measure again on a quiet machine; if it happens again, this lower bound does not hold for this all-reduce",
    ),
}
DOUBTED = {  # doubts -> why cells are not ranked; the text follows their number
    (doubts.BARRIERS, doubts.DEFINITIONS, doubts.OTHER_DEFINITION): Caveat(
        "caution",
        "different timing methods",
        ("were timed by another method than others of the same size, or by different methods in their launches",),
        "part of the difference between such times comes from the method",
        "choose one synchronisation method for all calls with --sync",
    ),
    (doubts.ANOTHER,): Caveat(
        "caution",
        "another algorithm ran",
        ("are of another algorithm of the library than the one that was asked for",),
        "their times say nothing about the algorithm that was asked for",
        "see in the section about native which algorithm ran, and leave out those that did not",
    ),
    (doubts.OTHER_DEFAULT,): Caveat(
        "caution",
        "another default",
        ("were measured where the library's own choice took another time than native, by more than 5 %",),
        "the launches in which it is told what to use disturb it",
        "compare them with native:default, which those launches measured, too",
    ),
    (doubts.INVALID,): Caveat(
        "caution",
        "many invalid calls",
        (f"have more than {MUCH_INVALID:.0%} invalid calls (a rank started late, or its clock ran backwards)",),
        "the invalid calls may be the slow ones, so the remaining times may be too short",
        "give each rank its own core, or use --sync barrier",
    ),
    (doubts.DRIFT,): Caveat(
        "caution",
        "times drift",
        (f"drifted within a launch, by a factor above {STRONG_DRIFT:g} and by more than their interval",),
        "the cell has no single time; its median depends on how long it ran",
        "use more --warmups or a longer --min-time",
    ),
}


def find_caveats(rows: Sequence[SummaryRow], attempts: Sequence[dict], missing: Sequence[str] = ()) -> list[Caveat]:
    """Return the caveats of the launches and the summary, then the good news; plain information comes last.

    `missing`: sentences about the cells that jobs should have measured and did not.
    """
    found = [
        *find_broken_promises(rows),
        *_gather_findings(attempts),
        *_find_failures(rows, any("source" in fact for fact in attempts)),
        *find_accidents(rows),
        *chain.from_iterable(find_differing_bits(rows, column) for column in DIFFERING_BITS),
        *_find_absent_cells(rows),
        *find_uncut_steps(rows),
        *find_time_caveats(rows),
        *_caveat(
            "caution",
            "incomplete launches",
            missing,
            "the times of these cells are based on fewer launches than planned, or are missing",
            "submit them again; allreduce-bench collect prints the command",
        ),
    ]
    return sorted(found, key=lambda caveat: caveat.level == "info")


def _caveat(level: str, badge: str, texts: Iterable[str], effect: str = "", advice: str = "") -> list[Caveat]:
    """Return the caveat if there is anything to say."""
    return [Caveat(level, badge, said, effect, advice)] if (said := tuple(texts)) else []


def _gather_findings(attempts: Sequence[dict]) -> list[Caveat]:
    """Return the findings of the launches, each kind with its rank counts; the severe ones first."""
    ranks_of: dict[tuple[str, str], set[int]] = defaultdict(set)  # level, code
    alike: dict[tuple[str, ...], dict[str, set[int]]] = {}  # level, code, effect, advice -> text -> ranks
    for fact in attempts:
        for one in fact.get("findings", []):
            kind = one["level"], one["code"]
            ranks_of[kind].add(fact["ranks"])
            texts = alike.setdefault((*kind, one.get("effect", ""), one.get("advice", "")), {})
            texts.setdefault(one["text"], set()).add(fact["ranks"])
    return [
        Caveat(
            level,
            f"{BADGES.get(code, code)} at {in_ranks(ranks_of[level, code])}",
            tuple(f"{text} (launches of {in_ranks(ranks)})" for text, ranks in texts.items()),
            effect,
            advice,
        )
        for (level, code, effect, advice), texts in sorted(alike.items(), key=_urgency)
    ]


def _urgency(found: tuple[tuple[str, ...], object]) -> tuple[int, int]:
    (level, code, *_), _ = found
    return -LEVELS.index(level) if level in LEVELS else 0, [*BADGES, code].index(code)


def _find_failures(rows: Sequence[SummaryRow], imported: bool) -> list[Caveat]:
    failed = []
    for state, badge in FAILED_BADGES.items():
        gaps = [gap for gap in find_gaps(rows) if gap.state == state]
        names = ", ".join(dict.fromkeys(gap.algorithm for gap in gaps))
        texts = [f"{gap.algorithm} at {in_ranks([gap.ranks])}, {gap.sizes}: {gap.reason}" for gap in gaps]
        failed += _caveat("bad", f"{badge}: {names}", texts)
    if failed:
        return failed
    if any(row.get("wrong") != 0 for row in rows if row["time_s"] is not None):
        return [UNCHECKED]
    if any(row.get("same_bits") == 0 for row in rows):  # another caveat says whose
        return [ROUNDED]
    return [REPORTED if imported else EXACT]


def find_accidents(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the cells that were measured in one launch and hung in another."""
    texts = (
        f"{row['competitor']} {format_size(row['size_bytes'])}, {row['ranks']} ranks, hung {accident.words}"
        for row in rows
        for accident in row.get("accidents") or ()
        if row["state"] == "done"
    )
    return _caveat("caution", "hung in some launches", texts)


def find_differing_bits(rows: Sequence[SummaryRow], column: str) -> list[Caveat]:
    """Return whose results differ, by one of DIFFERING_BITS, although no schedule guarantees equal bits."""
    ranks_of: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        if row.get(column) == 0 and not broken_promise(row):
            ranks_of[row["competitor"]].add(row["ranks"])
    if not ranks_of:
        return []
    badge, text = DIFFERING_BITS[column]
    names = ", ".join(f"{name} at {in_ranks(ranks)}" for name, ranks in ranks_of.items())
    return [Caveat("caution", f"{badge}: {', '.join(ranks_of)}", (f"{text}: {names}",))]


def find_broken_promises(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the measurements that contradict a proved property of a schedule."""
    sizes_of: dict[tuple, list[str]] = defaultdict(list)
    for row in rows:
        if words := broken_promise(row):
            sizes_of[row["competitor"], row["ranks"], words].append(format_size(row["size_bytes"]))
    names = ", ".join(dict.fromkeys(name for name, *_ in sizes_of))
    texts = (f"{name} at {in_ranks([n])}, {', '.join(sizes)}: {words}" for (name, n, words), sizes in sizes_of.items())
    effect = f"this is {BUG}; do not trust any of its results"
    return _caveat("bad", f"BROKEN PROMISE: {names}", texts, effect)


def _find_absent_cells(rows: Sequence[SummaryRow]) -> list[Caveat]:
    absent = sum(row["state"] not in ("done", *FAILED_BADGES) for row in rows)
    text = f"{absent} of {len(rows)} planned cells have no time; the section 'Not measured' gives the reasons."
    return _caveat("caution", f"{absent} of {len(rows)} cells not measured", [text] if absent else [])


def find_uncut_steps(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the steps that a pipelined way did not cut."""
    cells_of: dict[str, list[SummaryRow]] = defaultdict(list)
    for row in rows:
        if why := row.get("run_whole"):
            cells_of[why].append(row)
    texts = (f"{cells_text(cells)} ran whole: {why}" for why, cells in cells_of.items())
    return _caveat("info", "steps not cut", texts)


def find_gaps(rows: Sequence[SummaryRow]) -> list[Gap]:
    """Return the cells without a time, those that failed a check first."""
    sizes: dict[tuple, list[str]] = defaultdict(list)
    for row in rows:
        if row["state"] != "done":
            key = row["state"], row["ranks"], row["competitor"], row["reason"] or ""
            sizes[key].append(format_size(row["size_bytes"]))
    gaps = [Gap(state, ranks, name, ", ".join(of), reason) for (state, ranks, name, reason), of in sizes.items()]
    return sorted(gaps, key=lambda gap: gap.state not in FAILED_BADGES)


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
    advice = (
        "find out what differs between these launches (nodes, placement, a timer in the transport), and measure each "
        "kind as a run of its own"
    )
    neither = (
        "the median over the launches represents neither level; it is not used for a winner, a fit or a comparison"
    )
    others, differs = "the median represents the other launches", "find out what differs in this launch"
    return [
        *_caveat("caution", "bimodal: two levels", launch_states_sentences(done), neither, advice),
        *_caveat("caution", "one launch apart", launch_apart_sentences(done), others, differs),
    ]


def _find_short_times(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the all-reduces that took less than an empty call or, between ranks, than a copy of the vector."""
    texts = (
        f"{row['competitor']} {format_size(row['size_bytes'])}, {row['ranks']} ranks, took "
        f"{format_time(time_of(row))}, {FLOORS[name]} {format_time(floor_s)}"
        for row in done
        for name, floor_s in doubts.passed_floors(row).items()
    )
    effect = (
        "the time is implausibly short, or the machine was disturbed during the reference measurement: it is not ranked"
    )
    advice = "measure again; if it happens again, suspect the clock"
    return _caveat("caution", "times below a reference time", texts, effect, advice)


def _find_passed_limits(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """Return the all-reduces that took less than their lower bound."""
    badge = "faster than the links allow" if any(map(passes_link, rows)) else "faster than their lower bound"
    return [
        Caveat("caution", badge, (found["text"],), found["effect"], found["advice"]) for found in limit_findings(rows)
    ]


def _find_doubted(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Return why cells are not ranked, by their calls."""
    caveats = []
    for doubted, caveat in DOUBTED.items():
        if rows := [row for row in done if row.get("doubt") in doubted]:
            text = f"{len(rows)} of {len(done)} cells {caveat.texts[0]}: {cells_text(rows)}"
            caveats.append(caveat._replace(texts=(text,), effect=f"{caveat.effect}: they are not ranked"))
    return caveats


def limit_findings(rows: Sequence[SummaryRow]) -> list[dict]:
    """Return the findings about times below their lower bound: one for every number of ranks and kind of bound.

    As `machine.finding` makes them, with their `ranks`.
    """
    passing = [row for row in competing(rows) if passes_limit(row)]
    return [
        {"ranks": ranks, **_limit_finding(kind, of_kind)}
        for ranks in sorted({row["ranks"] for row in passing})
        for kind in LIMITS
        if (of_kind := [row for row in passing if row["ranks"] == ranks and row["limit_by"] == kind])
    ]


def _limit_finding(kind: str, passing: Sequence[SummaryRow]) -> dict:
    """Return the finding about rows of one number of ranks, at least one, all with times below the lower bound."""
    faster, causes, advice = BOUNDS[kind]
    most = max((row["limit_s"] or 0.0) / time_of(row) for row in passing)
    link = f" ({passing[0].get('link')})" if kind == LINKS else ""
    text = f"faster than {faster}{link}, up to {three_digits(most)} times: {cells_text(passing)}"
    noise = "" if any(map(refutes_limit, passing)) else "the intervals contain the lower bound, so this may be noise; "
    return finding(CODE, "caution", text, f"no efficiency above 100 % is given; {noise}likely causes: {causes}", advice)
