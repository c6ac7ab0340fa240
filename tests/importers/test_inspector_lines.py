"""The lines of NCCL Inspector: every version, and lines that are damaged."""

import json
import random
import re
from pathlib import Path

import pytest
from made_inspector import Job, calls_of, context, lines_of_rank

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.importers.tools.nccl_inspector import recognises, recorded

JOB = Job(ranks=2, steps=6, slow=1)
FILE = Path("gpu00-pid4000.log")
# the values of "Output Example Verbose" of NVIDIA/nccl, ext-profiler/inspector/README.md, in one line
README_V40 = """{"header":{"id":"0xe62dedaa97644a","rank":4,"n_ranks":8,"nnodes":1},"metadata":{\
"inspector_output_format_version":"v4.0","git_rev":"9019a1912-dirty","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1752867229276385,\
"hostname":"example-hostname","pid":438776},"coll_perf":{"coll":"ReduceScatter","coll_sn":1231,"coll_msg_size_bytes":\
2147483648,"coll_exec_time_us":41057,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":418.439467,"coll_busbw_gbs":\
366.134533,"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[{"channel_id":0,"kernel_start_sn":3,\
"kernel_stop_sn":48,"kernel_record_sn":47}]},"event_trace_ts":{"coll_start_ts":1752867229235059,"coll_stop_ts":\
1752867229235064,"kernel_events":[{"channel_id":0,"kernel_start_ts":1752867229235181,"kernel_stop_ts":1752867229275811,\
"kernel_record_ts":1752867229275811}]}}}
"""


def lines(job: Job = JOB, rank: int = 0) -> list[str]:
    return lines_of_rank(job, rank, calls_of(job)[rank])


def read(*texts: str):
    return recorded(FILE, "\n".join(texts) + "\n")


def test_the_example_of_the_documentation():
    (part,) = read(README_V40)
    assert recognises(README_V40) and (part.rank, part.ranks, part.host, part.version) == (
        4,
        8,
        "example-hostname",
        "v4.0",
    )
    call = part.calls["ReduceScatter", 1231]
    assert (call.size_bytes, call.time_s, call.algorithm) == (2147483648, pytest.approx(41057e-6), "")
    # the kernel, not the enqueuing on the CPU, which is over 41 ms before the call ends
    assert (call.ready_us, call.end_us) == (1752867229235181, 1752867229275811)


@pytest.mark.parametrize("version", ["v4.0", "v4.1", "v4.2", "v4.3"])
def test_all_versions_say_the_same(version):
    (part,) = read(*lines(JOB._replace(version=version)))
    assert (part.rank, part.ranks, part.nodes, part.version, part.pid) == (0, 2, 1, version, 4000)
    assert [key for key in part.calls] == [("AllReduce", number) for number in range(6)]
    calls = calls_of(JOB)[0]
    assert [call.time_s * 1e6 for call in part.calls.values()] == pytest.approx([c["coll_exec_time_us"] for c in calls])
    assert part.name == ("" if version in ("v4.0", "v4.1") else "DP Group 0")


def test_a_dump_of_v43_has_so_many_lines_as_it_says():
    of_dump = lines(JOB._replace(version="v4.3"))
    (part,) = read(*of_dump[:3], *of_dump)  # of one that was cut off the next one begins anew
    assert len(part.calls) == 6
    damage = "a call without header, and no dump_stats above it that it belongs to"
    with pytest.raises(LogError, match=re.escape(f"line 8: {damage}")):
        read(*of_dump, of_dump[-1])
    with pytest.raises(LogError, match=re.escape(f"line 1: {damage}")):
        read(*of_dump[1:])


def test_point_to_point_calls_and_proxies_are_passed_over():
    own = context(JOB, 0)
    others = [{**own, "p2p_perf": {"p2p": "Send", "p2p_sn": 1}}, {**own, "proxy_trace": {"rank": 0}}]
    (part,) = read(*map(json.dumps, others), *lines())
    assert len(part.calls) == 6


def test_damaged_lines_are_left_out_and_the_first_is_named():
    whole = lines()
    with pytest.warns(LogWarning, match="line 8: cut off"):
        (part,) = recorded(FILE, "\n".join([*whole, whole[3][:100]]))
    assert len(part.calls) == 6
    with pytest.warns(LogWarning, match="line 1: damaged JSON, and 10 lines below") as said:
        (part,) = read(*["{" * 50] * 9, "[" * 100_000, "7", *whole)
    assert len(part.calls) == 6 and len(said) == 1


@pytest.mark.parametrize(
    "path, value, said",
    [
        (("header", "rank"), 2, "rank is 2, expected a whole number from 0 to 1"),
        (("header", "n_ranks"), 10**40, "n_ranks is"),
        (("header",), 7, "no object header"),
        (("coll_perf", "coll_sn"), "one", "coll_sn is 'one',"),
        (("coll_perf", "coll_exec_time_us"), float("nan"), "coll_exec_time_us is nan, expected microseconds"),
        (("coll_perf", "coll_exec_time_us"), 10**400, "expected microseconds"),
    ],
)
def test_a_value_that_cannot_be_is_one_sentence(path, value, said):
    record = json.loads(lines()[1])
    inner = record
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(LogError, match=f"line 1: .*{said}"):
        read(json.dumps(record))


def test_a_call_that_is_there_twice_must_be_the_same():
    whole = lines()
    (part,) = read(*whole, whole[2])
    assert len(part.calls) == 6
    other = json.loads(whole[2])
    other["coll_perf"]["coll_exec_time_us"] += 1
    with pytest.raises(
        LogError,
        match="line 8: coll_sn 1 of AllReduce differs from that in line 3",
    ):
        read(*whole, json.dumps(other))


def test_stamps_that_cannot_be_are_none():
    record = json.loads(lines()[1])
    too_long = [{"kernel_start_ts": 9, "kernel_stop_ts": 10**13}]
    swapped = [{"kernel_start_ts": 9, "kernel_stop_ts": 3}]
    for stamps in (None, [], [7], [{}], swapped, too_long, [{"kernel_start_ts": "x"}]):
        record["coll_perf"]["event_trace_ts"] = {"kernel_events": stamps}
        (part,) = read(json.dumps(record))
        assert part.calls["AllReduce", 0][-2:] == (0, 0)


@pytest.mark.filterwarnings("ignore")
def test_damage_anywhere_ends_in_rows_or_in_one_line():
    dice = random.Random(7)
    whole = "\n".join(lines(JOB._replace(version=dice.choice(["v4.2", "v4.3"])))) + "\n"
    for _ in range(200):
        letters = list(whole)
        for _ in range(dice.randint(1, 4)):
            place = dice.randrange(len(letters))
            letters[place] = dice.choice(["", "{", "}", '"', "9" * 50, "\n", ",", "null", "\x00", "e", "-"])
        text = "".join(letters)[dice.randrange(40) * dice.randrange(2) :]
        try:
            for part in recorded(FILE, text):
                assert all(call.time_s >= 0 for call in part.calls.values())
        except LogError as error:
            assert "\n" not in str(error) and str(FILE) in str(error)
