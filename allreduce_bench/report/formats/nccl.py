"""`nccl`: the layout of nccl-tests' all_reduce_perf, for programs that read its log.

The four columns of one half are N/A in every row: a run is out of place, or with --in-place in place. They are there
since readers count columns from the right (SuperBench takes the sixth from the right, or the header's place counted
from there, because redop could be blank), so without them they would take another column for the out-of-place bus
bandwidth. A reader of the other half finds no number there, and shall not: a copy would be invented.

Between the header and the line of out-of-bounds values stand rows only, as in the original; cells without a time are
comment lines before it. A reader of a single table takes the last one: name one algorithm and one rank count for it.
"""

from ...evaluation.summary_row import SummaryRow, time_of
from ...runs.plan import Plan
from ...runs.schema import FAILED
from .result import Result, ResultTable, tables

TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64"}  # the names of nccl-tests
TYPES |= {"float16": "half", "bfloat16": "bfloat16"}
NOT_MEASURED = f"  {'N/A':>7}  {'N/A':>6}  {'N/A':>6}  {'N/A':>5}"
HEADER = (
    f"#{'out-of-place':>74}{'in-place':>31}          ",
    f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}" + "     time   algbw   busbw #wrong" * 2,
    f"#{'(B)':>11}{'(elements)':>14}{'(us)':>35}  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
)


def nccl(result: Result) -> str:
    """Return one table per rank count and algorithm; sizes in bytes, times in microseconds, GB/s = 10^9 bytes/s."""
    plan = result.plan
    lines = [
        f"# {result.run['program']}, in the layout of nccl-tests all_reduce_perf",
        f"# minBytes {min(plan.sizes)} maxBytes {max(plan.sizes)} warmup iters: {plan.warmups} validation: 1",
        "# time: the maximum over ranks, median of repetitions, median of launches;",
        f"#   nccl-tests divides the time of a loop by its length. This run is {plan.place}; the other half is N/A",
        f"# {result.library}, hosts: {' '.join(result.hosts)}",
    ]
    for table in tables(result):
        lines += _table_lines(table, plan)
    return "\n".join(lines) + "\n"


def _table_lines(table: ResultTable, plan: Plan) -> list[str]:
    return [
        "#",
        f"# {table.title}",
        *(f"# {why}" for why in table.missing),
        "#",
        *HEADER,
        *(_row_line(row, plan) for row in table.measured),
        f"# Out of bounds values : {_out_of_bounds(table)}",
        f"# Avg bus bandwidth    : {_mean_busbw(table)}",
    ]


def _row_line(row: SummaryRow, plan: Plan) -> str:
    wrong = "N/A" if row.get("wrong") is None else row["wrong"]
    busbw, algbw = row["busbw_bytes_per_s"] / 1e9, row["algbw_bytes_per_s"] / 1e9
    count = row["size_bytes"] // plan.itemsize
    head = f"{row['size_bytes']:>12}  {count:>12}  {TYPES[plan.dtype]:>8}  {plan.op:>6}  {-1:>6}"
    half = f"  {_microseconds(time_of(row)):>7}  {algbw:>6.2f}  {busbw:>6.2f}  {wrong:>5}"
    return head + (NOT_MEASURED + half if plan.in_place else half + NOT_MEASURED)


def _microseconds(time_s: float) -> str:
    """Return microseconds with as many decimals as nccl-tests."""
    us = time_s * 1e6
    return f"{us:.{0 if us >= 10000 else 1 if us >= 100 else 2}f}"


def _out_of_bounds(table: ResultTable) -> str:
    """Return the wrong elements over all cells, those without a time included; a refused cell fails without a count."""
    wrong = [count for row in table.rows if (count := row.get("wrong")) is not None]
    if any(row["state"] in FAILED for row in table.rows):
        return f"{sum(wrong)} FAILED"
    return "0 OK" if wrong else "N/A"


def _mean_busbw(table: ResultTable) -> str:
    """Return GB/s: the mean over the rows, as in nccl-tests."""
    values = [row["busbw_bytes_per_s"] / 1e9 for row in table.measured]
    return f"{sum(values) / len(values):.6g}" if values else "N/A"
