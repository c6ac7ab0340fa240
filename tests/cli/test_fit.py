"""`fit` as people call it: the tables, the machine file, and one line for what is wrong."""

import re

import pytest
from click.testing import CliRunner
from made_models import DATA, series
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.models.machine import read_machine

PICO = str(DATA / "pico_four_series.csv")


def run(*words):
    return CliRunner().invoke(main, ["fit", *map(str, words)])


@pytest.fixture(scope="module")
def of_pico(tmp_path_factory):
    machine = tmp_path_factory.mktemp("fit") / "machine.json"
    return run(PICO, "-o", machine, "-a", "ring_over,default-*"), machine


def test_the_table_has_alpha_beta_and_how_far_off_it_is(of_pico):
    result, machine = of_pico
    assert result.exit_code == 0, result.output
    head, ring, *_ = result.stdout.splitlines()
    assert all(word in head for word in ("alpha, us", "beta, ps/byte", "held out: median", "P90", "sizes", "ranks"))
    assert ring.startswith("lumi, 1 rank per node: ring_over") and "(not identified)" in ring  # three numbers of ranks
    assert re.search(r"default-recursive_doubling +[\d.]+ \([\d.]+ to [\d.]+\)", result.stdout)
    assert str(machine) in result.stderr


def test_the_machine_file_holds_the_models(of_pico):
    machine = read_machine(of_pico[1])
    assert [model.algorithm for model in machine.models] == ["ring_over", "default-recursive_doubling"]
    assert {run["run"] for run in machine.runs} == {"lumi, 1 rank per node", "fugaku, 1 rank per node"}
    assert machine.models[1].ranks == (8, 64, 512, 4096, 8192) and machine.models[1].held_out.p90 < 0.5


def test_a_run_folder(tmp_path):
    build_run(tmp_path / "a", algorithms=("native", "ring"), ranks=(2, 3, 4), floors=True)
    result = run(tmp_path / "a")
    assert result.exit_code == 0 and "ring" in result.stdout and "native" in result.stdout
    assert "grade of the times" in result.stdout and "gamma of a local reduction" in result.stdout
    assert "a: " not in result.stdout  # one run


def test_a_name_of_a_log_is_told_what_it_is(tmp_path):
    path = tmp_path / "log.csv"
    points = series("ring", noise=0.02).assign(competitor="mystery")
    points[["competitor", "ranks", "size_bytes", "time_s"]].to_csv(path, index=False)
    unknown = run(path)
    assert unknown.exit_code == 2 and "'mystery' are unknown" in unknown.output and "--as" in unknown.output
    assert "mystery as ring" in run(path, "--as", "mystery=ring", "--ranks-per-node", "1").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((PICO, "-a", "rign"), "-a rign: not measured"),
        ((PICO, "--as", "ring_over"), re.escape("expected NAME=ALGORITHM")),
        ((PICO, "--as", "nothing=ring"), "--as nothing=ring.*points of 'nothing'"),
        (
            (DATA / "logs" / "osu_v7.4_2ranks_case1.txt",),
            re.escape(f"{DATA / 'logs' / 'osu_v7.4_2ranks_case1.txt'}: the number"),
        ),
    ],
)
def test_errors_take_one_line(words, message):
    result = run(*words)
    assert result.exit_code == 2 and re.search(message, result.output) and len(result.output.splitlines()) == 1


def test_the_rate_of_a_node_s_link_limits_what_a_beta_may_be(tmp_path):
    """Made times of 10 GB/s and more on nodes of one rank, whose link is said to have 1 MB/s: no beta is that fast."""
    folder = build_run(
        tmp_path / "a",
        ranks=[2, 4],
        outcome=lambda launch, cell: {"nodes": launch.ranks, "wire": "hsn0=4000000"},
        facts={"nodes": 4, "findings": []},
        choices={"link_rate_bytes_per_s": 1e6},
    )
    result = run(folder.path, "-a", "ring")
    assert result.exit_code == 0, result.output
    assert "beta of" in result.stdout and "8 Mbit/s of a node" in result.stdout


def test_logs_of_one_name_in_two_folders_are_two_series(tmp_path):
    for folder, slower in (("a", 1), ("b", 9)):
        (tmp_path / folder).mkdir()
        points = series("ring", noise=0.02)
        points = points.assign(time_s=points["time_s"] * slower)
        points[["competitor", "ranks", "nodes", "size_bytes", "time_s"]].to_csv(
            tmp_path / folder / "log.csv", index=False
        )
    logs, machine = [tmp_path / folder / "log.csv" for folder in "ab"], tmp_path / "machine.json"
    run(*logs, "-o", machine)
    assert {model.run for model in read_machine(machine).models} == set(map(str, logs))
    run(logs[0], logs[0], "-o", machine)  # a log that is named twice is one
    assert [model.run for model in read_machine(machine).models] == ["log.csv"]


def test_the_name_of_a_log_steers_no_terminal(tmp_path):
    path = tmp_path / "\a\x9b31m.csv"  # click itself takes away colours
    points = series("ring", noise=0.02)
    text = points[["competitor", "ranks", "nodes", "size_bytes", "time_s"]].to_csv(index=False)
    path.write_text(f"{text}ring,2,1,8,\n")
    result = run(path)
    assert result.exit_code == 0 and "have no time" in result.stderr and not {"\a", "\x9b"} & {*result.output}
