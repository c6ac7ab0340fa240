"""A training step at two bandwidths beside each other: what the second one buys, and whether a bucket cap does it."""

from collections.abc import Sequence

from ..report.bandwidths import difference_of
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_size, format_time, in_ranks
from .result import Result
from .step import Variant
from .tables import OR_MORE, OR_MORE_NOTE


def comparison_text(results: Sequence[Result], rates: Sequence[float], screen: Screen = UNBOUNDED) -> str:
    """Return the steps of two results, which differ in their bandwidth, side by side, and the answer last."""
    before, after = results
    head = [
        f"{before.title}: a step at two bandwidths, modelled, nothing measured",
        *(f"all-reduces: {each.source}" for each in results),
    ]
    table = fitted(columns_of(_rows(before, after)), screen)
    answers = [_gain_sentence(before, after)]
    if before.variants:
        slow, fast = (before, after) if rates[0] < rates[1] else (after, before)
        answers.append(cap_sentence(slow, fast))
    if any(outcome.is_lower_bound for each in results for outcome in each.outcomes):
        answers.append(OR_MORE_NOTE)
    return "\n\n".join("\n".join(lines) for lines in (wrapped(head, screen), table, wrapped(answers, screen)))


def _rows(before: Result, after: Result) -> list[list[str]]:
    rows = [["ranks", before.network, "exposed", after.network, "exposed", "difference", "share"]]
    for pair in zip(before.outcomes, after.outcomes):
        shown = []
        for outcome in pair:
            mark = OR_MORE if outcome.is_lower_bound else ""
            shown += [format_time(outcome.time_line.step_s) + mark, format_time(outcome.time_line.exposed_s)]
        times = [outcome.time_line.step_s for outcome in pair]
        rows.append([str(pair[0].ranks), *shown, *difference_of(*times)])
    return rows


def _gain_sentence(before: Result, after: Result) -> str:
    """Say what the second bandwidth changes on the largest number of ranks."""
    first, second = (each.outcomes[-1].time_line.step_s for each in (before, after))
    difference, share = difference_of(first, second)
    ranks = in_ranks([before.outcomes[-1].ranks])
    return (
        f"{before.title} on {ranks}: {after.network} instead of {before.network} makes a step {format_time(second)} "
        f"instead of {format_time(first)}: {difference} ({share})."
    )


def cap_sentence(slow: Result, fast: Result) -> str:
    """Say which bucket cap makes the step as short at the lower bandwidth, or that none of those tried does."""
    tried = [one for one in slow.variants if one.algorithm == slow.variants[0].algorithm and one.step_s is not None]
    if not tried:
        return f"At {slow.network} no bucket cap has a known time."
    goal_s, best = fast.outcomes[-1].time_line.step_s, min(tried, key=_step_s)
    best_cap, best_s, goal = format_size(best.cap_nbytes), format_time(_step_s(best)), format_time(goal_s)
    if _step_s(best) <= goal_s:
        return f"At {slow.network} a bucket cap of {best_cap} does as much: {best_s}, with {fast.network} {goal}."
    least, most = (format_size(end(one.cap_nbytes for one in tried)) for end in (min, max))
    return (
        f"At {slow.network} no bucket cap from {least} to {most} does as much: the best, {best_cap}, takes {best_s}, "
        f"with {fast.network} {goal}."
    )


def _step_s(variant: Variant) -> float:
    return variant.step_s or 0.0
