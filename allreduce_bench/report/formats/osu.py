"""`osu`: the layout of `osu_allreduce -f`, for patterns written for it.

The columns are OSU's, their values are ours: OSU prints the mean over ranks of each rank's mean, and the minimum and
maximum of these means. Of each repetition only the maximum over ranks is kept here, so OSU's figures cannot be derived;
the comment lines say so. Cells without a time are comment lines, never a number.
"""

from ...evaluation.summary_row import time_of
from .result import Result, ResultTable, tables

DATATYPES = {"float32": "MPI_FLOAT", "float64": "MPI_DOUBLE", "int32": "MPI_INT32_T", "int64": "MPI_INT64_T"}
DATATYPES |= {"float16": "float16", "bfloat16": "bfloat16"}  # no MPI standard has a name for them


def osu(result: Result) -> str:
    """Return one table per rank count and algorithm; sizes in bytes, times in microseconds."""
    lines = [
        f"# {result.run['program']}, in the layout of osu_allreduce -f",
        "# Avg Latency holds the median over launches of the median over repetitions of the maximum over ranks, where",
        "#   osu_allreduce prints the mean over ranks of their means: expect other figures there",
        "# Min and Max Latency are the fastest and the slowest repetition (each the maximum over ranks), not rank",
        f"# {result.library}, op {result.plan.op}, {result.plan.place}, hosts: {' '.join(result.hosts)}",
    ]
    for table in tables(result):
        lines += _table_lines(table, DATATYPES[result.plan.dtype])
    return "\n".join(lines) + "\n"


def _table_lines(table: ResultTable, datatype: str) -> list[str]:
    """Return the lines of a table; patterns look for the banner at the start of a line: it begins a true sentence."""
    return [
        "#",
        f"# {table.title}",
        *(f"# {why}" for why in table.missing),
        "# OSU MPI Allreduce Latency Test v7.4 prints these columns; the figures are not its own, see above",
        f"# Datatype: {datatype}.",
        f"{'# Size':<10}{'Avg Latency(us)':>18}{'Min Latency(us)':>18}{'Max Latency(us)':>18}{'Iterations':>12}",
        *(
            f"{row['size_bytes']:<10}{_microseconds(time_of(row))}{_microseconds(row['min_s'])}{_microseconds(row['max_s'])}{row['repetitions']:>12}"
            for row in table.measured
        ),
    ]


def _microseconds(time_s: float) -> str:
    return f"{time_s * 1e6:>18.2f}"
