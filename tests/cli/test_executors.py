"""The ways of competitors, from -a and --executor: decided before the plan is made, refused in one sentence."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from asked_runs import asked_run
from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.algorithms import naive
from allreduce_bench.cli import plan_of_options
from allreduce_bench.cli.plan_of_options import algorithm_fields
from allreduce_bench.cli.request import planned_run
from allreduce_bench.cli.run import run
from allreduce_bench.machine.compiler import INSTALL
from allreduce_bench.runs.command_of_plan import repeat_command
from allreduce_bench.runs.competitor import MOCKUPS, competitor
from allreduce_bench.runs.cuts import NOMINAL
from allreduce_bench.runs.library_algorithms import VALUES
from allreduce_bench.runs.option_values import parse_names
from allreduce_bench.runs.plan import DEFAULT_WINDOW, Plan

MIB = 1 << 20
OWN = Path(naive.__file__).read_text()


def plan_of(*words: str) -> Plan:
    usual = ["-n", "2", "-a", "ring,two_tree,native", "--sizes", "8,16M", "--seed", "1"]
    return asked_run(*usual, *words).plan()


@pytest.fixture
def numba(monkeypatch):
    """Say whether numba is here."""
    plan_of_options._resolve_auto.cache_clear()
    yield lambda is_here: monkeypatch.setattr(
        plan_of_options, "why_not_compiled", lambda: None if is_here else f"needs numba: {INSTALL}"
    )
    plan_of_options._resolve_auto.cache_clear()


def test_without_the_option_nothing_changes():
    plan = plan_of()
    assert plan.competitors == ("native", "ring", "two_tree")
    assert (plan.window, plan.cuts, plan.cut_prices) == (None, (), None)


def test_a_pipelined_way_has_a_window_and_segments_by_nominal_prices():
    plan = plan_of("--executor", "sendrecv,pipelined")
    assert plan.competitors == ("native", "ring", "ring@pipelined", "two_tree", "two_tree@pipelined")
    assert (plan.window, plan.cut_prices) == (DEFAULT_WINDOW, NOMINAL)
    assert [(cut.ranks, cut.size_bytes) for cut in plan.cuts] == [(2, 16 * MIB)]


def test_over_a_link_whose_rate_is_named_segments_are_short():
    plan = plan_of("--executor", "pipelined", "--link-rate", "100mbit")
    assert (plan.segment_nbytes, plan.cut_prices, {cut.segment_nbytes for cut in plan.cuts}) == (16384, None, {16384})


def test_a_segment_and_a_window_that_are_given_are_taken():
    plan = plan_of("--executor", "pipelined", "--segment", "4", "--window", "1")
    assert (plan.window, plan.cut_prices, plan.segment_nbytes) == (1, None, 4)
    assert [(cut.size_bytes, cut.segment_nbytes) for cut in plan.cuts] == [(8, 4), (16 * MIB, 4)]


@pytest.mark.parametrize("words", [[], ["--segment", "64K"], ["--window", "2"]])
def test_the_command_that_repeats_a_run_asks_for_the_same_plan(words):
    plan = plan_of("--executor", "pipelined", *words)
    again = asked_run(*repeat_command(plan)[2:]).plan()
    assert replace(again, bounded=plan.bounded) == plan


@pytest.mark.parametrize("is_here, chosen", [(True, "compiled"), (False, "sendrecv")])
def test_auto_is_decided_before_the_plan_and_said_once(is_here, chosen, numba, capsys):
    numba(is_here)
    by_auto = plan_of("--executor", "auto").competitors
    assert by_auto == plan_of("--executor", f"{chosen},auto").competitors
    assert competitor("ring", chosen) in by_auto and len(by_auto) == 3 + is_here
    said = capsys.readouterr().err
    assert said.count("--executor auto") == 1 and said.startswith(f"--executor auto: {chosen}")


def test_a_compiled_way_without_numba_is_refused(numba):
    numba(False)
    with pytest.raises(ValueError, match=re.escape(f"ring@compiled needs numba: {INSTALL}")):
        plan_of("-a", "ring,ring@compiled")


OPEN_MPI, SOME = "Open MPI 5.0.11", ("native:reduce+bcast", "native:ring")


@pytest.mark.parametrize(
    "names, ways, competitors",
    [
        ("ring,ring@sendrecv", (), ["ring"]),
        ("ring,tree@compiled", ("pipelined",), ["ring@pipelined", "tree@compiled"]),  # a way given wins
        ("ring", ("compiled", "sendrecv"), ["ring@compiled", "ring"]),
        ("ring,native,tree@compiled", (), ["native", "native@compiled", "ring", "tree@compiled"]),
        ("native@compiled,ring", (), ["native@compiled", "ring"]),
        ("native,native@compiled", (), ["native", "native@compiled"]),
        (
            "ring@pipelined:64K,ring@pipelined:262144,ring@pipelined:256K",
            (),
            ["ring@pipelined:64K", "ring@pipelined:256K"],
        ),
        ("native:ring,native:reduce+bcast,ring@compiled", (), ["native", "native@compiled", *SOME, "ring@compiled"]),
        ("gloo,ring", ("compiled",), ["gloo", "ring@compiled"]),
        ("guidelines", ("compiled",), ["native", *MOCKUPS]),
        ("native:all", (), ["native", *(f"native:{name}" for name in VALUES["Open MPI"])]),
        ("rign@compiled", (), "unknown algorithm 'rign'; did you mean ring?"),
        ("native:rign", (), "did you mean native:ring?"),
        ("native:default,ring", (), "native:default is measured by itself"),
    ],
)
def test_names_and_ways_are_competitors_with_the_native_called_alike(names, ways, competitors):
    if isinstance(competitors, list):
        assert algorithm_fields(parse_names(names), ways, lambda: OPEN_MPI)["competitors"] == tuple(competitors)
    else:
        with pytest.raises(ValueError, match=re.escape(competitors)):
            algorithm_fields(parse_names(names), ways, lambda: OPEN_MPI)


def test_every_algorithm_of_a_file_is_run_the_ways_of_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a@b").mkdir()
    for path in ("a@b/mine@2.py", "mine.py"):
        Path(path).write_text(OWN.replace("naive", "own" + str(len(path))))
    fields = algorithm_fields(("./mine.py@compiled", "./a@b/mine@2.py"), ("pipelined",))
    assert fields["competitors"] == ("own7@compiled", "own13@pipelined")
    assert fields["files"] == tuple(str(tmp_path / path) for path in ("mine.py", "a@b/mine@2.py"))
    plan = Plan(**algorithm_fields(("./mine.py", "./mine.py@compiled")), sizes=(8,), ranks=(2,))
    words = repeat_command(plan)
    assert words[words.index("--algorithms") + 1] == f"{tmp_path}/mine.py,{tmp_path}/mine.py@compiled"


def test_a_resumed_run_takes_the_ways_it_has(tmp_path):
    build_run(tmp_path / "run", algorithms=("native", "ring@pipelined"), choices={"window": 4})
    words = ["-o", str(tmp_path / "run"), "--resume"]

    def resumed(*more: str) -> Plan:
        return planned_run(asked_run(*words, *more))[1]

    assert resumed("--executor", "pipelined").competitors == ("native", "ring@pipelined")
    with pytest.raises(ValueError, match="uses the run's executors pipelined, found compiled"):
        resumed("--executor", "compiled")


def test_a_window_is_for_pipelined_ways(tmp_path):
    refused = CliRunner().invoke(run, ["-n", "2", "-a", "ring", "-o", str(tmp_path / "run"), "--window", "4"])
    sentence = "--window is for pipelined and compiled-pipelined; name one, such as ring@pipelined"
    assert refused.exit_code == 2 and refused.stderr == f"error: {sentence}\n"
    assert not (tmp_path / "run").exists()
