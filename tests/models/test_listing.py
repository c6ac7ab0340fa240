"""The table of `fit`: a line a series, alpha and beta for each, and how far off it is."""

from dataclasses import replace

from hand_models import hand_model

from allreduce_bench.models.alpha_beta import ALPHA, GAMMA, Parameter
from allreduce_bench.models.fitting import LocalGamma, UnfittedSeries
from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.models.listing import Listing
from allreduce_bench.models.words import price_text

RING = hand_model("ring", (2, 4, 8), run="today")


def row_of(listing: Listing, series: str) -> str:
    (row,) = (line for line in listing.table().splitlines() if line.startswith(f"{series} "))
    return row


def test_every_series_has_its_alpha_and_beta():
    unknown = replace(
        RING, competitor="tree", parameters=tuple(one._replace(low=None, high=None) for one in RING.parameters)
    )
    listing = Listing([RING, replace(unknown, priced_as="tree")], [])
    assert row_of(listing, "ring").split("  ")[0] == "ring" and "today" not in row_of(listing, "ring")
    assert "2.00 (1.80 to 2.20)" in row_of(listing, "ring") and "100 (80.0 to 130)" in row_of(listing, "ring")
    assert "5%  21%" in row_of(listing, "ring") and "8 B to 4 MiB" in row_of(listing, "ring")
    assert "2.00 (not identified)" in row_of(listing, "tree") and "2,4,8" in row_of(listing, "tree")


def test_series_are_named_with_their_run_where_there_are_several():
    listing = Listing([RING, replace(RING, run="monday")], [UnfittedSeries("monday", "naive", "one point")])
    assert row_of(listing, "today: ring") and row_of(listing, "monday: ring")
    assert "not fitted: monday: naive: one point" in listing.table()
    assert "not fitted: naive: one point" in Listing([RING], [UnfittedSeries("today", "naive", "one point")]).table()


def test_what_tells_series_apart_is_named():
    listing = Listing([RING, replace(RING, dtype="float64")], [])
    assert row_of(listing, "ring float32") and row_of(listing, "ring float64")


def test_a_model_of_no_use_is_said_to_be():
    assert "do not use" not in Listing([RING], []).table()
    listing = Listing([RING, replace(RING, competitor="naive", priced_as="naive", held_out=HeldOut(0.5, 1.4, 9))], [])
    assert "do not use this model: naive (held-out P90 140%)" in listing.table()


def test_two_kinds_of_links_have_a_row_each():
    links = [one._replace(link=link) for link in ("within", "between") for one in RING.parameters]
    lines = Listing([replace(RING, parameters=tuple(links))], []).table().splitlines()
    assert lines[1].startswith("ring, within nodes") and lines[2].startswith("between nodes")


def test_prices_in_words():
    assert price_text(Parameter(ALPHA, "", 0.0)) == "not identified" and price_text(None) == "-"
    assert price_text(Parameter(ALPHA, "", 0.0, 0.0, 1e-6)) == "0 (0 to 1.00)"
    assert price_text(Parameter(ALPHA, "", 1e-6, 0.0, 3e-6)) == "1.00 (0 to 3.00)"


def test_gamma_of_a_local_reduction_is_told():
    listing = Listing([RING], [], [LocalGamma("today", 2, Parameter(GAMMA, "", 1e-10))])
    assert "gamma of a local reduction 100 ps/byte" in listing.table()
