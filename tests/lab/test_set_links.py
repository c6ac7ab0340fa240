"""What `fit` says of a run on virtual hosts: the rate that was set beside the fitted one."""

from dataclasses import replace

from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.lab.command import _beta_of_long_messages, _name
from allreduce_bench.models.forms import Form
from allreduce_bench.models.model import Model, ModelPart, Parameter
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
    assert "ring " in fitted and fitted.endswith("%)")


def test_each_series_counts_by_what_its_long_messages_cost():
    beta, above = (Parameter("beta_s_per_byte", "", edge, value, None, None, True) for edge, value in ((0, 1), (8, 2)))
    made = Model("ring@pipelined", (ModelPart("ring", Form(), (above, beta)),))
    assert _beta_of_long_messages(made) == 2 and _name(made) == "ring@pipelined"
    unknown = ModelPart("tree", Form(), (beta, above._replace(identified=False)))
    assert _beta_of_long_messages(replace(made, parts=(unknown,))) is None
    assert _beta_of_long_messages(replace(made, parts=(unknown, unknown))) is None


def test_other_runs_are_not(tmp_path):
    build_run(tmp_path / "a", algorithms=("native", "ring"), ranks=(2, 3, 4))
    assert "virtual" not in fit(tmp_path / "a").output
