"""The scripts by hand can be submitted on this cluster as their page says."""

import re
import subprocess

import pytest
from places import ROOT

PAGE = (ROOT / "jobs" / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    sbatch (-N \d+ )?(jobs/\w+\.sbatch)([^#\n]*)", PAGE, re.MULTILINE)


@pytest.mark.parametrize("script", [script for _, script, _ in COMMANDS])
def test_a_script_is_submitted_as_its_page_says(script):
    words = ["sbatch", "--test-only", "--time=30", "-N", "1" if "collect" in script else "2", str(ROOT / script)]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0 and "to start at" in answer.stderr, answer.stderr


def test_all_scripts_stand_on_the_page():
    assert {script for _, script, _ in COMMANDS} == {f"jobs/{path.name}" for path in ROOT.glob("jobs/*.sbatch")}
