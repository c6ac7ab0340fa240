"""The summary has every column, and flags are numbers."""

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import summary_lines, write_summary
from allreduce_bench.runs.schema import SUMMARY, names


def test_a_summary_has_every_column_and_flags_as_numbers(tmp_path):
    folder = RunFolder(tmp_path)
    rows = [{"competitor": "ring", "oversubscribed": True, "time_s": None}]
    header, values = summary_lines(rows)
    row = dict(zip(header, values))
    assert header == names(SUMMARY)
    assert (row["competitor"], row["oversubscribed"], row["time_s"], row["op"]) == ("ring", 1, "", "")
    write_summary(folder, rows)
    assert folder.summary_csv.read_text().splitlines()[0] == ",".join(header)
