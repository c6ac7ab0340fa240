"""The Slurm job template: valid by itself, quoted, and it runs what it says."""

import os
import re
import subprocess
from pathlib import Path

JOB = Path(__file__).parents[1] / "jobs" / "sweep.sbatch"


def directives() -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?", JOB.read_text(), re.MULTILINE))


def test_the_template_has_defaults_for_every_directive_a_job_needs():
    found = directives()
    assert {"job-name", "nodes", "ntasks-per-node", "time", "output"} <= set(found)
    assert JOB.read_text().startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n", str(JOB)], check=False).returncode == 0


def run_job(folder: Path, status: int = 0) -> tuple[subprocess.CompletedProcess, list[list[str]]]:
    """Run the script as slurmd would, with a program in place of allreduce-bench that writes down its arguments."""
    program = folder / ".venv" / "bin" / "allreduce-bench"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/bash\nprintf "%s\\0" "$@" >> "{folder}/calls"; printf "\\n" >> "{folder}/calls"; exit {status}\n'
    )
    program.chmod(0o755)
    environ = {
        "PATH": os.environ["PATH"],
        "SLURM_SUBMIT_DIR": str(folder),
        "SLURM_JOB_NAME": "all reduce; touch hacked",
        "SLURM_JOB_ID": "77",
        "SLURM_NTASKS": "16",
    }
    result = subprocess.run(["bash", str(JOB)], env=environ, cwd=folder, capture_output=True, text=True, check=False)
    calls = [line.split("\0")[:-1] for line in (folder / "calls").read_text().splitlines()]
    return result, calls


def test_the_job_measures_with_all_its_ranks_and_then_reports(tmp_path):
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    result, (run, report) = run_job(folder)
    assert result.returncode == 0, result.stderr
    output = f"{folder}/results/all reduce; touch hacked-77"
    assert run[:3] == ["run", "--ranks", "16"] and "--resume" in run
    assert run[run.index("--launcher") + 1] == "auto" and run[run.index("--interface") + 1] == ""
    assert run[run.index("--output") + 1] == output and report == ["report", output]
    assert not (folder / "hacked").exists()


def test_a_run_that_fails_fails_the_job(tmp_path):
    result, calls = run_job(tmp_path, status=1)
    assert result.returncode == 1 and [call[0] for call in calls] == ["run", "report"]


def test_its_options_are_options_of_run(tmp_path):
    from click.testing import CliRunner

    from allreduce_bench.cli import main

    _, calls = run_job(tmp_path)
    known = CliRunner().invoke(main, ["run", "--help"]).output
    assert all(word in known for word in calls[0] if word.startswith("--"))
