"""Warm is the usual cache, cold the one that is named."""

from allreduce_bench.models.words import cache_label


def test_only_the_cold_cache_is_named():
    assert cache_label("cold") == "cold" and cache_label("warm") == ""
