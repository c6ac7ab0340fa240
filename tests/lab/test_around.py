"""What `run` enters, and what the virtual hosts around a command are to it."""

import pytest

from allreduce_bench.lab.lab import Lab, LabError, add_lab, rates_to_enter, refuse_lab_in_lab
from allreduce_bench.runs.command_of_plan import repeat_command
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start

RATE = 12.5e6
LAB = Lab((RATE, RATE / 2, RATE), (5, 17, 29))
OPTIONS = {
    "virtual_rates_bytes_per_s": None,
    "link_rate_bytes_per_s": None,
    "hosts": None,
    "resume": False,
    "output": None,
}


@pytest.fixture
def inside(monkeypatch):
    for name, value in LAB.variables().items():
        monkeypatch.setenv(name, value)


def test_a_run_enters_the_hosts_that_it_is_asked_for():
    assert rates_to_enter(OPTIONS) == ()
    assert rates_to_enter({**OPTIONS, "virtual_rates_bytes_per_s": 2}) == (RATE, RATE)
    assert rates_to_enter({**OPTIONS, "virtual_rates_bytes_per_s": 2, "link_rate_bytes_per_s": (RATE, 1e6)}) == (
        RATE,
        1e6,
    )


def test_inside_it_enters_nothing_and_refuses_other_hosts(inside):
    asked = {**OPTIONS, "virtual_rates_bytes_per_s": 3, "link_rate_bytes_per_s": LAB.rates_bytes_per_s}
    assert rates_to_enter(asked) == () == rates_to_enter(OPTIONS)
    with pytest.raises(LabError, match="--link-rate differ"):
        rates_to_enter({**OPTIONS, "virtual_rates_bytes_per_s": 3})
    with pytest.raises(LabError, match="command runs"):
        refuse_lab_in_lab()


def test_ranks_start_on_the_hosts_around():
    start = add_lab(Start(ranks_per_node=2), LAB.variables())
    assert start.hosts == LAB.names and start.virtual_rates_bytes_per_s == LAB.rates_bytes_per_s
    assert (start.remote_shell, start.interface, start.ranks_per_node) == ("/dev/shm/agent", "e0", 2)
    assert add_lab(Start(hosts=("h2:4", "h1")), LAB.variables()).virtual_rates_bytes_per_s == (RATE / 2, RATE)
    assert add_lab(Start(), {}) == Start()
    with pytest.raises(LabError, match="'h4' is not.*this lab.*hosts: h1, h2, h3"):
        add_lab(Start(hosts=("h4",)), LAB.variables())


@pytest.mark.parametrize(("rates", "said"), [((RATE, RATE), "100.0Mbit"), ((RATE, RATE / 2), "100.0Mbit,50.0Mbit")])
def test_the_command_that_repeats_a_plan_starts_the_same_hosts(rates, said):
    start = add_lab(Start(), Lab(rates, (1, 2)).variables())
    plan = Plan(competitors=("ring",), sizes=(8,), ranks=(2,), seed=1, start=start, link_rate_bytes_per_s=min(rates))
    words = repeat_command(plan)
    assert words[words.index("--virtual-hosts") + 1] == "2" and words[words.index("--link-rate") + 1] == said
    assert not {"--hosts", "--remote-shell", "--interface"} & set(words)
