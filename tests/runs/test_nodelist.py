"""Slurm's lists of nodes, read."""

import re

import pytest

from allreduce_bench.runs.hosts import compress, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3,7],gpu-[01-02]", ["n1", "n2", "n3", "n7", "gpu-01", "gpu-02"]),
        ("n[09-11]", ["n09", "n10", "n11"]),
        ("rack[1-2]n[01-02],login", ["rack1n01", "rack1n02", "rack2n01", "rack2n02", "login"]),
        ("a[8-10]-ib", ["a8-ib", "a9-ib", "a10-ib"]),
    ],
)
def test_a_list_becomes_its_names_in_order(text, names):
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-", "n[3-1]", "n[a-b]", "]", "n[]", "n[1-999999999]", "[1-99999][1-99999]"])
def test_what_is_no_list_is_refused_and_never_takes_for_ever(text):
    with pytest.raises(ValueError, match=re.escape(f"'{text}' is not") + ".*list of nodes"):
        expand(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["login"], "login"),
        (["n7", "n1", "n2", "n3", "gpu-01", "gpu-02"], "gpu-[01-02],n[1-3,7]"),
        (["n8", "n10", "n9", "n09"], "n[09-10],n[8-9]"),
        (["a1-ib", "a2-ib", "rack2n05"], "a[1-2]-ib,rack2n05"),
    ],
)
def test_names_become_a_list_that_expands_to_them(names, text):
    assert compress(names) == text and sorted(expand(text)) == sorted(names)
