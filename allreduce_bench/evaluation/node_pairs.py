"""Which node, or which link between two nodes, is slower than its peers: pairs of nodes, held against each other.

The nodes form a ring of pairs, so that each is measured with two others: a node that is slow makes both its pairs slow,
a link only one. Nothing is judged by absolute numbers, so fewer than half of the pairs may be slow. The median over
pairs is the lower one of the two in the middle, so that one slow node among four is not its own measure. What only
slows some launches, such as noise, names nobody: a pair is slow where even its fastest launch is.
"""

from collections.abc import Sequence
from statistics import median_low
from typing import NamedTuple

from ..units import aligned, format_size, three_digits
from .summary_row import SummaryRow, time_of

SMALL, LARGE = 8, 4 << 20  # bytes, for the latency and the bandwidth
METRICS = {SMALL: "latency", LARGE: "bandwidth"}
ALGORITHMS = ("native", "ring")  # the faster one counts
NEEDED = 4  # pairs among which a slow node does not move the median
Pair = tuple[str, str]


class PairTime(NamedTuple):
    """Of one pair at one size the seconds of the faster algorithm: of all launches, and of the fastest launch."""

    time_s: float
    fastest_s: float


class MeasuredPair(NamedTuple):
    """One pair: its times at SMALL and LARGE, or why there are none."""

    pair: Pair
    times: dict[int, PairTime]
    why: str = ""  # one line; empty where it was measured

    @property
    def name(self) -> str:
        """`n1+n2`, also the name of its run folder."""
        return "+".join(self.pair)


class JudgedPair(NamedTuple):
    """A pair, held against the median over pairs."""

    one: MeasuredPair
    ratios: dict[int, float]  # its times over the median ones; empty where it failed
    fastest: dict[int, float]  # the same of its fastest launch
    slow: frozenset[int]  # sizes at which it is slow; none where it failed
    at_times: frozenset[int]  # sizes at which some of its launches are


def pairs_of(nodes: Sequence[str]) -> list[Pair]:
    """The ring (n1, n2), (n2, n3), … (nN, n1); two nodes make one pair. Raises ValueError for fewer, or one twice."""
    if len(nodes) < 2 or len(set(nodes)) < len(nodes):
        raise ValueError(f"expected two nodes or more, each once; found {', '.join(nodes) or 'none'}")
    return list(zip(nodes, [*nodes[1:], nodes[0]]))[: len(nodes) if len(nodes) > 2 else 1]


def measured_pair(pair: Pair, rows: Sequence[SummaryRow]) -> MeasuredPair:
    """The pair by the summary of its run, rows as `summary.summarise` gives them."""
    for row in rows:
        cell = f"{row['algorithm']} {format_size(row['nbytes'])}"
        if row["state"] != "done":
            return MeasuredPair(pair, {}, f"{cell}: {row['state']}, {row['reason'] or 'no reason is known'}")
        if row["nodes"] != len(pair):
            return MeasuredPair(pair, {}, f"{cell}: expected a rank on each node, but both share memory")
    times = {}
    for size in METRICS:
        of_size = [row for row in rows if row["nbytes"] == size]
        times[size] = PairTime(min(map(time_of, of_size)), min(row["spread_low_s"] for row in of_size))
    return MeasuredPair(pair, times)


def judged_pairs(found: Sequence[MeasuredPair], threshold: float) -> list[JudgedPair]:
    """Every pair against the median over those that did not fail.

    Slow is one whose fastest launch is above it by more than the share.
    """
    times_s = {size: [one.times[size].time_s for one in found if not one.why] for size in METRICS}
    medians_s = {size: median_low(values) for size, values in times_s.items() if values}
    result = []
    for one in found:
        ratios = {size: time.time_s / medians_s[size] for size, time in one.times.items()}
        fastest = {size: time.fastest_s / medians_s[size] for size, time in one.times.items()}
        slow, seldom_fast = ({size for size in of if of[size] > 1 + threshold} for of in (fastest, ratios))
        result.append(JudgedPair(one, ratios, fastest, frozenset(slow), frozenset(seldom_fast - slow)))
    return result


def judge(pairs: Sequence[JudgedPair]) -> list[str]:
    """A sentence for every node and every link that is slow or failed.

    A node is named when all its pairs are slow in the same way, or all failed; a pair none of whose nodes is, as a
    link. Where every pair failed nothing tells the nodes apart.
    """
    of_node: dict[str, list[JudgedPair]] = {}
    for pair in pairs:
        for node in pair.one.pair:
            of_node.setdefault(node, []).append(pair)
    nobody = all(pair.one.why for pair in pairs)
    named = [node for node, its in of_node.items() if not nobody and _all_alike(its)]
    sentences = []
    for node in named:
        neighbours = {other for pair in of_node[node] for other in pair.one.pair} - {node}
        doubt = "; both its neighbours are named, too, so it may be well" if neighbours <= set(named) else ""
        sentences.append(f"node {node}: {_words(of_node[node])}{doubt}")
    bad = [pair for pair in pairs if pair.slow or pair.one.why]
    return sentences + [f"link {_words([pair])}" for pair in bad if not set(pair.one.pair) & set(named)]


def _all_alike(pairs: Sequence[JudgedPair]) -> bool:
    return all(pair.one.why for pair in pairs) or bool(frozenset.intersection(*(pair.slow for pair in pairs)))


def _words(pairs: Sequence[JudgedPair]) -> str:
    """`n1+n2 has 1.92 of the median latency and 0.99 of the median bandwidth`, or why pairs failed, once for all."""
    if len({pair.one.why for pair in pairs}) == 1 and pairs[0].one.why:
        return f"{' and '.join(pair.one.name for pair in pairs)} failed: {pairs[0].one.why}"
    words = []
    for pair in pairs:
        latency, bandwidth = pair.ratios.get(SMALL, 0), 1 / pair.ratios.get(LARGE, 1)
        numbers = f"has {latency:.2f} of the median latency and {bandwidth:.2f} of the median bandwidth"
        words.append(f"{pair.one.name} {f'failed: {pair.one.why}' if pair.one.why else numbers}")
    return "; ".join(words)


def undecided(pairs: Sequence[JudgedPair], threshold: float) -> list[str]:
    """What so few measured pairs cannot tell, one sentence; none where they are enough."""
    known = [pair for pair in pairs if pair.ratios]
    if len(known) >= NEEDED:
        return []
    if len(known) <= 1:
        return ["not told: who is slow, since no two pairs could be held against each other; name four nodes or more"]
    words = f"not told: a slow node slows two of {len(known)} pairs, and so the median; name four nodes or more"
    for pair in known if len(known) == len(pairs) else ():
        others = [other for other in known if other is not pair]
        third = next(node for node in others[0].one.pair if node not in pair.one.pair)
        if any(all(other.fastest[size] > pair.ratios[size] * (1 + threshold) for other in others) for size in METRICS):
            words += f"; as {pair.one.name} is faster than both others, {third} may be slow"
    return [words]


def table(pairs: Sequence[JudgedPair]) -> list[str]:
    """The lines of the pairs: what was measured, that over the median of all pairs, and what it means."""
    lines = [["pair", "latency us", "of median", "busbw GB/s", "of median", "state"]]
    for pair in pairs:
        cells = ["-"] * 4
        if pair.ratios:
            latency_s, busbw = pair.one.times[SMALL].time_s, LARGE / pair.one.times[LARGE].time_s  # 2(p-1)/p is 1
            cells = [three_digits(latency_s * 1e6), f"{pair.ratios[SMALL]:.2f}"]
            cells += [f"{busbw / 1e9:.3g}", f"{1 / pair.ratios[LARGE]:.2f}"]
        lines.append([pair.one.name, *cells, _state(pair)])
    return aligned(lines, left=(0, 5))


def _state(pair: JudgedPair) -> str:
    """`slow: latency; slow at times: bandwidth`."""
    said = {"slow": pair.slow, "slow at times": pair.at_times}
    words = [
        f"{word}: {' and '.join(METRICS[size] for size in METRICS if size in of)}" for word, of in said.items() if of
    ]
    return "failed" if pair.one.why else "; ".join(words) or "ok"
