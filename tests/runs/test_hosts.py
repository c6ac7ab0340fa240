"""Hosts as users and batch systems write them, and how ranks fill them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.hosts import fill_slots, parse_hosts, read_hostfile, slots_for


def test_hosts_of_the_command_line():
    assert parse_hosts("n1, n2:8,a-b.example.org") == ("n1", "n2:8", "a-b.example.org")
    assert parse_hosts("n1,n2,n1,n1,n2:3") == ("n1:3", "n2:4")
    assert parse_hosts("n[3-4]") == ("n3", "n4")
    assert parse_hosts("a[01-02,10]:8, b7,n1-[1-2]x") == ("a01:8", "a02:8", "a10:8", "b7", "n1-1x", "n1-2x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,",
        "-a",
        "a b",
        "a:0",
        "$(id)",
        "ä",
        "n[",
        "n[1-2]:0",
    ],
)
def test_what_is_no_host_is_refused(text):
    with pytest.raises(ValueError, match="not a host"):
        parse_hosts(text)


def test_hosts_of_a_file(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# ours\nn1\nn[2] slots=4   # big\n\nn3:2\nn1\n")
    assert read_hostfile(path) == parse_hosts(str(path)) == ("n1:2", "n2:4", "n3:2")
    path.write_text("n1\n# comment\nn2 slots=0\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line 3: 'n2:0' is not a host")):
        read_hostfile(path)
    path.write_text("# nobody\n")
    with pytest.raises(ValueError, match="no host found"):
        read_hostfile(path)
    with pytest.raises(ValueError, match="absent: No such file or directory; expected a file of hosts"):
        read_hostfile(tmp_path / "absent")
    for name in (str(tmp_path), "nowhere.txt", "no/where"):
        with pytest.raises(ValueError, match=f"^{name}: .*; expected a file of hosts"):
            parse_hosts(name)


def test_hosts_without_slots_share_what_is_left():
    assert slots_for(("a", "b"), 5) == [("a", 3), ("b", 2)]
    assert slots_for(("a:4", "b", "c"), 9) == [("a", 4), ("b", 3), ("c", 2)]
    assert slots_for(("a:4", "b"), 2) == [("a", 4), ("b", 1)]
    assert slots_for(("a", "b:1"), 8, ranks_per_node=2) == [("a", 2), ("b", 1)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 99))
def test_every_rank_is_somewhere_and_slots_come_first(slots, ranks):
    counts = fill_slots(slots, ranks)
    assert sum(counts) == ranks and len(counts) == len(slots)
    if ranks <= sum(slots):
        assert all(count <= number for count, number in zip(counts, slots))
        assert all(counts[place] == slots[place] for place in range(len(slots) - 1) if counts[place + 1])
    else:
        assert all(count >= number for count, number in zip(counts, slots))
