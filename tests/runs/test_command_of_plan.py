"""The command that repeats a run says every choice that is not the usual one; nothing is lost to rounding."""

from dataclasses import replace

from allreduce_bench.runs.command_of_plan import repeat_command
from allreduce_bench.runs.competitor import MOCKUPS
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start

PLAN = Plan(("native", "ring"), (8, 1 << 20), (2, 4), seed=5)


def options_of(plan: Plan) -> dict[str, str]:
    program, run, *words = repeat_command(plan)
    assert (program, run) == ("allreduce-bench", "run")
    return dict(zip(words[::2], words[1::2]))


def test_sizes_ranks_and_algorithms_are_said():
    options = options_of(PLAN)
    assert (options["--algorithms"], options["--sizes"], options["--ranks"]) == ("native,ring", "8,1048576", "2,4")
    assert options["--seed"] == "5" and options["--cell-time"] == "0.5s"
    made = replace(PLAN, competitors=("native", *MOCKUPS, "ring"))
    assert options_of(made)["--algorithms"] == ",".join(made.competitors)


def test_what_is_unusual_is_said():
    plan = replace(PLAN, cache="cold", check="bits", groups="2", ranks=(4,), start=Start(hosts=("n1:2", "n2:2")))
    options = options_of(plan)
    assert {"--cache": "cold", "--check": "bits", "--groups": "2", "--hosts": "n1:2,n2:2"}.items() <= options.items()
    assert repeat_command(replace(PLAN, floors=False)).count("--no-reference-times") == 1
    assert repeat_command(replace(PLAN, in_place=True)).count("--in-place") == 1


def test_a_number_of_calls_replaces_what_else_ends_a_cell():
    options = options_of(replace(PLAN, iters=8, min_time_s=1.0))
    assert options["--iters"] == "8" and not {"--precision", "--cell-time", "--min-time"} & set(options)


def test_small_numbers_have_no_exponent():
    options = options_of(replace(PLAN, precision=1e-7, link_rate_bytes_per_s=12.5e9))
    assert options["--precision"] == "0.0000001" and options["--link-rate"] == "100000.0Mbit"
