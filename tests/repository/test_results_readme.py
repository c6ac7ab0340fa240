"""The explanation of the columns is the program's own."""

import dataclasses
import json
import re

import pytest
from interpreters import interpreters
from measured_runs import bench
from places import ROOT

from allreduce_bench.runs import schema
from allreduce_bench.slurm.job_files import StartRecord

TEXT = (ROOT / "results" / "README.md").read_text()


def test_every_column_is_explained_once():
    found: dict = {}
    for file, columns in (("summary", schema.SUMMARY), ("cells", schema.CELLS), ("calls", schema.CALLS)):
        for column in columns:
            found.setdefault((column.name, column.meaning), []).append(f"`{file}.csv`")
    section = TEXT.partition("## Columns\n")[2].partition("\n## ")[0]
    tables = [part.partition(":\n") for part in re.split(r"^In ", section, flags=re.MULTILINE)[1:]]
    rows = [(row, files) for files, _, text in tables for row in re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", text, re.M)]
    assert len(rows) == len(found) and {row: re.findall("`.+?`", files) for row, files in rows} == found


def fields(file: str) -> set[str]:
    """What the table about `file` explains in its first column."""
    section = TEXT.partition(f"## {file}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))))


def test_every_field_of_a_job_s_record_is_explained():
    assert fields("jobs/*.json") == {field.name for field in dataclasses.fields(StartRecord)}


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_every_field_of_a_launch_is_explained(tmp_path):
    words = ["-n", 2, "--sizes", 8, "-a", "ring", "--iters", 1, "--launches", 1, "-o", tmp_path / "run"]
    assert bench(interpreters()[0], "run", *words).returncode == 0
    facts = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    assert set(facts) <= fields("launches/*.json")
    words = {word for finding in facts["findings"] for word in finding} | set(facts["startup"]) - {"slowest_rank"}
    assert words <= set(re.findall(r"`(\w+)`", TEXT))


def test_the_layout_is_named():
    assert f"This is layout {schema.LAYOUT};" in TEXT
