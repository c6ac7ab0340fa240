"""What the networks carried, in a sentence."""

import pytest

from allreduce_bench.report import how_measured

MIB = 1 << 20


def row(text: str | None, internode: int | None, size_bytes: int = MIB) -> dict:
    return {"wire": text, "internode_nbytes": internode, "size_bytes": size_bytes}


@pytest.mark.parametrize(
    "rows, says",
    [
        ([row("hsn0=1070000 eth0=0", MIB), row("hsn0=2140000 eth0=0", 2 * MIB)], "1.02 x on hsn0, 0 on eth0"),
        ([row("eth0=40 lo=3", MIB)], "at 1 MiB and above: not counted by eth0, lo, which carried none of it"),
        ([row("eth0=40 lo=3", 0)], "no network traffic at 1 MiB and above: one node, shared memory"),
        ([row("lo=1048576", 0)], "one node, but with network traffic at 1 MiB and above: 1.00 x the vector size on lo"),
        ([row("hsn0=1", None), row("hsn0=1", 8, size_bytes=8), row(None, MIB)], None),
    ],
)
def test_the_sentence(rows, says):
    said = how_measured.traffic_sentence(rows)
    assert said is None if says is None else says in said
