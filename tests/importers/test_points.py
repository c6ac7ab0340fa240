"""A log as the frame that fits read."""

import pandas as pd
import pytest
from made_logs import US
from places import LOGS

from allreduce_bench.importers import Asked, LogWarning, points
from allreduce_bench.importers.frame import points_of_logs
from allreduce_bench.models.points import POINTS


def test_points_have_the_columns_of_a_fit_and_miss_what_a_log_does_not_say():
    found = points(LOGS / "osu_v5.6.2_stackhpc_csd3.txt")
    assert tuple(found) == POINTS
    assert found[["ranks", "nodes", "dtype", "segment"]].isna().all(axis=None)
    assert found["time_s"].iloc[0] == pytest.approx(5.23 * US) and found["size_bytes"].dtype == "Int64"
    full = points(LOGS / "osu_v7.4_2ranks_case2.txt", Asked(ranks=2))
    assert set(full["run"]) == {"osu_v7.4_2ranks_case2.txt"}
    assert isinstance(full, pd.DataFrame) and set(full["ranks"]) == {2}


def test_points_leave_out_what_has_no_time_and_say_so(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("ranks,size_bytes,time_us\n2,8,1.5\n2,16,0\n2,32,nan\n")
    with pytest.warns(LogWarning, match="2 of 3 rows have.*line 3"):
        found = points(path)
    assert found["size_bytes"].tolist() == [8]


def test_two_logs_are_two_runs_and_so_are_two_libraries_of_one_system(tmp_path):
    for name, system, library in (("a", "", "X 1"), ("b", "lumi", "X 1"), ("c", "lumi", "X 2")):
        text = f"system,launch,ranks,size_bytes,time_us,library\n{system},1,2,8,1.5,{library}\n"
        (tmp_path / f"{name}.csv").write_text(text)
    a, b, c = points_of_logs({path: path.stem for path in sorted(tmp_path.iterdir())})
    assert set(a["run"]) == {"a"}
    layout = "ranks per node unknown"
    assert [*b["run"], *c["run"]] == [f"lumi, {layout}, X {version}" for version in (1, 2)]
    assert len({*a["launch"], *b["launch"], *c["launch"]}) == 3  # "1" of another file is another launch
