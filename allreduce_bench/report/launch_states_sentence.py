"""Bimodal launches: sentences on which, where, how often, and how the gap behaves."""

from collections.abc import Sequence

from ..evaluation.environment import LOGS, LaunchDifference
from ..evaluation.launch_states import (
    CHANGING,
    CONSTANT_DELAY,
    CONSTANT_RATIO,
    CONSTANT_TIME,
    FEWEST_LAUNCHES,
    StatesOfSeries,
    series_in_states,
)
from ..evaluation.summary_row import LaunchStates, SummaryRow
from ..stats import median
from ..units import few, format_size, format_time, in_ranks

ALIKE = 1.15  # times whose ratio is less are printed as one
MOST_LAUNCHES = 5  # launches
MOST_CAUSES, MOST_VALUES, WIDEST = 4, 3, 60  # named; values of each; letters of a value
TIMER, BANDWIDTH, NEITHER = (
    ", which indicates a timer, not a bandwidth",
    ", which indicates a bandwidth or a clock frequency, not a timer",
    "; neither a timer nor a bandwidth alone explains this",
)


def launch_states_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """Return a sentence for each series of a run whose launches are bimodal."""
    return [_told(series) for series in series_in_states(rows) if not series.suspected]


def suspicion_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """Return a sentence for each series that may be bimodal, but has too few launches to decide."""
    return [_suspected(series) for series in series_in_states(rows) if series.suspected]


def _told(series: StatesOfSeries) -> str:
    states = [states for row in series.rows if (states := row.get("launch_states"))]
    low, high = (_times_text([getattr(each, name) for each in states]) for name in ("low_s", "high_s"))
    low_launches, high_launches = _launches_texts(states)
    return (
        f"{_series_text(series)}: launches are bimodal {_sizes_text(series)}: two levels: {low} ({low_launches}) and "
        f"{high} ({high_launches}): {_gap_text(series, states)}{_elsewhere(series)}"
    )


def _suspected(series: StatesOfSeries) -> str:
    launches = series.rows[0].get("suspected_states")
    return (
        f"{_series_text(series)}: launches may be bimodal {_sizes_text(series)}; {launches} launches are too few to "
        f"decide, {FEWEST_LAUNCHES} are needed"
    )


def _series_text(series: StatesOfSeries) -> str:
    """Return `ring at 352 ranks`."""
    row = series.rows[0]
    return f"{row['competitor']} at {in_ranks([row['ranks']])}"


def _sizes_text(series: StatesOfSeries) -> str:
    """Return `from 4 KiB to 1 MiB`, `at 8 B, 64 B`; `except` names the sizes in between that are not bimodal."""
    sizes = [row["size_bytes"] for row in series.rows]
    if len(sizes) <= 2:
        return f"at {', '.join(map(format_size, sizes))}"
    between = [size for size in series.sizes if sizes[0] < size < sizes[-1] and size not in sizes]
    but = f" except {', '.join(map(format_size, between))}" if between else ""
    return f"from {format_size(sizes[0])} to {format_size(sizes[-1])}{but}"


def _times_text(times_s: Sequence[float]) -> str:
    """Return `9.77 ms`, or `0.39 ms to 1.55 ms` where the times of the sizes differ."""
    low_s, high_s = min(times_s), max(times_s)
    return format_time(median(times_s)) if high_s < ALIKE * low_s else f"{format_time(low_s)} to {format_time(high_s)}"


def _launches_texts(states: Sequence[LaunchStates]) -> tuple[str, str]:
    """Return `1 of 5 launches: 4` and `4 of 5`; `2 to 3 of 5 launches` where the sizes differ."""
    all_of = [len(each.low_launches) + len(each.high_launches) for each in states]
    met = {"low": [len(each.low_launches) for each in states], "high": [len(each.high_launches) for each in states]}
    rarer = "low" if sum(met["low"]) < sum(met["high"]) else "high"
    named = {getattr(each, f"{rarer}_launches") for each in states}
    texts = {}
    for state, counts in met.items():
        text = f"{_span_text(counts)} of {_span_text(all_of)}"
        if state == rarer:
            numbers = [name.rpartition("-")[2] for name in named.pop()] if len(named) == 1 else []
            text += " launches" + (f": {', '.join(numbers)}" if 0 < len(numbers) <= MOST_LAUNCHES else "")
        texts[state] = text
    return texts["low"], texts["high"]


def _span_text(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _gap_text(series: StatesOfSeries, states: Sequence[LaunchStates]) -> str:
    """Describe how the gap depends on the size, and its cause: what differs between the launches, else the typical
    cause.

    So no timer is suspected if launches of the two levels were set up differently.
    """
    ratios = [each.high_s / each.low_s for each in states]
    later_s = median(each.high_s - each.low_s for each in states)
    first, last = (format_size(series.rows[index]["size_bytes"]) for index in (0, -1))
    slow = format_time(median(each.high_s for each in states))
    texts = {
        CONSTANT_TIME: (
            f"the slow level takes {slow} at every size",
            TIMER,
        ),
        CONSTANT_DELAY: (f"the slow level takes {format_time(later_s)} longer at every size", TIMER),
        CONSTANT_RATIO: (f"the slow level takes {median(ratios):.3g} times as long at every size", BANDWIDTH),
        CHANGING: (
            f"the slow level takes {ratios[0]:.3g} times as long at {first} and {ratios[-1]:.3g} times at {last}",
            NEITHER,
        ),
    }
    gap, cause = texts.get(states[0].gap, ("it is unclear whether the gap depends on the size", ""))
    causes = common_causes(states)
    return f"{gap}; {_causes_text(causes)}" if causes else f"{gap}{cause}"


def common_causes(states: Sequence[LaunchStates]) -> list[LaunchDifference]:
    """Return what differs between the launches of both states at all of these sizes."""
    first, *others = (each.differences for each in states)
    labels = [{difference.label for difference in each} for each in others]
    return [difference for difference in first if all(difference.label in each for each in labels)]


def _causes_text(causes: Sequence[LaunchDifference]) -> str:
    """Return `the likely cause is that the launches of both states differ in MPI library: A (fast) and B (slow)`.

    A log is named only if nothing else is known: it may be of one launch alone.
    """
    told = [cause for cause in causes if cause.label != LOGS.label]
    said = [
        f"{_values_text(cause.values[0])} (fast) and {_values_text(cause.values[1])} (slow)" for cause in told or causes
    ]
    if not told:
        return f"the launches of both levels are in different logs, {said[0]}: look there for what differs"
    labelled = (f"{cause.label}: {values}" for cause, values in zip(told, said))
    named = few(labelled, MOST_CAUSES, comma="; in ", more="; and {more} more")
    return f"the likely cause is that the launches of both levels differ in {named}"


def _values_text(values: Sequence[str]) -> str:
    shown = (value if len(value) <= WIDEST else f"{value[: WIDEST - 3]}..." for value in values)
    return few(shown, MOST_VALUES, more=", {more} more")


def _elsewhere(series: StatesOfSeries) -> str:
    first, last = series.rows[0]["size_bytes"], series.rows[-1]["size_bytes"]
    places = [f"below {format_size(first)}"] if series.sizes[0] < first else []
    places += [f"above {format_size(last)}"] if series.sizes[-1] > last else []
    return f"; one level {' and '.join(places)}" if places else ""
