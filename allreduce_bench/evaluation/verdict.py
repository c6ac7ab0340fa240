"""A summary in sentences: which algorithm at which size, by how much."""

from collections.abc import Sequence
from typing import NamedTuple

from ..stats import geometric_mean
from ..units import format_size, format_time, three_digits
from .summary import Summary, by_size

CLASSES = (("below 8 KiB", 0, 8 * 1024), ("8 KiB to 1 MiB", 8 * 1024, 1024**2), ("1 MiB and above", 1024**2, None))

NEGLIGIBLE = 1.05  # a ratio of times below which nobody is called the winner


class Verdict(NamedTuple):
    """The winner of one class of sizes at one rank count."""

    ranks: int
    sizes: str
    winner: str
    sentence: str


def verdicts(rows: Sequence[Summary]) -> list[Verdict]:
    """One verdict per rank count and class of sizes that was measured, with a warm cache if that was measured."""
    found, measured = [], by_size(rows)
    cache = "warm" if any(cache == "warm" for _, _, cache in measured) else "cold"
    measured = {key: group for key, group in measured.items() if key[2] == cache}
    for ranks in sorted({row["ranks"] for row in rows}):
        groups = {nbytes: group for (p, nbytes, _), group in measured.items() if p == ranks and p > 1 and nbytes}
        for label, low, high in CLASSES:
            chosen = {n: group for n, group in groups.items() if n >= low and (high is None or n < high)}
            if chosen:
                found.append(_verdict(ranks, label if cache == "warm" else f"{label}, cold cache", chosen))
    return found


def _verdict(ranks: int, label: str, groups: dict[int, list[Summary]]) -> Verdict:
    """The winner has the lowest geometric mean of time over the fastest time, among those measured at every size.

    Sizes at which fewer algorithms have a time than at others do not count, and whoever is clearly beaten at some size
    does not win.
    """
    most = max(map(len, groups.values()))
    groups = {nbytes: group for nbytes, group in groups.items() if len(group) == most}
    slowdown: dict[str, list[float]] = {}
    for group in groups.values():
        best = min(row["time_s"] for row in group)
        for row in group:
            slowdown.setdefault(row["algorithm"], []).append(row["time_s"] / best)
    score = {name: geometric_mean(values) for name, values in slowdown.items() if len(values) == len(groups)}
    if not score:
        return Verdict(ranks, label, "", "no algorithm was measured at every size")
    winner, *others = sorted(score, key=score.__getitem__)
    if any(_clearly_beaten(group, winner) for group in groups.values()):
        fastest = {nbytes: min(group, key=lambda row: row["time_s"]) for nbytes, group in sorted(groups.items())}
        return Verdict(ranks, label, "", f"no single winner: {_by_size(fastest)}")
    absent = ", ".join(name for name in slowdown if name not in score)
    tied = [name for name in others if _tied_throughout(groups, winner, name)]
    note = f" ({absent} not measured at every size)" if absent else ""
    return Verdict(ranks, label, winner, _sentence(winner, others, tied, score, groups) + note)


def _clearly_beaten(group: list[Summary], name: str) -> bool:
    """Whether the data tell another one of this size from `name`, and it is faster by more than is negligible."""
    best = min(group, key=lambda row: row["time_s"])
    own = next(row for row in group if row["algorithm"] == name)
    return own["rank_of_best"] not in ("best", "tie") and own["time_s"] > NEGLIGIBLE * best["time_s"]


def _by_size(fastest: dict[int, Summary]) -> str:
    """`native at 8 B, tree from 32 B to 4 KiB`: who is fastest where."""
    spans: list[tuple[str, int, int]] = []
    for nbytes, row in fastest.items():
        if spans and spans[-1][0] == row["algorithm"]:
            spans[-1] = (spans[-1][0], spans[-1][1], nbytes)
        else:
            spans.append((str(row["algorithm"]), nbytes, nbytes))
    return ", ".join(
        f"{name} at {format_size(low)}" if low == high else f"{name} from {format_size(low)} to {format_size(high)}"
        for name, low, high in spans
    )


def _tied_throughout(groups: dict[int, list[Summary]], winner: str, name: str) -> bool:
    """Whether intervals say at every size that the two cannot be told apart; too few calls say nothing."""
    return all(
        row["rank_of_best"] in ("best", "tie") and row["interval"] != "range"
        for group in groups.values()
        for row in group
        if row["algorithm"] in (winner, name)
    )


def _sentence(winner: str, others: list[str], tied: list[str], score: dict[str, float], groups) -> str:
    largest, average = max(groups), "on average " if len(groups) > 1 else ""
    row = next(row for row in groups[largest] if row["algorithm"] == winner)
    where = f"{format_time(row['time_s'])} at {format_size(largest)}"
    near = [name for name in others if name in tied or score[name] < NEGLIGIBLE * score[winner]]
    if "native" in near or (winner == "native" and near):
        rivals = [name for name in [winner, *near] if name != "native"]
        return f"no clear winner among native, {', '.join(rivals)}; {winner} takes {where}"
    if winner == "native":
        slower = three_digits(score[others[0]] / score[winner]) if others else ""
        next_best = f"; {others[0]} comes next, {average}{slower} times slower" if others else ""
        return f"native, the library's own, {where}{next_best}"
    tie = f" (as fast: {', '.join(near)})" if near else ""
    rival = "native" if "native" in score else next((name for name in others if name not in near), None)
    faster = f", {average}{three_digits(score[rival] / score[winner])} times faster than {rival}" if rival else ""
    return f"{winner}{tie}{faster}, {where}"
