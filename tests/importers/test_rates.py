"""What algbw and busbw say of the ranks."""

import pytest

from allreduce_bench.importers.tools.nccl import factor_fits, ranks_of_factors


def rates(ranks: int) -> list[tuple[str, str]]:
    return [(f"{algbw:.2f}", f"{algbw * 2 * (ranks - 1) / ranks:.2f}") for algbw in (20.0, 80.0, 150.0)]


@pytest.mark.parametrize("ranks", [2, 3, 8, 16])
def test_rates_of_enough_digits_have_one_number_of_ranks(ranks):
    assert ranks_of_factors(rates(ranks)) == ranks
    assert factor_fits(rates(ranks), ranks) and not factor_fits(rates(ranks), ranks + 1)


@pytest.mark.parametrize("printed", [[], [("0.01", "0.02")], [("N/A", "N/A")], [("10.00", "30.00")]])
def test_rates_that_are_small_absent_or_of_no_all_reduce_have_none(printed):
    assert ranks_of_factors(printed) is None


def test_other_collectives_do_not_fit():
    assert not factor_fits([("10.00", "5.00")], None)
    assert factor_fits([("10.00", "15.00")], None) and factor_fits([], 4)
