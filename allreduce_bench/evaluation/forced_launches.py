"""The launches in which the library is told to use algorithms, held against the untouched ones.

Telling it may disturb it: what is written stays in the process. So `native:default`, the library's own choice in those
launches, is held against `native`. Where one of the two is slower, the times of the forced algorithms
are not comparable with the untouched launches, and are not ranked. `native:default` never is.
"""

from collections.abc import Mapping, Sequence

from ..runs.competitor import FORCED_DEFAULT, NATIVE, Competitor
from ..runs.schema import FASTEST, SLOWER
from .doubts import OTHER_DEFAULT, REFERENCE
from .rounds import relation, times_by_round
from .summary_row import SummaryRow, time_of


def find_forced_doubts(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Return `doubt` of every row, and `default_ratio` where that is why a forced launch is not ranked.

    Rows have the doubts of `find_doubts`, which stay.
    """
    timed = [row for row in rows if row["time_s"] is not None]
    natives = {_place(row): row for row in timed if row["competitor"] == NATIVE}
    defaults = {_place(row): row for row in timed if row["competitor"] == FORCED_DEFAULT}
    pairs = {place: (defaults[place], natives[place]) for place in defaults if place in natives}
    ratios = {
        place: time_of(default) / time_of(native)
        for place, (default, native) in pairs.items()
        if relation(*(times_by_round(row["launch_medians"]) for row in (default, native))) in (SLOWER, FASTEST)
    }
    return [_forced_doubt(row, ratios) for row in rows]


def _forced_doubt(row: SummaryRow, ratios: Mapping[tuple[int, int], float]) -> SummaryRow:
    if row["time_s"] is not None and row["competitor"] == FORCED_DEFAULT:
        return {"doubt": REFERENCE}
    if row["time_s"] is not None and Competitor(row["competitor"]).is_forced and _place(row) in ratios:
        return {"doubt": row["doubt"] or OTHER_DEFAULT, "default_ratio": ratios[_place(row)]}
    return {"doubt": row["doubt"]}


def _place(row: SummaryRow) -> tuple[int, int]:
    """Return what times have in common that are compared."""
    return row["ranks"], row["size_bytes"]
