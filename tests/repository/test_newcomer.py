"""What is added by copying one file and its test is green at once: an algorithm, an importer, a figure."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ANALYSIS, JOBS, PACKAGE, ROOT, TESTS

NEW = {  # copy -> the file beside it that it is a copy of, and what is replaced in it
    "allreduce_bench/algorithms/ring2.py": ("ring.py", {"def ring(": "def ring2("}),
    "allreduce_bench/importers/tools/ds_bench2.py": (
        "ds_bench.py",
        {"---- Performance": "---- Achievement", "Performance of": "Achievement of", '"ds_bench"': '"ds_bench2"'},
    ),
    "tests/importers/tools/test_ds_bench2.py": ("test_ds_bench.py", {"---- Performance": "---- Achievement"}),
    "allreduce_bench/report/figures/scaling2.py": ("scaling.py", {'stem="ranks"': 'stem="ranks2"'}),
    "tests/report/figures/test_scaling2.py": ("test_scaling.py", {}),
}
TRIED = (  # what may have a test of a copy, and the rules that read the folders
    *("algorithms", "schedule", "executing", "models", "importers/tools", "report/figures"),
    *("importers/test_importer.py", "report/test_figure.py", "repository/test_house.py", "repository/test_docs.py"),
    *("report/test_page.py", "report/test_pictures.py"),
    *("cli/test_schedules.py", "cli/test_predict.py", "cli/test_repeat_command.py"),
)
CHOSEN = "ring2 or ds_bench2 or scaling2 or test_importer or test_house or each_once or every_figure or be_drawn"


@pytest.fixture
def grown(tmp_path) -> Path:
    """The folder of a copy of this repository that holds what is new."""
    for folder in (PACKAGE, TESTS, ANALYSIS, JOBS, ROOT / "docs", ROOT / "results"):
        shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns(".*", "kernel-*", "*.pyc.*"))
    for path in (*ROOT.glob("*.md"), ROOT / "setup.cfg", ROOT / "Makefile"):
        shutil.copy(path, tmp_path)
    for name, (source, replaced) in NEW.items():
        text = (tmp_path / name).with_name(source).read_text()
        for old, new in replaced.items():
            assert old in text, f"{source}: {old}"
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.docs
def test_copies_are_green_at_once(grown):
    words = ["-v", "-p", "no:cacheprovider", "-k", CHOSEN, *(f"tests/{name}" for name in TRIED)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ALLREDUCE_", "PYTEST_"))}
    environ["PYTHONPATH"] = str(grown)
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=grown, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.findall(r"^(\S+) PASSED", done.stdout, re.MULTILINE)
    for new in ("[ring2]", "test_ds_bench2.py", "test_scaling2.py"):
        assert any(new in test for test in passed), new
