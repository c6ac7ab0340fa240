"""Result folders of PICO."""

from pathlib import Path

import pytest
from has_message import message_pattern

from allreduce_bench.importers import LogError, LogUnread, read


def pico(folder: Path, collective: str = "ALLREDUCE") -> Path:
    """A result folder with ten calls of two algorithms; the first two are slow."""
    test = folder / "results" / "fugaku" / "2025_03_26" / "0"
    test.mkdir(parents=True)
    head = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version,MPI_Op\r\n"
    line = f"2025_03_26,0,2x2x2,4,{collective},FJMPI,4.0.1,MPI_SUM\r\n"
    (folder / "results" / "fugaku_metadata.csv").write_text(head + line)
    (test / "alloc.csv").write_text("MPI_Rank,allocation\n0,n1\n")
    for name, ns in (("64_ring_over_int32.csv", 2000), ("512_rabenseifner_over_16384_int64.csv", 3000)):
        calls = [90000, 80000, *(ns + number for number in range(8))]
        (test / name).write_text("highest,rank0\n" + "".join(f"{call},1\n" for call in calls))
    return test


def test_a_pico_folder_keeps_its_calls_without_the_first_fifth(tmp_path):
    test = pico(tmp_path)
    for path in (test, test.parent, tmp_path / "results"):
        rows = {row.algorithm: row for row in read(path)}
        ring, other = rows["ring_over"], rows["rabenseifner_over_16384"]
        assert (ring.ranks, ring.nodes, ring.count, ring.nbytes, ring.dtype) == (32, 8, 64, 256, "int32")
        assert (other.count, other.nbytes, other.dtype, other.op) == (512, 4096, "int64", "sum")
        assert (ring.executor, ring.system, ring.calls, ring.warmups) == ("imported", "fugaku", 8, 2)
        assert (ring.time_s, other.time_s) == pytest.approx((2003.5e-9, 3003.5e-9))
    assert read(test / "64_ring_over_int32.csv")[0].ranks == 32


def test_a_pico_folder_of_another_collective_or_a_damaged_one_is_refused(tmp_path):
    test = pico(tmp_path, "ALLGATHER")
    with pytest.raises(LogError, match=message_pattern("importers.metadata_name_no_reduce")):
        read(test)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="holds no file"):
        read(tmp_path / "empty")
    (tmp_path / "results" / "fugaku_metadata.csv").unlink()
    (test / "64_ring_over_int32.csv").write_text("highest\n10\nten\n")
    with pytest.warns(
        LogUnread, match=message_pattern("importers.expected_number_more", what="the time", text="'ten'")
    ) as unread:
        assert {row.algorithm for row in read(test)} == {"rabenseifner_over_16384"}
    assert unread[0].message.path == str(test / "64_ring_over_int32.csv")
    (test / "512_rabenseifner_over_16384_int64.csv").unlink()
    with pytest.raises(
        LogError, match=message_pattern("importers.expected_number_more", what="the time", text="'ten'")
    ):
        read(test)
