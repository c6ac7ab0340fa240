"""Result folders of PICO."""

import csv
import re
import shutil
import tarfile
import warnings
from pathlib import Path

import pytest
from pico_archives import study
from places import DATA

from allreduce_bench.importers import Asked, LogError, LogNote, LogUnread, points, read

SYSTEMS = DATA / "pico"
FUGAKU = SYSTEMS / "fugaku" / "2025_03_27___04_01_47.tar.gz"
LUMI = SYSTEMS / "lumi" / "2025_03_28___00_20_34.tar.gz"


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
        rows = {row.competitor: row for row in read(path)}
        ring, other = rows["ring_over"], rows["rabenseifner_over_16384"]
        assert (ring.ranks, ring.nodes, ring.count, ring.size_bytes, ring.dtype) == (32, 8, 64, 256, "int32")
        assert (other.count, other.size_bytes, other.dtype, other.op) == (512, 4096, "int64", "sum")
        assert (ring.system, len(ring.times_s), ring.warmups) == ("fugaku", 10, 2)
        assert (ring.time_s, other.time_s) == pytest.approx((2003.5e-9, 3003.5e-9))
    assert read(test / "64_ring_over_int32.csv")[0].ranks == 32


def test_a_pico_folder_of_another_collective_or_a_damaged_one_is_refused(tmp_path):
    test = pico(tmp_path, "ALLGATHER")
    with pytest.raises(LogError, match="metadata name"):
        read(test)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="holds no file"):
        read(tmp_path / "empty")
    (tmp_path / "results" / "fugaku_metadata.csv").unlink()
    (test / "64_ring_over_int32.csv").write_text("highest\n10\nten\n")
    with pytest.warns(LogUnread, match="the time is 'ten', expected.*number of 0") as unread:
        assert {row.competitor for row in read(test)} == {"rabenseifner_over_16384"}
    assert unread[0].message.path == str(test / "64_ring_over_int32.csv")
    (test / "512_rabenseifner_over_16384_int64.csv").unlink()
    with pytest.raises(LogError, match="the time is 'ten', expected.*number of 0"):
        read(test)


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogNote")
def test_archives_of_two_systems_are_read_as_they_lie(capsys):
    rows = read(SYSTEMS)
    assert {(row.system, row.ranks, row.nodes, row.library) for row in rows} == {
        ("fugaku", 512, 512, "FJMPI 4.0.1, libbine 1.0.0"),
        ("lumi", 2048, 37, "CRAY_MPICH 8.1.29, libbine 1.0.0"),
    }
    assert {row.files for row in rows} == {(str(FUGAKU),), (str(LUMI),)}
    assert study(SYSTEMS, DATA / "pico_published.csv") == 0  # the cells and times that were published of them
    assert "in both" in capsys.readouterr().out
    assert set(points(SYSTEMS)["run"]) == {"fugaku, 1 rank per node", "lumi, ranks per node unknown"}
    assert {row.system for row in read(SYSTEMS, Asked(where={"system": "lumi"}))} == {"lumi"}


def test_a_file_that_ends_with_its_average_has_no_warmups():
    with open(DATA / "pico_published.csv", newline="") as file:
        medians = {row["algorithm"]: float(row["median_s"]) for row in csv.DictReader(file)}
    for row in read(FUGAKU):
        assert row.warmups == 0 and row.time_s == pytest.approx(medians[row.competitor])
    with pytest.warns(LogNote, match="2048 ranks.*2072; taken: 2048"):
        assert {row.warmups for row in read(LUMI)} == {1, 4}  # of 5 and 20


@pytest.mark.parametrize("trailer", ["-> Buffer: 0.5 Gib\nAverage runtime: 0.000038\n", "Average runtime: 0.000038"])
def test_words_below_the_times_end_the_table(trailer, tmp_path):
    path = tmp_path / "8_ring_int32.csv"
    path.write_text(f"highest\n1000\n3000\n2000\n{trailer}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path)[0].times_s == pytest.approx((1e-6, 3e-6, 2e-6))


def test_a_summary_stands_for_metadata_and_nothing_stands_for_both(tmp_path):
    for source in (FUGAKU, LUMI):
        shutil.copy(source, tmp_path)
    with pytest.warns(LogUnread, match=r"2\) are all-reduces"):
        assert {row.system for row in read(tmp_path)} == {"fugaku"}
    with pytest.raises(LogError, match=re.escape(f"{tmp_path / LUMI.name}: neither")):
        read(tmp_path / LUMI.name)


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogNote")
def test_an_archive_that_is_unpacked_beside_is_read_once(tmp_path):
    shutil.copytree(SYSTEMS, tmp_path / "results")
    lumi = tmp_path / "results" / "lumi"
    with tarfile.open(lumi / LUMI.name) as file:
        file.extractall(lumi, filter="data")
    with pytest.warns(LogUnread, match="unpacked beside"):
        rows = read(lumi)
    assert len(rows) == 3 and all(row.ranks == 2048 for row in rows)
    assert len(read(lumi / "2025_03_28___00_20_34" / "0")) == 3  # alloc.csv is a folder up


def test_series_of_several_libraries_are_apart(tmp_path):
    head = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version\n"
    lines = [f"day{number},0,2,1,ALLREDUCE,OMPI,4.1.{number}\n" for number in (5, 6)]
    (tmp_path / "leonardo_metadata.csv").write_text(head + "".join(lines))
    for number in (5, 6):
        test = tmp_path / "leonardo" / f"day{number}" / "0"
        test.mkdir(parents=True)
        (test / "8_ring_int32.csv").write_text(f"highest\n{number}000\n")
    series = "leonardo, 1 rank per node, OMPI 4.1"
    assert set(points(tmp_path)["run"]) == {f"{series}.5", f"{series}.6"}
    assert len(read(tmp_path, Asked(where={"library": "*4.1.5"}))) == 1


def test_a_damaged_metadata_file_costs_itself(tmp_path):
    test = pico(tmp_path)
    (tmp_path / "results" / "lumi_metadata.csv").write_bytes(b"\0")
    with pytest.warns(LogUnread, match="binary"):
        assert len(read(test)) == 2


def test_a_name_without_a_type_is_refused(tmp_path):
    test = pico(tmp_path)
    (test / "64_collnetchain.csv").write_text("highest\n5000\n")
    with pytest.warns(LogUnread, match="64_collnetchain.csv: the name .* rename it; left out"):
        assert len(read(test)) == 2
