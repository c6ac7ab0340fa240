"""A log as the frame that fits read."""

import pandas as pd
import pytest
from has_message import message_pattern
from made_logs import US
from places import LOGS

from allreduce_bench.importers import Asked, LogWarning, points
from allreduce_bench.models.points import POINTS


def test_points_have_the_columns_of_a_fit_and_miss_what_a_log_does_not_say():
    found = points(LOGS / "osu_v5.6.2_stackhpc_csd3.txt")
    assert tuple(found) == POINTS
    assert found[["ranks", "nodes", "dtype", "segment", "calls"]].isna().all(axis=None)
    assert found["time_s"].iloc[0] == pytest.approx(5.23 * US) and found["nbytes"].dtype == "Int64"
    full = points(LOGS / "osu_v7.4_2ranks_case2.txt", Asked(ranks=2))
    assert set(full["run"]) == {"osu_v7.4_2ranks_case2.txt"} and list(full["calls"])[-1] == 100
    assert isinstance(full, pd.DataFrame) and set(full["ranks"]) == {2}


def test_points_leave_out_what_has_no_time_and_say_so(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("ranks,nbytes,time_us\n2,8,1.5\n2,16,0\n2,32,nan\n")
    with pytest.warns(
        LogWarning, match=message_pattern("importers.rows_no_time_first", every_count=2, every_count_2=3, line=3)
    ):
        found = points(path)
    assert found["nbytes"].tolist() == [8]
