"""Launches on two levels, or one apart from all others: sentences on which, where, how far, and what may cause it."""

from collections import defaultdict
from collections.abc import Sequence

from ..evaluation.launch_states import StatesOfSeries, series_in_states
from ..evaluation.summary_row import LaunchStates, SummaryRow
from ..runs.cell import beside
from ..stats import median
from ..units import few, format_size, format_time, in_ranks, three_digits

ALIKE = 1.15  # times whose ratio is less are printed as one
MOST_LAUNCHES, MOST_SERIES = 5, 4  # named
MOST_CAUSES = 4  # named


def launch_states_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """Return a sentence for each series of a run whose launches are on two levels."""
    return [_levels_sentence(series) for series in series_in_states(rows) if not series.states[0].apart]


def launch_apart_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """Return a sentence for each launch of a run that is apart from all others."""
    series_of: dict[str, list[StatesOfSeries]] = defaultdict(list)
    for series in series_in_states(rows):
        if launch := series.states[0].apart:
            series_of[launch].append(series)
    timed = {(row["ranks"], row["competitor"]) for row in rows if row["time_s"]}
    return [
        _apart_sentence(launch, all_series, sum(ranks == all_series[0].rows[0]["ranks"] for ranks, _ in timed))
        for launch, all_series in series_of.items()
    ]


def _levels_sentence(series: StatesOfSeries) -> str:
    states, row = series.states, series.rows[0]
    low, high = (_times_text([getattr(each, name) for each in states]) for name in ("low_s", "high_s"))
    low_launches, high_launches = _launches_texts(states)
    ratios = _span([each.high_s / each.low_s for each in states])
    return (
        f"{row['competitor']} at {in_ranks([row['ranks']])}: launches are bimodal {_sizes_text(series)}: two levels: "
        f"{low} ({low_launches}) and {high} ({high_launches}), {ratios} times as long{_cause_text(states)}"
    )


def _apart_sentence(launch: str, all_series: Sequence[StatesOfSeries], competitors: int) -> str:
    """Return `launch 4 of 5 at 352 ranks: native is 6.26 to 25.3 times as fast as in the others from 4 KiB to ...`.

    Of several competitors that are all slower in it `every competitor takes 2.3 to 2.6 times as long as in the others`.
    """
    states = [each for series in all_series for each in series.states]
    launches = max(len(each.low_launches) + len(each.high_launches) for each in states)
    where = f"launch {_number(launch)} of {launches} at {in_ranks([all_series[0].rows[0]['ranks']])}"
    if len(all_series) == competitors > 1 and all(len(each.high_launches) == 1 for each in states):
        ratios = _span([each.high_s / each.low_s for each in states])
        return f"{where}: every competitor takes {ratios} times as long as in the others"
    return f"{where}: {few(map(_apart_text, all_series), MOST_SERIES, comma='; ')}{_cause_text(states)}"


def _apart_text(series: StatesOfSeries) -> str:
    ratios = _span([each.high_s / each.low_s for each in series.states])
    is_fast = len(series.states[0].low_launches) == 1
    words = f"is {ratios} times as fast as" if is_fast else f"takes {ratios} times as long as"
    return f"{series.rows[0]['competitor']} {words} in the others {_sizes_text(series)}"


def _span(ratios: Sequence[float]) -> str:
    """Return `6.26 to 25.3`, `2.00`."""
    return " to ".join(dict.fromkeys(map(three_digits, (min(ratios), max(ratios)))))


def _sizes_text(series: StatesOfSeries) -> str:
    """Return `from 4 KiB to 1 MiB`; `except` names the sizes in between that are not meant."""
    sizes = [row["size_bytes"] for row in series.rows]
    between = [size for size in series.sizes if sizes[0] < size < sizes[-1] and size not in sizes]
    but = f" except {', '.join(map(format_size, between))}" if between else ""
    return f"from {format_size(sizes[0])} to {format_size(sizes[-1])}{but}"


def _times_text(times_s: Sequence[float]) -> str:
    """Return `9.77 ms`, or `0.39 ms to 1.55 ms` where the times of the sizes differ."""
    low_s, high_s = min(times_s), max(times_s)
    return format_time(median(times_s)) if high_s < ALIKE * low_s else f"{format_time(low_s)} to {format_time(high_s)}"


def _launches_texts(states: Sequence[LaunchStates]) -> tuple[str, str]:
    """Return `1 of 5 launches: 4` and `4 of 5`; `2 to 3 of 5 launches` where the sizes differ."""
    low, high = ([getattr(each, name) for each in states] for name in ("low_launches", "high_launches"))
    all_of = _span_text([len(one) + len(other) for one, other in zip(low, high)])
    is_low_rarer = sum(map(len, low)) < sum(map(len, high))
    texts = []
    for launches, is_rarer in ((low, is_low_rarer), (high, not is_low_rarer)):
        same = [*launches[0]] if len({*launches}) == 1 and len(launches[0]) <= MOST_LAUNCHES else []
        named = f" launches{': ' if same else ''}{', '.join(map(_number, same))}" if is_rarer else ""
        texts.append(f"{_span_text(list(map(len, launches)))} of {all_of}{named}")
    return texts[0], texts[1]


def _number(launch: str) -> str:
    """Return `2` of `4r-2` and of `4r-2-forced`."""
    return beside(launch).rpartition("-")[2]


def _span_text(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _cause_text(states: Sequence[LaunchStates]) -> str:
    """Return what differs between the launches; empty if nothing is known to."""
    causes = common_causes(states)
    return f"; the fast and the slow launches differ in {few(causes, MOST_CAUSES)}" if causes else ""


def common_causes(states: Sequence[LaunchStates]) -> list[str]:
    """Return what differs between the launches of both states at all of these sizes."""
    first, *others = (each.differences for each in states)
    return [label for label in first if all(label in each for each in others)]
