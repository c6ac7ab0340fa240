"""Warm is the usual cache, cold the one that is named."""

from allreduce_bench.models.words import cache_label, preferred_cache


def test_the_warm_cache_is_preferred_and_only_the_cold_one_named():
    assert preferred_cache({"warm", "cold"}) == preferred_cache({"warm"}) == "warm"
    assert preferred_cache({"cold"}) == preferred_cache(set()) == "cold"
    assert cache_label("cold") == "cold" and cache_label("warm") == ""
