"""Any log: what stands in every file of data/logs, counted by hand, and what logs do to their readers."""

import json
import random
import re

import pytest
from made_logs import CSV, IMB, NCCL, OSU, OTHER, US, log, nccl_json, result, times
from places import DATA, LOGS

from allreduce_bench.importers import Asked, LogError, LogWarning, read, recognise

K, M, G = 1024, 1024**2, 1024**3
CASES = {  # file -> rows, {ranks: nodes}, first and last size, first and last time in us, type, definition
    "imb_2021.11_check_defects_2ranks.txt": (12, {2: None}, 0, 4 * K, 0.18, 139.81, "float32", "imb_t_max"),
    "imb_2021.11_real_4ranks_npmin2.txt": (32, {2: None, 4: None}, 0, 64 * K, 0.27, 143391.81, "float32", "imb_t_max"),
    "nccl_allreduce_old_error_col.log": (34, {8: 1}, 0, 8 * G, 35.20, 63896, "float32", "nccl_tests"),
    "nccl_cscs_alps_8xGH200_no_hook_bad.txt": (25, {8: 2}, 8, 128 * M, 85.47, 43293, "float32", "nccl_tests"),
    "nccl_cscs_alps_8xGH200_ofi_hook_good.txt": (25, {8: 2}, 8, 128 * M, 17.93, 1916.4, "float32", "nccl_tests"),
    "nccl_msccl_leaderboard_headerless.txt": (19, {8: None}, 128, 32 * M, 15.03, 379.5, "float32", "nccl_tests"),
    "osu_v5.6.2_stackhpc_csd3.txt": (19, {None: None}, 4, M, 5.23, 1570.95, None, "osu_avg"),
    "osu_v5.8_cuda_flux_16nodes.txt": (19, {128: 16}, 4, M, 337.07, 3982.10, None, "osu_avg"),
    "osu_v5.8_eks_256nodes_24576ranks.out": (19, {24576: 256}, 4, M, 4162.54, 17038.19, None, "osu_avg"),
    "osu_v7.4_2ranks_case1.txt": (15, {None: None}, 4, 64 * K, 1.05, 601.88, "char", "osu_avg"),
    "osu_v7.4_2ranks_case2.txt": (15, {None: None}, 4, 64 * K, 1.15, 21537.05, "char", "osu_avg"),
    "osu_v7.4_2ranks_case3.txt": (15, {None: None}, 4, 64 * K, 1.06, 356.00, "char", "osu_avg"),
    "osu_v7.4_2ranks_case5.txt": (15, {None: None}, 4, 64 * K, 0.95, 79.84, "char", "osu_avg"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_log_has_the_rows_ranks_and_units_that_were_counted_by_hand(name):
    count, layout, first, last, first_us, last_us, dtype, definition = CASES[name]
    rows = read(LOGS / name)
    assert len(rows) == count and all(row.time_s for row in rows)
    assert {row.ranks: row.nodes for row in rows} == layout
    assert (rows[0].size_bytes, rows[-1].size_bytes) == (first, last)
    assert (rows[0].time_s / US, rows[-1].time_s / US) == pytest.approx((first_us, last_us))
    assert {row.dtype for row in rows} == {dtype} and {row.time_definition for row in rows} == {definition}
    assert {(row.competitor, row.op) for row in rows} == {("native", "sum")}


def test_every_log_is_a_case():
    assert {path.name for path in LOGS.iterdir()} == {*CASES, "README.md"}


@pytest.mark.parametrize(
    "text, words",
    [
        (b"", "line 1: empty"),
        (b" \n\n", "line 1: empty"),
        (b"\xef\xbb\xbf", "line 1: empty"),  # a byte order mark alone
        ("\x1b[31m\x1b[0m\n", "line 1: empty"),  # colours alone
        ("0: \n1: \n", "line 1: empty"),  # prefixes of srun alone
        ("\u00a0\u2003\n", "line 1: empty"),
        (bytes(range(256)) * 20, "line 1: binary"),
        (b"\x1f\x8b\x08" + bytes(100), "line 1: compressed by gzip"),
        ("\nDear diary,\ntoday nothing was reduced\n", "line 2: unknown log format"),
        (OTHER, r"line \d: no row of an all-reduce up to here; found: MPI Alltoall"),
        (OSU[: OSU.index("4 ")], "no row of an all-reduce"),
        ("a,b\n1,2\n", "line 1: unknown log format"),
        (OSU.replace("Allreduce", "Iallreduce"), "found: MPI Iallreduce"),
        ("{}", "line 1: unknown log format"),
    ],
)
def test_what_is_no_log_is_refused_in_one_line(tmp_path, text, words):
    with pytest.raises(LogError, match=words) as refusal:
        read(log(tmp_path, text))
    assert str(tmp_path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_time_that_is_no_number_is_not_what_a_script_prints(tmp_path):
    for word in ("nan", "NaN", "inf"):
        with pytest.raises(LogError, match=f"the time is '{word}', expected a number"):
            read(log(tmp_path, OSU.replace("\n4 ", f"\n4 {word}\n8 ", 1)), Asked(ranks=2))


def test_a_log_that_is_absent_is_named(tmp_path):
    with pytest.raises(LogError, match="no such file"):
        read(tmp_path / "none.log")


def test_options_fill_in_what_a_log_does_not_say_and_contradict_nothing(tmp_path):
    path = log(tmp_path, OSU)
    row = read(path, Asked(ranks=64, nodes=2, dtype="double", algorithm="native:ring", where={"size_bytes": "8"}))[0]
    assert (row.ranks, row.nodes, row.dtype, row.count, row.competitor) == (64, 2, "float64", 1, "native:ring")
    with pytest.raises(
        LogError,
        match=re.escape(f"{path}, line 4: 4 bytes are") + ".*float64 elements",
    ):
        read(path, Asked(dtype="float64"))
    with pytest.raises(LogError, match="--ranks 2, but the.*24576; leave --ranks"):
        read(LOGS / "osu_v5.8_eks_256nodes_24576ranks.out", Asked(ranks=2))
    with pytest.raises(LogError, match="2 ranks on 4 nodes"):
        read(path, Asked(ranks=2, nodes=4))
    with pytest.raises(LogError, match="no column 'mood'"):
        read(path, Asked(where={"mood": "good"}))
    with pytest.raises(LogError, match="--where size_bytes=5: none of the 3 rows"):
        read(path, Asked(where={"size_bytes": "5"}))
    with pytest.raises(LogError, match="--in-place"):
        read(path, Asked(in_place=True))


def test_content_and_not_its_name_tells_a_log(tmp_path):
    told = {recognise((LOGS / name).read_text()) for name in CASES}
    assert told == {"osu", "imb", "nccl-tests"} and recognise(CSV) == "csv" and recognise("highest\n1\n") == "pico"
    assert recognise("hello\n") is None and recognise(NCCL + OSU) == "osu"
    assert recognise(OTHER + IMB) == "imb" and recognise(OTHER) == "osu"


@pytest.mark.parametrize("above, below", [("OSU", "IMB"), ("IMB", "OSU"), ("OSU", "NCCL"), ("NCCL", "IMB")])
def test_all_reduces_of_two_tools_in_one_file_are_not_mixed(above, below, tmp_path):
    texts = {"OSU": OSU, "IMB": IMB, "NCCL": (LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt").read_text()}
    path = tmp_path / "log.txt"
    path.write_text(texts[above] + texts[below])
    tools = {"OSU": "osu", "IMB": "imb", "NCCL": "nccl-tests"}
    said = re.escape(f"{path}, line") + ".*" + re.escape(f"{tools[below]} below one of {tools[above]}")
    with pytest.raises(LogError, match=said):
        read(path, Asked(ranks=2))


MUTATED = 3000


NUMBERS = (b"nan", b"inf", b"-1", b"1e999", b"9" * 5000, b"0", b"", b"0x10", b"1.5", "\u0664".encode())


def mutilated(content: bytes, draw: random.Random) -> bytes:
    """The content with lines cut, doubled or shuffled, bytes flipped, numbers replaced by odd ones, or line ends."""
    lines = content.splitlines(keepends=True)
    for _ in range(draw.randint(1, 4)):
        place, kind = draw.randrange(len(lines)), draw.randrange(9)
        if kind == 0:
            lines = lines[: place + 1]
            lines[-1] = lines[-1][: draw.randrange(len(lines[-1]) + 1)]
        elif kind == 1:
            lines[place:place] = lines[place : place + draw.randint(1, 30)]
        elif kind == 2:
            draw.shuffle(lines)
        elif kind == 3:
            line = bytearray(lines[place])
            for _ in range(draw.randint(1, 8) if line else 0):
                line[draw.randrange(len(line))] ^= 1 << draw.randrange(8)
            lines[place] = bytes(line)
        elif kind == 4:
            words = lines[place].split(b" ")
            words[draw.randrange(len(words))] = draw.choice(NUMBERS)
            lines[place] = b" ".join(words)
        elif kind == 5:
            del lines[place : place + draw.randint(1, 10)]
        elif kind == 6:
            lines = [line.rstrip(b"\r\n") + b"\r\n" for line in lines]
        elif kind == 7:
            lines[place] += draw.choice([b"\0", b"n1:77:77 [0] NCCL INFO 8 channels\n", b"\xff\xfe", b"{", b'"', b"|"])
        else:
            fields = lines[place].split(b",")
            fields[draw.randrange(len(fields))] = draw.choice(NUMBERS)
            lines[place] = b",".join(fields)
        lines = lines or [b""]
    return b"".join(lines)


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogWarning")
def test_mutilated_logs_end_in_rows_or_in_one_line(tmp_path):
    good = {"time": 10.5, "alg_bw": 0.8, "bus_bw": 1.4, "nwrong": 0.0}
    more = [CSV, nccl_json(*(result(8 << i, good) for i in range(9))).replace("{", "\n{"), "highest\n" + "2000\n" * 50]
    originals = [path.read_bytes() for folder in (LOGS, DATA / "field_inputs") for path in sorted(folder.iterdir())]
    originals += [text.encode() for text in more]
    draw, read_well = random.Random(5), 0
    for number in range(MUTATED):
        content = originals[number % len(originals)] + (draw.choice(originals) if draw.random() < 0.1 else b"")
        path = log(tmp_path, mutilated(content, draw), "64_ring_int32.csv")
        try:
            rows = read(path, Asked(in_place=False, dtype=draw.choice([None, None, "float32"])))
        except LogError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error) and len(str(error)) < 700, str(error)
            continue
        read_well += 1
        assert rows and all(row.time_s is None or 0 < row.time_s < 1e7 for row in rows)
        assert all(0 <= row.size_bytes <= 1e17 and (row.ranks is None or 0 < row.ranks <= 1e6) for row in rows)
    assert MUTATED / 4 < read_well < MUTATED


FIELD = DATA / "field_inputs"
OTHERS = [OTHER, IMB.replace("Benchmarking Allreduce", "Benchmarking Allgather")]
OTHERS += [NCCL.replace("all_reduce_perf", "all_gather_perf").replace("   sum ", "  none ")]
OTHERS += [path.read_text() for path in sorted(FIELD.glob("nccl_*reduce*_*")) + [FIELD / "imb_multi.txt"]]
OTHERS += [(FIELD / "nccl_broadcast_2ranks.txt").read_text()]
OTHERS += [(FIELD / "rccl_now.json").read_text().replace("AllReduce", "AllGather")]
OTHERS += [(FIELD / "ucc_perftest.txt").read_text().replace("Allreduce", "Allgather")]
OTHERS += [(FIELD / "dsbench.txt").read_text().replace("all_reduce", "all_gather")]


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogWarning")
@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_no_other_collective_is_an_all_reduce_however_it_is_cut_or_shuffled(number, tmp_path):
    lines, draw = OTHERS[number].splitlines(keepends=True), random.Random(number)
    damaged = [lines[:end] for end in range(1, len(lines))] + [draw.sample(lines, len(lines)) for _ in range(20)]
    for some in damaged:
        with pytest.raises(LogError):
            read(log(tmp_path, "".join(some)), Asked(ranks=8))


@pytest.mark.parametrize("name", ["osu", "imb", "nccl", "csv", "rccl", "ds_bench", "ucc", "stas", "wide", "markdown"])
def test_a_megabyte_is_read_by_a_reader_that_goes_through_it_once(name, tmp_path):
    """One that looks back at each line would not end."""
    texts = {
        "osu": OSU,
        "imb": IMB,
        "nccl": NCCL,
        "csv": CSV.replace("system,", "").replace("here,", "").replace("there,", ""),
    }
    files = {"rccl": "rccl_now.csv", "ds_bench": "dsbench.txt", "ucc": "ucc_perftest.txt", "stas": "stas.txt"}
    files |= {"wide": "wide.csv", "markdown": "wide.md"}
    text = texts.get(name) or (FIELD / files[name]).read_text()
    last = text.splitlines(keepends=True)[-1]
    many = text + (last if name in ("csv", "wide", "markdown", "rccl") else text) * (10**6 // len(text))
    path = log(tmp_path, many[: 10**6].rpartition("\n")[0] + "\n")
    assert len(read(path, Asked(ranks=8 if name == "osu" else None))) > 1000


LAUNCHED = "mpirun -np 2 ./osu_allreduce"


@pytest.mark.parametrize(
    ("above", "library"),
    [
        ("NCCL version 2.18.3+cuda12.2\n", "NCCL 2.18.3"),
        ("RCCL version : 2.20.5-HEAD:abc\n", "RCCL 2.20.5"),
        ("# nccl-tests version 2.17.6 nccl-headers=22808 nccl-library=22808\n", "NCCL 2.28.8"),
        ("[0] MPI startup(): Intel(R) MPI Library, Version 2021.10  Build 1\n", "Intel MPI 2021.10"),
        ("mpirun (Open MPI) 4.1.6\n", "Open MPI 4.1.6"),
        ("NCCL version 2.18.3\nNCCL version 2.19.4\n", None),
    ],
)
def test_a_library_that_a_log_states_is_taken(above, library, tmp_path):
    assert {row.library for row in read(log(tmp_path, above + OSU))} == {library}


DOCUMENTS = {  # in what people keep OSU's output as strings
    "object": {"configuration": {"num_procs": 2}, "data": {"command": LAUNCHED, "stdout": OSU}},
    "list": [{"command": LAUNCHED, "output": OSU}],
    "lines": {"log": [LAUNCHED, *OSU.splitlines()]},
    "text": f"{LAUNCHED}\n{OSU}",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_output_kept_as_strings_of_a_json_document_is_read(name, tmp_path):
    path = log(tmp_path, json.dumps(DOCUMENTS[name], indent=1))
    rows = read(path)
    assert times(rows) == {4: 1.5, 8: 2.5, 16: 3.5} and {row.ranks for row in rows} == {2}
    assert {row.files for row in rows} == {(str(path),)}


def test_each_text_of_a_document_is_a_launch_and_what_cannot_be_read_is_named(tmp_path):
    texts = [{"output": OSU}, {"output": OTHER}, {"output": OSU.replace("1.50", "1.60")}, {"output": "as\nit is"}]
    for document in (json.dumps(texts), "\n".join(map(json.dumps, texts))):
        with pytest.warns(LogWarning, match="found: MPI Alltoall; left out"):
            rows = read(log(tmp_path, document))
        assert len(rows) == 6 and len({row.launch for row in rows}) == 2
    with pytest.raises(LogError, match="line 6: no row of an all-reduce"):
        read(log(tmp_path, json.dumps([{"output": OTHER}])))
