"""Test whether wrong results cluster at one size, or at one number of bytes per rank, more than by chance.

A result is that of one cell in one launch: right or wrong. Where wrong results fell on the checked ones by chance,
their number at a size would be hypergeometric. A cluster is a size, or a value of n/p, with so many that chance would
bring them to any of the values looked at in less than ALARM of all cases (Bonferroni, over both kinds of value).
Several runs are judged as one where their rows are given together. Standard library only.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from .summary_row import SummaryRow

ALARM = 0.01  # of sets of results whose wrong ones fell by chance: the share that is said to have a cluster, at most
FEWEST_WRONG = 3  # results: fewer are no cluster, wherever they are

KINDS = SIZE, BYTES_PER_RANK = "size", "n/p"


class WrongCluster(NamedTuple):
    """One value at which wrong results cluster."""

    kind: str  # SIZE or BYTES_PER_RANK
    nbytes: Fraction  # the value
    wrong: int  # results there
    checked: int
    all_wrong: int  # results everywhere
    all_checked: int
    p_value: float  # corrected for the number of values


def wrong_clusters(rows: Iterable[SummaryRow]) -> list[WrongCluster]:
    """The values at which wrong results cluster, the least likely one first; `rows` as `summarise` gives them.

    If a size and an n/p hold the same wrong results, only the less likely one is returned.
    """
    counted = [row for row in rows if row.get("checked_launches")]
    wrong, checked = Counter[tuple[str, Fraction]](), Counter[tuple[str, Fraction]]()
    for row in counted:
        for kind in KINDS:
            wrong[kind, _value(row, kind)] += row["wrong_launches"]
            checked[kind, _value(row, kind)] += row["checked_launches"]
    all_wrong = sum(row["wrong_launches"] for row in counted)
    all_checked = sum(row["checked_launches"] for row in counted)
    clusters = [
        WrongCluster(*value, number, checked[value], all_wrong, all_checked, p_value)
        for value, number in wrong.items()
        if number >= FEWEST_WRONG
        if (p_value := len(checked) * chance(number, checked[value], all_wrong, all_checked)) < ALARM
    ]
    told: list[WrongCluster] = []
    for cluster in sorted(clusters, key=lambda cluster: cluster.p_value):
        if not any(_results(counted, cluster) & _results(counted, other) for other in told):
            told.append(cluster)
    return told


def chance(wrong: int, checked: int, all_wrong: int, all_checked: int) -> float:
    """How often at least `wrong` of `all_wrong` results fall on `checked` of `all_checked`: hypergeometric."""
    ways = sum(
        comb(checked, number) * comb(all_checked - checked, all_wrong - number)
        for number in range(wrong, min(checked, all_wrong) + 1)
    )
    return float(Fraction(ways, comb(all_checked, all_wrong)))


def _value(row: SummaryRow, kind: str) -> Fraction:
    return Fraction(row["nbytes"], 1 if kind == SIZE else row["ranks"])


def _results(rows: Sequence[SummaryRow], cluster: WrongCluster) -> set[int]:
    """The numbers of the rows whose wrong results a cluster holds."""
    return {
        number
        for number, row in enumerate(rows)
        if row["wrong_launches"] and _value(row, cluster.kind) == cluster.nbytes
    }
