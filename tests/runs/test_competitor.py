"""Competitors as words: what a user may write, its parts, and what is refused."""

import re

import pytest

from allreduce_bench.runs.competitor import FORCED_DEFAULT, MOCKUPS, Competitor, competitor, split_way


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ring", ("ring", "")),
        ("ring@pipelined:256K", ("ring", "pipelined:256K")),
        ("native@compiled", ("native", "compiled")),
        ("native:reduce+bcast", ("native:reduce+bcast", "")),
        ("./mine.py@compiled", ("./mine.py", "compiled")),
        ("./a@b/mine.py", ("./a@b/mine.py", "")),
        ("./a@b/mine.py@pipelined:4K", ("./a@b/mine.py", "pipelined:4K")),
        ("mine@compiled/x.py", ("mine@compiled/x.py", "")),
        ("ring@pipelned", "unknown way 'pipelned'; did you mean pipelined?"),
        ("ring@", "unknown way ''"),
        ("@pipelined", "names no algorithm"),
        ("ring@pipelined@compiled", "two ways"),
        ("ring@compiled:4K", "a segment belongs to pipelined and compiled-pipelined; leave out ':4K'"),
        ("ring@pipelined:much", "'much' is not a size"),
        ("ring@pipelined:0", "at least one element"),
        ("native@pipelined", "use native@compiled"),
        ("native:ring@compiled", "native:ring is called from Python only; leave out '@compiled'"),
        ("gloo@compiled", "gloo is called from Python only"),
    ],
)
def test_a_way_stands_after_the_last_at(text, expected):
    if isinstance(expected, tuple):
        assert split_way(text) == expected
    else:
        with pytest.raises(ValueError, match=re.escape(expected)):
            split_way(text)


@pytest.mark.parametrize(
    "name, algorithm, way, segment_nbytes, native",
    [
        ("ring", "ring", "sendrecv", None, "native"),
        ("ring@pipelined", "ring", "pipelined", None, "native"),
        ("ring@pipelined:256K", "ring", "pipelined", 256 << 10, "native"),
        ("ring@compiled", "ring", "compiled", None, "native@compiled"),
        ("ring@compiled-pipelined:64K", "ring", "compiled-pipelined", 64 << 10, "native@compiled"),
        ("native@compiled", "native", "compiled", None, "native@compiled"),
        ("native:ring", "native:ring", "sendrecv", None, "native"),
        ("rccl@2.18 (in place)", "rccl@2.18 (in place)", "sendrecv", None, "native"),  # of a log
        ("rccl@pipelined:x", "rccl@pipelined:x", "sendrecv", None, "native"),
    ],
)
def test_a_name_has_parts(name, algorithm, way, segment_nbytes, native):
    found = Competitor(name)
    assert (found.algorithm, found.way, found.segment_nbytes, found.native_beside) == (
        algorithm,
        way,
        segment_nbytes,
        native,
    )


def test_each_is_of_one_kind():
    kinds = ("is_ours", "is_native", "is_mockup", "is_forced", "is_gloo", "is_reference")
    of_kind = {
        "is_ours": ("ring", "ring@compiled", "native_like"),
        "is_native": ("native", "native@compiled"),
        "is_mockup": tuple(MOCKUPS),
        "is_forced": ("native:ring", FORCED_DEFAULT),
        "is_gloo": ("gloo",),
        "is_reference": ("floor:copy",),
    }
    for kind, examples in of_kind.items():
        for name in examples:
            assert [each for each in kinds if getattr(Competitor(name), each)] == [kind], name


def test_the_usual_way_is_not_named():
    assert [competitor("ring"), competitor("ring", "sendrecv"), competitor("ring", "pipelined")] == [
        "ring",
        "ring",
        "ring@pipelined",
    ]
