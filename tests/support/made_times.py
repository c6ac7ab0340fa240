"""Calls of made cells, and their rows as evaluation makes them of the files of a run."""

from collections.abc import Mapping, Sequence

import pandas as pd

from allreduce_bench.evaluation.frames import OF_MARK, cells_of, medians_of, rows_of
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.runs.schema import CALLS, names

MadeCell = tuple[int, str, int]  # ranks, competitor, bytes
KINDS = {"call": "Int64", "warmup": "boolean", "valid": "boolean", "ranks": "Int64", "size_bytes": "Int64"}


def made_calls(rows: Sequence[Mapping]) -> pd.DataFrame:
    """Calls as `read_calls` returns them; one is valid and no warm-up unless it says so."""
    usual = {"launch": "2r-1", "attempt": 1, "ranks": 2, "competitor": "ring", "size_bytes": 8}
    made = [{**usual, "call": number, "warmup": False, "valid": True, **row} for number, row in enumerate(rows)]
    calls = pd.DataFrame(made, columns=["launch", "attempt", "ranks", *names(CALLS)])
    times = {name: "float64" for name in names(CALLS) if name.endswith("_s")}
    return calls.astype(KINDS | times)


def made_medians(calls: pd.DataFrame) -> pd.DataFrame:
    """The medians of these calls, each cell of a launch with a mark that says it was done."""
    places = calls[["ranks", "competitor", "size_bytes", "launch"]].drop_duplicates().astype(str).to_dict("records")
    mark = dict.fromkeys(OF_MARK, "") | {"time_definition": "max_local", "state": "done"}
    return medians_of(calls, [{**mark, **place} for place in places])


def rows_of_times(times_s: Mapping[MadeCell, Mapping[str, Sequence[float]]]) -> dict[MadeCell, SummaryRow]:
    """The columns of each cell by the times of its calls in each launch."""
    calls = made_calls(
        [
            {
                "ranks": ranks,
                "competitor": name,
                "size_bytes": size,
                "launch": launch,
                "time_s": time_s,
                "call": call,
            }
            for (ranks, name, size), launches in times_s.items()
            for launch, of_launch in launches.items()
            for call, time_s in enumerate(of_launch)
        ]
    )
    medians = made_medians(calls)
    return rows_of(cells_of(medians, calls), medians)  # type: ignore
