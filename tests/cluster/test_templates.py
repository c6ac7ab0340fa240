"""The templates of jobs can be submitted on this cluster as their page says."""

import re
import subprocess

import pytest
from places import ROOT

PAGE = (ROOT / "jobs" / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    sbatch (-N \d+ )?(jobs/\w+\.sbatch)([^#\n]*)", PAGE, re.MULTILINE)


@pytest.mark.parametrize("template", [template for _, template, _ in COMMANDS])
def test_a_template_is_submitted_as_its_page_says(template):
    words = ["sbatch", "--test-only", "--time=30", "-N", "1" if "collect" in template else "2", str(ROOT / template)]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0 and "to start at" in answer.stderr, answer.stderr


def test_all_templates_stand_on_the_page():
    assert {template for _, template, _ in COMMANDS} == {f"jobs/{path.name}" for path in ROOT.glob("jobs/*.sbatch")}
