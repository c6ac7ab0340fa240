"""A working folder for the commands of the pages."""

import shutil
from pathlib import Path

import pytest
from places import ANALYSIS, LOGS, ROOT
from shown_commands import own_algorithm


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Path:
    """A folder like a clone, with what the pages name: logs, the example run, an algorithm of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # what one command has fitted the next one reads
    shutil.copytree(ANALYSIS / "data", tmp_path / "analysis" / "data")
    shutil.copytree(ROOT / "docs" / "example", tmp_path / "docs" / "example")
    (tmp_path / "mine.py").write_text(own_algorithm())
    shutil.copy(LOGS / "osu_v7.4_2ranks_case1.txt", tmp_path / "osu.txt")
    shutil.copy(ANALYSIS / "data" / "pico_lumi_fugaku.csv", tmp_path / "pico.csv")
    (tmp_path / "all.csv").write_text("procs,bytes,latency\n4,8,1.5\n4,64,2.5\n")
    return tmp_path
