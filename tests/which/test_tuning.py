"""Rules made from runs: where one stands, where none does and why, and runs that are no source."""

import pytest
from click.testing import CliRunner
from made_runs import build_run
from made_tunings import NAMES, OTHER_HOST, SIZES, halved, tuned_run
from places import LOGS

from allreduce_bench.cli import main
from allreduce_bench.which.tuning import TuneError, algorithm_at, make_tuning


def test_a_rule_stands_where_two_runs_agree(tmp_path):
    first = tuned_run(tmp_path / "a", halved("native:ring", SIZES[1:]), ran=("rabenseifner",))
    second = tuned_run(tmp_path / "b", halved("native:ring", SIZES[2:]), facts=OTHER_HOST)
    tuning = make_tuning([first, second])
    (rule,) = tuning.rules
    assert (rule.ranks, rule.low_bytes, rule.high_bytes, rule.algorithm) == (2, 1024, 1 << 20, "ring")
    assert rule.default == ("rabenseifner",) and rule.rounds == 10
    assert 1.5 < rule.worst <= rule.least <= rule.most < 2.6
    assert not tuning.is_draft and tuning.library == "Open MPI 5.0.11"
    assert algorithm_at(tuning, 2, 2000) == "ring"
    assert not algorithm_at(tuning, 2, 1023) and not algorithm_at(tuning, 3, 2000)


def test_runs_of_one_day_and_host_are_one_allocation(tmp_path):
    paths = [tuned_run(tmp_path / name, halved("native:ring", SIZES)) for name in "ab"]
    assert make_tuning(paths[:1]).is_draft and make_tuning(paths).is_draft


@pytest.mark.parametrize(
    "gains, ran, why",
    [
        (halved("native:ring", SIZES), ("ring",), "default runs already"),
        (halved("native:ring", SIZES[2:3]), (), "one size alone"),
        ({"native:ring": dict.fromkeys(SIZES, 0.93)}, (), ""),
    ],
)
def test_what_is_faster_without_a_rule_is_said(tmp_path, gains, ran, why):
    tuning = make_tuning([tuned_run(tmp_path / "run", gains, ran)])
    assert not tuning.rules
    assert why in "; ".join(tuning.left) and bool(why) == bool(tuning.left)


def test_variables_that_told_the_default_something_are_said(tmp_path):
    variables = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "ring"}
    path = tuned_run(tmp_path / "run", {}, facts={"variables": {**variables, "UCX_TLS": "tcp"}})
    assert make_tuning([path]).told == "coll_tuned_allreduce_algorithm=ring"


def test_a_round_in_which_it_is_hardly_faster_costs_the_rule(tmp_path):
    def factor(launch, cell):
        if cell.competitor != "native:ring":
            return 1.0
        return 1.0 if launch.number == 3 and cell.size_bytes > 1024 else 0.5

    path = tmp_path / "run"
    build_run(path, algorithms=NAMES, sizes=SIZES, ranks=(2,), launches=5, factor=factor)
    (rule,) = make_tuning([path]).rules
    assert rule.high_bytes == 1024


def test_two_equal_algorithms_do_not_take_turns(tmp_path):
    shares = {size: 0.5 + 0.02 * (-1) ** number for number, size in enumerate(SIZES)}
    others = {size: 1.02 - share for size, share in shares.items()}
    gains = {"native:ring": shares, "native:rabenseifner": others}
    (rule,) = make_tuning([tuned_run(tmp_path / "run", gains)]).rules
    assert (rule.low_bytes, rule.high_bytes) == (SIZES[0], SIZES[-1])


def two_libraries(tmp_path):
    other = {"mpi": {"library": "MPICH 5.0.2", "mpi_standard": "4.1", "thread_level": "single"}}
    return [tuned_run(tmp_path / "a", {}), tuned_run(tmp_path / "b", {}, facts=other)]


def of_intel(tmp_path):
    other = {"mpi": {"library": "Intel MPI 2021.18", "mpi_standard": "4.1", "thread_level": "single"}}
    return [tuned_run(tmp_path / "a", {}, facts=other)]


def two_nodes(tmp_path):
    return [tuned_run(tmp_path / "a", {}, facts={"nodes": 2, "hosts": ["n1", "n2"], "layout": "2x1"})]


def imported(path):
    log, folder = LOGS / "osu_v5.6.2_stackhpc_csd3.txt", path / "imported"
    CliRunner().invoke(main, ["import", str(log), "--ranks", "2", "-o", str(folder)])
    return [folder]


def same_twice(tmp_path):
    path = tuned_run(tmp_path / "a", {})
    return [path, path]


def without_forced(tmp_path):
    def outcome(launch, cell):
        return None if cell.competitor.is_forced else {}

    return [tuned_run(tmp_path / "a", {}, outcome=outcome)]


REFUSED = {
    "the same run twice": (same_twice, "the same run"),
    "nothing of the library measured": (without_forced, "--resume -o"),
    "few launches": (lambda path: [tuned_run(path / "a", {}, launches=3)], "found fewer"),
    "none of the library": (lambda path: [tuned_run(path / "a", {}, algorithms=("native", "ring"))], "native:"),
    "one size": (lambda path: [tuned_run(path / "a", {}, sizes=(1024,))], "two sizes"),
    "two libraries": (two_libraries, "MPICH 5.0.2"),
    "a library without such files": (of_intel, "I_MPI_ADJUST_ALLREDUCE"),
    "several nodes": (two_nodes, "2 nodes"),
    "two conditions": (
        lambda path: [tuned_run(path / "a", {}), tuned_run(path / "b", {}, choices={"dtype": "float64"})],
        "dtype",
    ),
    "no number of ranks in common": (
        lambda path: [tuned_run(path / "a", {}), tuned_run(path / "b", {}, ranks=(3,))],
        "in common",
    ),
    "imported": (imported, "imported"),
}


@pytest.mark.parametrize("made, said", REFUSED.values(), ids=REFUSED)
def test_runs_that_are_no_source_are_refused(tmp_path, made, said):
    with pytest.raises(TuneError, match=said) as caught:
        make_tuning(made(tmp_path))
    assert "\n" not in str(caught.value)
