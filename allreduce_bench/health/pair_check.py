"""Judges the check of a folder: what was measured among others, and what of it was measured again, alone."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from .node_health import Health, health_of
from .node_pairs import PairTable, confirmed, tables_of_rows
from .pair_file import Asked, PairFolder, PairRow, failed_pairs, whole_pairs
from .pair_rounds import MOST_FOR_ALL

UNJUDGED_OF_VIRTUAL = ("latency",)  # virtual hosts share the cores of one machine


def health_of_rows(asked: Asked, rows: Sequence[PairRow], threshold: float, gone: Mapping[str, str]) -> Health:
    """Judge the rows of pairs that were measured beside others; `gone`: nodes none of whose pairs works, and why."""
    kept = [row for row in rows if not row.alone]
    whole, failed = whole_pairs(kept, asked), failed_pairs(kept)
    present = [name for name in asked.nodes if name not in gone]
    if len(present) <= MOST_FOR_ALL:
        pairs = combinations(asked.nodes, 2)
        failed |= {frozenset(pair): gone[name] for pair in pairs for name in pair if name in gone}
    else:
        failed |= {frozenset((name, present[0])): why for name, why in gone.items()}
    failed = {pair: why for pair, why in failed.items() if pair not in whole}
    unjudged = UNJUDGED_OF_VIRTUAL if asked.virtual_rates_bytes_per_s else ()
    tables = _tables(asked, whole.values())
    return health_of(tables, frozenset(whole) | failed.keys(), failed, threshold, unjudged)


def without_crowded(found: Health, asked: Asked, rows: Sequence[PairRow]) -> Health:
    """The same without suspects that are not slow when they are measured alone: many pairs may share an uplink."""
    alone = _tables(asked, whole_pairs([row for row in rows if row.alone], asked).values())
    results = tuple(confirmed(result, table, found.threshold) for result, table in zip(found.results, alone))
    before, after = (sum(len(r.slow_nodes) + len(r.slow_links) for r in rs) for rs in (found.results, results))
    return found._replace(results=results, cleared=before - after)


def health_of_folder(folder: PairFolder, threshold: float) -> Health:
    """Judge a kept check again. Raises RunError, OSError: there is none, or it is damaged."""
    asked, rows = folder.asked(), folder.rows()
    found = health_of_rows(asked, rows, threshold, {})
    if any(row.alone for row in rows):
        found = without_crowded(found, asked, rows)
    if len(asked.nodes) > MOST_FOR_ALL:
        return found
    tried = whole_pairs([row for row in rows if not row.alone], asked).keys() | found.failed.keys()
    return found._replace(left=len(asked.nodes) * (len(asked.nodes) - 1) // 2 - len(tried))


def _tables(asked: Asked, whole: Iterable[Sequence[PairRow]]) -> list[PairTable]:
    kept = [row for rows_of_pair in whole for row in rows_of_pair]
    return tables_of_rows(asked.nodes, kept, (asked.small_nbytes, asked.large_nbytes))
