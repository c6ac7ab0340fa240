"""`osu`: programs written for OSU read it right, and do not take it for a log of OSU."""

import pytest
from made_results import of, tables_of
from page_readers import osu_datatype, osu_latency, osu_version

from allreduce_bench.report.formats import FORMATS


def test_reframe_and_ramble_read_the_osu_layout(rows_and_result):
    rows, result = rows_and_result
    text = FORMATS["osu"](result)
    for row in of(rows, "native", 4):  # the first table is what they find
        assert osu_latency(text, row["size_bytes"]) == pytest.approx(row["time_s"] * 1e6, abs=0.006)
    assert (osu_version(text), osu_datatype(text)) == ("v7.4", "MPI_FLOAT")
    for (algorithm, ranks), table in tables_of(text).items():
        for row in of(rows, algorithm, int(ranks)):
            if row["time_s"] is not None:
                (line,) = [line for line in table.splitlines() if line.startswith(f"{row['size_bytes']} ")]
                _, avg, least, most, iterations = map(float, line.split())
                expected = [row[key] * 1e6 for key in ("time_s", "min_s", "max_s")]
                assert [avg, least, most] == pytest.approx(expected, abs=0.006)
                assert iterations == row["repetitions"]


def test_the_osu_layout_does_not_pass_for_osu(rows_and_result):
    """Nothing but a comment's first words is OSU's banner, and what stands in its columns is said before them."""
    text = FORMATS["osu"](rows_and_result[1])
    assert text.index(
        "# Avg Latency holds the median over launches of the median over repetitions of the maximum over ranks, where"
    ) < text.index("# OSU")
    banners = [line for line in text.splitlines() if line.startswith("# OSU MPI Allreduce Latency Test")]
    assert len(banners) == 6 and all("# OSU" in line for line in banners)
