"""Machine files and `fit --format json` are described in full; a changed type is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from strict_schemas import EXAMPLE, FORMATS, changed, undescribed

from allreduce_bench.cli import main
from allreduce_bench.models.machine import Prices, bare_machine
from allreduce_bench.runs.json_schema.check import document_violations


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Path, str]:
    """A machine file, and what `fit --format json` printed."""
    machine = tmp_path_factory.mktemp("fit") / "machine.json"
    words = ["fit", str(EXAMPLE), "--format", "json", "-o", str(machine)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return machine, result.stdout


def test_what_fit_writes_is_described(written):
    machine, printed = written
    assert undescribed("machine", machine.read_text()) == [] == undescribed("fit", printed)


def test_bare_machines_are_described():
    machine = bare_machine(1e-6, 1e-10, 1e-11, Prices(1e-7, 1e-11))
    assert undescribed("machine", json.dumps(machine.to_json())) == []


@pytest.mark.parametrize(
    ("name", "path", "to", "place"),
    [
        ("machine", ("schema_version",), 2, "schema_version"),
        ("machine", ("models", 0, "parts", 0, 2, 0, 3), "1e-6", "models[0].parts[0][2][0][3]"),
        ("machine", ("runs", 0, "ranks"), 4, "runs[0].ranks"),
        ("fit", ("models", 0, "parts", 0, "parameters", 0, "identified"), 1, None),
        ("fit", ("pooled",), [], "pooled"),
        ("fit", ("schema",), "urn:allreduce-bench:fit:0", "schema"),
    ],
)
def test_a_changed_type_is_refused(written, name, path, to, place):
    content = json.loads(written[0].read_text() if name == "machine" else written[1])
    (violation,) = document_violations(FORMATS[name], changed(content, *path, to=to).encode(), "file")
    assert violation.place == place or (place is None and violation.place.endswith("identified"))
