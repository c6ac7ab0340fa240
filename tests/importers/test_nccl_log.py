"""NCCL's lines about its choices, in the forms of its versions."""

import json

import pytest
from click.testing import CliRunner

from allreduce_bench.importers.nccl_log import SYMMETRIC, Choice, read_nccl_logs
from allreduce_bench.importers.row import LogError
from allreduce_bench.which.which import which


@pytest.fixture
def read(tmp_path):
    def read_texts(*texts: str):
        paths = [tmp_path / f"log{number}" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        return read_nccl_logs(paths)

    return read_texts


def line(rank: int, text: str) -> str:
    return f"{rank}: n{rank}:7{rank}:70 [{rank}] NCCL INFO {text}\n"


def call(rank: int, count: int, number: int = 1, collective: str = "AllReduce") -> str:
    asked = f"opCount {number:x} sendbuff 0x7f00 recvbuff 0x7f01 count {count} datatype 7 op 0 root 0"
    return line(rank, f"{collective}: {asked} comm 0xabc{rank} [nranks=2] stream 0x55")


NAMED = "n0:70:70 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"


def test_the_lines_of_today(read):
    text = "NCCL version 2.28.3+cuda13.0\n" + NAMED + NAMED
    text += "n0:70:70 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"
    text += " cgaClusterSize 4\nn0:70:70 [0] NCCL INFO AllGather: 64 Bytes -> Algo PAT proto SIMPLE"
    text += " channel{Lo..Hi}={0..0}\nn0:70:70 [0] NCCL INFO AllReduce [Symmetric]: 512 Bytes -> Kernel"
    text += " AllReduce_AGxLL_R nchannels 8 nthreads 512 nWorks 1\n"
    log = read(text)
    assert (log.version, log.ranks) == ("2.28.3", ())
    assert log.choices == [
        Choice(512, SYMMETRIC, "AllReduce_AGxLL_R", (0, 7), True, 1, ("n0:70",)),
        Choice(4096, "tree", "LL", (0, 1), True, 2, ("n0:70",)),
        Choice(8388608, "ring", "Simple", (0, 15), True, 1, ("n0:70",)),
    ]


def test_numbers_for_names(read):
    (choice,) = read("n0:70:70 [0] NCCL INFO AllReduce: 512 Bytes -> Algo 5 proto 1 time 8.25\n").choices
    assert choice[:5] == (512, "nvls_tree", "LL128", None, True)


def test_the_oldest_lines_take_the_collective_from_the_call_before(read):
    choice = "0: n0:70:70 [0] NCCL INFO {} Bytes -> Algo 1 proto 2 time 74.1\n"
    gather = call(0, 256, collective="AllGather")  # of 2 ranks: 2048 bytes
    log = read(call(0, 1024) + choice.format(4096) + gather + choice.format(2048) + choice.format(77))
    assert [(found.size_bytes, found.named) for found in log.choices] == [(77, False), (4096, True)]
    assert log.ranks == (2,)


@pytest.mark.parametrize("prefix", ["", "3: ", "[1,3]<stdout>:", "\x1b[32m", "[2026-01-02 10:00:00] "])
def test_what_launchers_and_terminals_add(read, prefix):
    (choice,) = read(prefix + NAMED).choices
    assert (choice.size_bytes, choice.processes) == (4096, ("n0:70",))


def test_a_size_with_two_choices(read):
    log = read(NAMED, NAMED.replace("n0", "n1").replace("TREE", "RING") + NAMED.replace("n0", "n2"))
    most, other = log.choices
    assert (most.size_bytes, most.algorithm, most.processes) == (4096, "tree", ("n0:70", "n2:70"))
    assert (other.size_bytes, other.algorithm, other.calls) == (4096, "ring", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a log of something else\n", "line of NCCL"),
        (call(0, 8), "add TUNING"),
        ("n0:70:70 [0] NCCL INFO Bootstrap: Using eth0\n", "all-reduce among"),
        (NAMED[:-10], "all-reduce among"),
    ],
)
def test_logs_without_a_choice(read, text, said):
    with pytest.raises(LogError, match=said):
        read(text)


def test_lines_that_are_not_understood_are_counted(read):
    huge, undecided = NAMED.replace("4096", "9" * 20), NAMED.replace("channel", "way")
    assert read(NAMED + huge + undecided).left_out == 2


@pytest.fixture
def command(tmp_path):
    """`which --nccl-log` of a log in which tree ran at 4 KiB, and an unnamed ring at 77 bytes."""
    path = tmp_path / "log"
    path.write_text(NAMED + "n0:70:70 [0] NCCL INFO 77 Bytes -> Algo 1 proto 9 time 74.1\n")
    return lambda *words: CliRunner().invoke(which, ["--nccl-log", str(path), *words])


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 0),
        (("--expect", "4K:tree"), 0),
        (("--expect", "4K:ring"), 1),
        (("--expect", "77:tree"), 0),  # perhaps of another collective
        (("--expect", "4K:rong"), 2),
        (("--expect", "8K:tree"), 2),
        (("-n", "4"), 2),
        (("--switches",), 2),
        (("--sizes", "4K"), 2),
    ],
)
def test_what_was_expected_of_a_log(command, words, status):
    assert command(*words).exit_code == status


def test_a_log_as_json(command):
    result = command("--expect", "4K:ring", "--format", "json")
    found = json.loads(result.stdout)
    assert list(found) == ["schema", "version", "ranks", "choices", "left_out", "expected"]
    keys = ["size_bytes", "algorithm", "protocol", "channels", "named", "calls", "processes"]
    assert all(list(one) == keys for one in found["choices"])
    assert [one["state"] for one in found["expected"]] == ["no"]
    assert [(one["algorithm"], one["protocol"], one["named"]) for one in found["choices"]] == [
        ("ring", "9", False),
        ("tree", "LL", True),
    ]
