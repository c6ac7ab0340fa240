"""Files of rccl-tests -x: JSON, CSV and a line each, of today and older; both halves, and counts that contradict."""

import pytest
from made_logs import log
from places import DATA

from allreduce_bench.importers import Asked, LogError, LogWarning, read

FIELD = DATA / "field_inputs"
NOW = (FIELD / "rccl_now.csv").read_text()
IN_PLACE = "native (in place)"


def times(rows) -> dict:
    return {(row.competitor, row.size_bytes): round(row.time_s * 1e6, 6) for row in rows}


@pytest.mark.parametrize("name", ["rccl_now.csv", "rccl_now.json"])
def test_in_place_is_a_competitor_of_its_own(name):
    rows = read(FIELD / name)
    assert times(rows).items() >= {("native", 1024): 11.2, (IN_PLACE, 1024): 11.1, ("native", 1048576): 60.5}.items()
    assert {(row.ranks, row.nodes, row.wrong, row.dtype, row.op) for row in rows} == {(2, 1, 0, "float32", "sum")}
    assert times(read(FIELD / name, Asked(in_place=True)))["native", 1024] == 11.1


@pytest.mark.parametrize("name", ["rccl.csv", "rccl_list.json", "rccl_fragments.json"])
def test_older_files_count_gpus(name):
    rows = read(FIELD / name)
    assert {(row.ranks, row.nodes, row.wrong) for row in rows} == {(4, None, 0)}
    assert times(rows) == {
        ("native", 1024): 19.18, (IN_PLACE, 1024): 19.9, ("native", 65536): 31.9, (IN_PLACE, 65536): 32.6,
    }  # fmt: skip


def test_a_list_that_is_cut_off_costs_its_last_row(tmp_path):
    text = (FIELD / "rccl_now.json").read_text()
    with pytest.warns(LogWarning, match="no whole row"):
        assert len(read(log(tmp_path, text[: text.index('"algBw":17.3')]))) == 2


def test_other_collectives_are_none(tmp_path):
    other = NOW.replace("AllReduce", "AllGather").partition("\n")[2]
    assert len(read(log(tmp_path, NOW + other))) == 4


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (",1,2,2,1,", ",2,2,2,1,", "2 nodes of 2 ranks are not 2 ranks"),
        (",1,2,2,1,", ",1,2,2,4,", "8 ranks, but busbw / algbw"),
        (",11.200000,", ",fast,", "the time is 'fast'"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(tmp_path, old, new, why):
    with pytest.raises(LogError, match=rf"a\.log, line \d+: {why}"):
        read(log(tmp_path, NOW.replace(old, new)))


def test_wrong_elements_make_a_cell_wrong(tmp_path):
    assert read(log(tmp_path, NOW.replace("0.091429,0\n", "0.091429,5\n")))[0].state == "wrong"
