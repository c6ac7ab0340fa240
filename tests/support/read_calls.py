"""The calls of a run as rows of text, for tests that look at single ones."""

import csv
import io
from collections.abc import Iterator

from allreduce_bench.runs.folder import KEY, RunFolder
from allreduce_bench.runs.schema import CALLS, names


def calls_of(folder: RunFolder) -> Iterator[dict[str, str]]:
    """The columns of CALLS of each call of finished cells, with launch, attempt, ranks and the key of the cell."""
    for mark, rows in folder.calls():
        of_cell = {name: mark[name] for name in ("launch", "attempt", "ranks", *KEY)}
        yield from ({**of_cell, **call} for call in csv.DictReader(io.StringIO(rows.decode()), names(CALLS)))
