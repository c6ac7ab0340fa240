"""Slurm's lists of nodes, read."""

import pytest

from allreduce_bench.slurm.nodelist import expand


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
    with pytest.raises(ValueError, match="is not a list of nodes; expected a list such as"):
        expand(text)
