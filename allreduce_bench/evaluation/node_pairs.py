"""Find the node, or the link between two nodes, that is slower than its peers, by comparing pairs of nodes.

The nodes form a ring of pairs, so that each is measured with two others: a slow node makes both its pairs slow,
a slow link only one. All judgements are relative, so fewer than half of the pairs may be slow. The median over
pairs is the lower one of the two in the middle, so that one slow node among four does not define the median. Noise that
slows some launches names no node: a pair is slow only if its fastest launch is slow.
"""

from collections.abc import Sequence
from statistics import median_low
from typing import NamedTuple

from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_size, three_digits
from .summary_row import SummaryRow, competitor_of, time_of

SMALL, LARGE = 8, 4 << 20  # bytes, for the latency and the bandwidth
METRICS = {SMALL: "latency", LARGE: "bandwidth"}
ALGORITHMS = ("native", "ring")  # the faster one counts
NEEDED = 4  # pairs: with as many, one slow node does not move the median
Pair = tuple[str, str]


class PairTime(NamedTuple):
    """Times of the faster algorithm of one pair at one size, seconds: over all launches, and in the fastest launch."""

    time_s: float
    fastest_s: float


class MeasuredPair(NamedTuple):
    """One pair: its times at SMALL and LARGE, or why there are none."""

    pair: Pair
    times: dict[int, PairTime]
    failure: str = ""  # why there are no times, one line; empty where it was measured

    @property
    def name(self) -> str:
        """`n1+n2`, also the name of its run folder."""
        return "+".join(self.pair)


class JudgedPair(NamedTuple):
    """A pair, compared with the median over pairs."""

    measured: MeasuredPair
    ratios: dict[int, float]  # its times over the median ones; empty where it failed
    fastest: dict[int, float]  # the same of its fastest launch
    slow: frozenset[int]  # sizes at which it is slow; none where it failed
    at_times: frozenset[int]  # sizes at which only some of its launches are slow


def pairs_of(nodes: Sequence[str]) -> list[Pair]:
    """The ring (n1, n2), (n2, n3), … (nN, n1); two nodes make one pair. Raises ValueError for fewer, or one twice."""
    if len(nodes) < 2 or len(set(nodes)) < len(nodes):
        raise ValueError(f"expected two nodes or more, each once; found {', '.join(nodes) or 'none'}")
    return list(zip(nodes, [*nodes[1:], nodes[0]]))[: len(nodes) if len(nodes) > 2 else 1]


def measured_pair(pair: Pair, rows: Sequence[SummaryRow]) -> MeasuredPair:
    """The pair by the summary of its run, rows as `summary.summarise` gives them."""
    for row in rows:
        cell = f"{competitor_of(row)} {format_size(row['nbytes'])}"
        if row["state"] != "done":
            return MeasuredPair(pair, {}, f"{cell}: {row['state']}, {row['reason'] or 'reason unknown'}")
        if row["nodes"] != len(pair):
            return MeasuredPair(pair, {}, f"{cell}: expected one rank per node, found both ranks on one node")
    times = {}
    for size in METRICS:
        of_size = [row for row in rows if row["nbytes"] == size]
        times[size] = PairTime(min(map(time_of, of_size)), min(row["spread_low_s"] for row in of_size))
    return MeasuredPair(pair, times)


def judged_pairs(measured_pairs: Sequence[MeasuredPair], threshold: float) -> list[JudgedPair]:
    """Every pair compared with the median over those that did not fail.

    A pair is slow if its fastest launch exceeds the median by more than the threshold.
    """
    times_s = {size: [pair.times[size].time_s for pair in measured_pairs if not pair.failure] for size in METRICS}
    medians_s = {size: median_low(values) for size, values in times_s.items() if values}
    judged = []
    for pair in measured_pairs:
        ratios = {size: time.time_s / medians_s[size] for size, time in pair.times.items()}
        fastest = {size: time.fastest_s / medians_s[size] for size, time in pair.times.items()}
        slow, often_slow = (
            {size for size, ratio in sizes.items() if ratio > 1 + threshold} for sizes in (fastest, ratios)
        )
        judged.append(JudgedPair(pair, ratios, fastest, frozenset(slow), frozenset(often_slow - slow)))
    return judged


def slow_part_sentences(pairs: Sequence[JudgedPair]) -> list[str]:
    """A sentence for every node and every link that is slow or failed.

    A node is named when all its pairs are slow in the same way, or all failed; a bad pair without a named node is
    named as a link. If every pair failed, the nodes cannot be distinguished.
    """
    of_node: dict[str, list[JudgedPair]] = {}
    for pair in pairs:
        for node in pair.measured.pair:
            of_node.setdefault(node, []).append(pair)
    all_failed = all(pair.measured.failure for pair in pairs)
    named = [node for node, pairs_of_node in of_node.items() if not all_failed and _fail_or_slow_alike(pairs_of_node)]
    sentences = []
    for node in named:
        neighbours = {other for pair in of_node[node] for other in pair.measured.pair} - {node}
        doubt = "; both neighbours are named as well, so this node may be healthy" if neighbours <= set(named) else ""
        sentences.append(f"node {node}: {_describe_pairs(of_node[node])}{doubt}")
    bad = [pair for pair in pairs if pair.slow or pair.measured.failure]
    return sentences + [f"link {_describe_pairs([pair])}" for pair in bad if not set(pair.measured.pair) & set(named)]


def _fail_or_slow_alike(pairs: Sequence[JudgedPair]) -> bool:
    return all(pair.measured.failure for pair in pairs) or bool(frozenset.intersection(*(pair.slow for pair in pairs)))


def _describe_pairs(pairs: Sequence[JudgedPair]) -> str:
    """`n1+n2 has 1.92 times the median latency and 0.99 times the median bandwidth`, or why pairs failed."""
    if len({pair.measured.failure for pair in pairs}) == 1 and pairs[0].measured.failure:
        return f"{' and '.join(pair.measured.name for pair in pairs)} failed: {pairs[0].measured.failure}"
    descriptions = []
    for pair in pairs:
        latency, bandwidth = pair.ratios.get(SMALL, 0), 1 / pair.ratios.get(LARGE, 1)
        factors = three_digits(latency), three_digits(bandwidth)
        numbers = f"has {factors[0]} times the median latency and {factors[1]} times the median bandwidth"
        descriptions.append(
            f"{pair.measured.name} {f'failed: {pair.measured.failure}' if pair.measured.failure else numbers}"
        )
    return "; ".join(descriptions)


def undecided_sentences(pairs: Sequence[JudgedPair], threshold: float) -> list[str]:
    """One sentence about what too few pairs cannot show; none if there are enough pairs."""
    measured = [pair for pair in pairs if pair.ratios]
    if len(measured) >= NEEDED:
        return []
    if len(measured) <= 1:
        return ["slow nodes cannot be identified: fewer than two pairs have times; name four nodes or more"]
    sentence = (
        f"slow nodes cannot be identified: a slow node affects two of {len(measured)} pairs and thus the median; "
        "name four nodes or more"
    )
    for pair in measured if len(measured) == len(pairs) else ():
        other_pairs = [other for other in measured if other is not pair]
        third_node = next(node for node in other_pairs[0].measured.pair if node not in pair.measured.pair)
        if any(
            all(other.fastest[size] > pair.ratios[size] * (1 + threshold) for other in other_pairs) for size in METRICS
        ):
            sentence += f"; {pair.measured.name} is faster than both other pairs, so {third_node} may be slow"
    return [sentence]


def pair_table(pairs: Sequence[JudgedPair], screen: Screen = UNBOUNDED) -> list[str]:
    """The table of the pairs: the measured values, their ratio to the median over all pairs, and the state."""
    lines = [["pair", "latency us", "/ median", "busbw GB/s", "/ median", "state"]]
    for pair in pairs:
        fields = ["-"] * 4
        if pair.ratios:
            latency_s, busbw = (
                pair.measured.times[SMALL].time_s,
                LARGE / pair.measured.times[LARGE].time_s,
            )  # 2(p-1)/p is 1
            fields = [three_digits(latency_s * 1e6), f"{pair.ratios[SMALL]:.2f}"]
            fields += [f"{busbw / 1e9:.3g}", f"{1 / pair.ratios[LARGE]:.2f}"]
        lines.append([pair.measured.name, *fields, _describe_state(pair)])
    return fitted(columns_of(lines, left=(0, 5), text=5), screen)


def _describe_state(pair: JudgedPair) -> str:
    """`slow: latency; slow in some launches: bandwidth`."""
    sizes_by_word = {"slow": pair.slow, "slow in some launches": pair.at_times}
    parts = [
        f"{word}: {' and '.join(METRICS[size] for size in METRICS if size in sizes)}"
        for word, sizes in sizes_by_word.items()
        if sizes
    ]
    return "failed" if pair.measured.failure else "; ".join(parts) or "ok"
