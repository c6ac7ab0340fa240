"""What `fit` says of a run on virtual hosts: the rate that was set beside the fitted one."""

from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.runs.start import Start

START = Start(hosts=("h1", "h2"), virtual_rates_bytes_per_s=(12.5e6, 12.5e6))


def fit(*words):
    return CliRunner().invoke(main, ["fit", *map(str, words)])


def test_a_run_on_virtual_hosts_is_held_against_its_links(tmp_path):
    build_run(tmp_path / "a", algorithms=("native", "ring"), ranks=(2, 3, 4), choices={"start": START})
    result = fit(tmp_path / "a")
    assert result.exit_code == 0, result.output
    line = result.stderr.splitlines()[-1]
    assert line.startswith("a: 2 virtual hosts of one machine, links of 100 Mbit/s: they are set to a beta of 80590")
    fitted = line.partition("fitted: ")[2]
    assert "ring " in fitted and "native as " in fitted and fitted.endswith("%)")


def test_other_runs_are_not(tmp_path):
    build_run(tmp_path / "a", algorithms=("native", "ring"), ranks=(2, 3, 4))
    assert "virtual" not in fit(tmp_path / "a").output
