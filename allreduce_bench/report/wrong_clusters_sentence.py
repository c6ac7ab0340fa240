"""Sentences about wrong results that cluster at one size, or at one number of bytes per rank."""

from collections.abc import Iterable
from fractions import Fraction

from ..evaluation.agreement import SIZE, WrongCluster, wrong_clusters
from ..evaluation.summary_row import SummaryRow
from ..units import SUFFIXES, format_size


def cluster_sentences(rows: Iterable[SummaryRow]) -> list[str]:
    """A sentence for each cluster: `16 of 31 wrong results at n/p = 1 MiB exactly, ...`."""
    return [_sentence(cluster) for cluster in wrong_clusters(rows)]


def _sentence(cluster: WrongCluster) -> str:
    size = format_size(float(cluster.nbytes))
    number, unit = size.split()
    exactly = (
        " exactly" if Fraction(number) * SUFFIXES[unit.removesuffix("iB").removesuffix("B")] == cluster.nbytes else ""
    )
    where = f"at a size of {size}" if cluster.kind == SIZE else f"at n/p = {size}{exactly}"
    share = f"{cluster.checked} of {cluster.all_checked} results were checked"
    return (
        f"{cluster.wrong} of {cluster.all_wrong} wrong results are {where} ({share} there): {_rarity(cluster.p_value)}"
    )


def _rarity(p_value: float) -> str:
    words = "below 0.0001 %" if p_value < 1e-6 else f"about {100 * p_value:.2g} %"
    return f"the probability of this by chance is {words}"
