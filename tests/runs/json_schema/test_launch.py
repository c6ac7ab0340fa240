"""Everything that a launch keeps is described: of real ones on each MPI, and of those of other tools' logs."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from measured_runs import bench
from places import LOGS
from strict_schemas import EXAMPLE, FORMATS, changed, undescribed, undescribed_of_folder

from allreduce_bench.cli import main
from allreduce_bench.machine.core_load import cores_of_ranks
from allreduce_bench.runs.json_schema.check import document_violations

QUICK = ("--sizes", "8,1K", "--iters", 2, "--launches", 1)
KEPT = json.loads((EXAMPLE / "launches" / "2r-1.1.json").read_text())


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize(
    "words",
    [
        ("-n", 2, "-a", "native,ring", "--cache", "cold", "--record", "all", "--check", "bits", "--back-to-back", 2),
        ("-n", 4, "-a", "tree", "--groups", "2", "--within", "5m", "--pretend-ranks-per-node", 2),
    ],
    ids=["cold cache", "groups"],
)
@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_a_run_of_today_writes_nothing_that_is_not_described(python, words, tmp_path):
    in_turn("--groups" in words, python)
    result = bench(python, "run", *words, *QUICK, "--format", "json", "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert undescribed_of_folder(tmp_path / "run") == []
    assert undescribed("result", result.stdout) == []


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("osu_v5.8_eks_256nodes_24576ranks.out", ()),
        ("imb_2021.11_real_4ranks_npmin2.txt", ()),
        ("nccl_cscs_alps_8xGH200_ofi_hook_good.txt", ("--in-place",)),
    ],
)
def test_imported_launches_are_described(log, words, tmp_path):
    result = CliRunner().invoke(main, ["import", str(LOGS / log), *words, "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert undescribed_of_folder(tmp_path / "run") == []


def test_a_log_from_a_pipe_has_no_digest_and_is_described(tmp_path):
    content = (LOGS / "osu_v5.8_eks_256nodes_24576ranks.out").read_bytes()
    words = [sys.executable, "-m", "allreduce_bench", "import", "/dev/stdin", "-o", str(tmp_path / "run")]
    subprocess.run(words, input=content, capture_output=True, check=True)
    (file,) = json.loads((tmp_path / "run" / "run.json").read_text())["imported"]["files"]
    assert file["sha256"] is None and undescribed_of_folder(tmp_path / "run") == []


@pytest.mark.parametrize(
    ("path", "to", "place"),
    [
        (("ranks",), "2", "ranks"),
        (("startup", "init_s"), "1.0", "startup.init_s"),
        (("machines", 0, "timer", "cost_s"), -1.0, "machines[0].timer.cost_s"),
        (("findings", 0, "level"), "terrible", "findings[0].level"),
        (("launch",), "../4r-2", "launch"),
        (("hosts",), {}, "hosts"),
    ],
)
def test_a_changed_type_is_refused(path, to, place):
    assert undescribed("launch", json.dumps(KEPT)) == []
    (violation,) = document_violations(FORMATS["launch"], changed(KEPT, *path, to=to).encode(), "file")
    assert violation.place == place


def test_what_nodes_count_is_described():
    ports = {"mlx5_0:1": {"counted": {"symbol_error": 2}, "degraded": ["has one lane: 25 Gb/sec (1X EDR)"]}, "eth0": {}}
    facts = {"host": "n1", "elapsed_s": 1.0, "threads": {0: (0.5, 0.0)}, "throttled": 3, "clock": 0.9, "ports": ports}
    counted = cores_of_ranks(facts, {0}, 0.4)
    assert undescribed("launch", json.dumps({**KEPT, "counted": [counted]})) == []
