"""The ReFrame check, run by ReFrame's own command line: figures in its report, references that count."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from places import JOBS

pytestmark = [
    pytest.mark.skipif(not find_spec("reframe"), reason="ReFrame is not installed here"),
    pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI"),
]

FEW = "--launches,1,--iters,5,--identify=never"
CHECK = JOBS / "reframe" / "allreduce_check.py"
SITE = """site_configuration = {"systems": [{"name": "here", "hostnames": [".*"], "partitions": [
    {"name": "cpu", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"]}]}],
    "environments": [{"name": "builtin"}]}
"""


def reframe(folder: Path, check: Path, python: Path, *words: str) -> tuple[subprocess.CompletedProcess, dict]:
    """ReFrame's run of the check with everything that it writes in `folder`; and the test case of its report."""
    command = [Path(sys.executable).with_name("reframe"), "-c", check, "-r", "--prefix", folder]
    command += ["--report-file", folder / "report.json", "-S", f"program={python} -m allreduce_bench"]
    command += ["-S", "sizes=8,64K", "-S", f"options={FEW}", *words]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environ = {**os.environ, **as_root, "HOME": str(folder), "TMPDIR": str(folder)}
    environ["PATH"] = f"{python.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        list(map(str, command)), env=environ, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    report = json.loads((folder / "report.json").read_text())
    return done, report["runs"][0]["testcases"][0]


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("launcher", ["local", "mpirun"])
def test_the_check_passes_and_reports_the_figures_of_every_cell(python, launcher, tmp_path):
    in_turn(launcher == "local", python)
    (tmp_path / "site.py").write_text(SITE)
    site = [] if launcher == "local" else ["-C", str(tmp_path / "site.py")]
    done, case = reframe(tmp_path, CHECK.parent, python, *site)
    assert done.returncode == 0 and case["result"] == "pass", done.stdout + done.stderr
    found = {name.split(":")[-1]: figure for name, figure in case["perfvalues"].items()}
    cells = [f"{algorithm}_{size}" for algorithm in ("native", "ring") for size in ("8", "64K")]
    assert set(found) == {f"{cell}_{figure}" for cell in cells for figure in ("busbw", "time")}
    for name, (value, *_, unit, _) in found.items():
        assert value > 0 and unit == ("GB/s" if name.endswith("busbw") else "us")
    size_bytes, time_us = 65536, found["ring_64K_time"][0]  # of two ranks: busbw = size_bytes / time
    assert found["ring_64K_busbw"][0] == pytest.approx(size_bytes / time_us / 1e3)
    assert list(tmp_path.glob("output/**/run/summary.csv"))  # kept for a report


@pytest.mark.slow
def test_a_reference_that_is_missed_and_a_run_that_fails_are_seen(tmp_path):
    python, reference = interpreters()[0], "{'*': {'ring_64K_busbw': (1e6, -0.1, None, 'GB/s')}}"
    strict = tmp_path / "strict.py"
    strict.write_text(
        CHECK.read_text().replace("    num_tasks = 2\n", f"    num_tasks = 2\n    reference = {reference}\n")
    )
    done, case = reframe(tmp_path, strict, python)
    assert done.returncode == 1 and case["fail_phase"] == "performance", done.stdout
    done, case = reframe(tmp_path, CHECK, python, "-S", f"options={FEW},--min-busbw,64K:1000000")
    assert done.returncode == 1 and case["fail_phase"] == "sanity"
    assert "the run ended with status 1" in case["fail_reason"]
