"""What a lab is, without one: rates of hosts, and the variable that tells a command where it runs."""

import pytest

from allreduce_bench.lab.lab import MOST_HOSTS, Lab, LabError, lab_around, rates_of_hosts

RATE = 12.5e6


def test_one_rate_is_for_all_hosts_and_several_are_one_for_each():
    assert rates_of_hosts(3, [RATE]) == (RATE, RATE, RATE)
    assert rates_of_hosts(2, [RATE, RATE / 2]) == (RATE, RATE / 2)


@pytest.mark.parametrize(
    ("hosts", "rates", "said"),
    [
        (0, [RATE], "0 virtual.*least 1"),
        (MOST_HOSTS + 1, [RATE], "expected at most 32"),
        (3, [RATE, RATE], "2 rates.*3 virtual.*expected one rate"),
        (2, [1.0], "a link of 8 bit/s: expected 64 kbit/s to 100 Gbit/s"),
        (2, [RATE, 1e12], "a link of 8e.12 bit/s: expected 64 kbit/s to 100 Gbit/s"),
    ],
)
def test_what_makes_no_lab_is_refused_with_the_limit(hosts, rates, said):
    with pytest.raises(LabError, match=said):
        rates_of_hosts(hosts, rates)


def test_a_command_in_a_lab_finds_its_hosts_in_the_environment():
    lab = Lab((RATE, 6.25e-3, None, 1e22), (5, 17, 29, 41))
    assert lab.names == ("h1", "h2", "h3", "h4")
    assert lab_around(lab.variables()) == lab
    assert lab_around({}) is None and lab_around({"ALLREDUCE_BENCH_LAB": "of another program"}) is None
