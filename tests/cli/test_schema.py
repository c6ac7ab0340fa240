"""`schema` as people type it: the list, one schema, and files that are held against them."""

import json
import re

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run
from places import ROOT
from strict_schemas import EXAMPLE, FORMATS

from allreduce_bench.cli import main


def schema(*words: object, stdin: str | None = None, status: int = 0) -> Result:
    result = CliRunner().invoke(main, ["schema", *map(str, words)], input=stdin)
    assert result.exit_code == status, result.output
    return result


def test_the_list_names_every_schema_with_its_version():
    lines = schema().stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[one.name, str(one.version)] for one in FORMATS.values()]
    assert all(len(line) < 100 for line in lines)


def test_a_schema_is_printed_by_its_name_or_its_id():
    document = json.loads(schema("run").stdout)
    assert document == FORMATS["run"].document() == json.loads(schema(FORMATS["run"].id).stdout)


def test_a_folder_and_what_a_command_prints_are_checked(tmp_path):
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in (".json", ".csv") and "figures" not in str(path)]
    said = schema("--check", EXAMPLE)
    assert said.stdout == "" and said.stderr == f"{EXAMPLE}: {len(files)} files checked\n"
    machine = tmp_path / "machine.json"  # not into the example
    fit = CliRunner().invoke(main, ["fit", str(EXAMPLE), "-o", str(machine), "--format", "json"]).stdout
    assert schema("--check", "-", stdin=fit).stderr == "-: 1 file checked\n"


def test_each_violation_is_a_line_and_the_status_is_1(tmp_path):
    run = build_run(tmp_path / "sweep" / "run", ranks=(2,), launches=1, sizes=(8,)).path
    kept = (EXAMPLE / "launches" / "2r-1.1.json").read_text()
    (run / "launches" / "2r-1.1.json").write_text(kept.replace("2x1", "\x1b[2J"))  # which clears a terminal
    damaged = json.loads((run / "run.json").read_text()) | {"command": "run", "created": 5}
    (run / "run.json").write_text(json.dumps(damaged))
    said = schema("--check", tmp_path / "sweep", status=1)
    assert said.stdout.splitlines()[:2] == [
        f'{run}/run.json, command: expected a list, found "run"',
        f"{run}/run.json, created: expected text, found 5",
    ]
    assert "error: 2 files are not valid" in said.stderr.splitlines()[-1]
    assert "\x1b" not in said.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rum"], "schema 'rum'"),
        (["run", "launch"], "2 names"),
        (["--check"], "stdin"),
        (["--as", "run", "x"], re.escape("--as needs --check and a path")),
        (["--check", "--as", "rum", "x"], re.escape("unknown schema 'rum'")),
        (["--check", "/dev/null"], re.escape("/dev/null: unknown schema; add --as NAME")),
        (["--check", "no such file"], re.escape("no such file: no such file or directory")),
        (["--check", str(ROOT / "tests")], "or a sweep"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words, sentence):
    said = schema(*words, status=2)
    assert re.search(sentence, said.stderr) and said.stderr.count("\n") == 1 and not said.stdout


def test_a_file_is_held_against_the_schema_that_is_named():
    said = schema("--check", "--as", "machine", EXAMPLE / "run.json", status=1)
    assert "run.json: expected the fields kind, models, " in said.stdout


def test_rows_are_known_by_their_columns(tmp_path):
    run = build_run(tmp_path / "run")
    printed = CliRunner().invoke(main, ["show", str(run.path), "--format", "csv"]).stdout
    (tmp_path / "printed.csv").write_text(printed)
    assert "1 file checked" in schema("--check", tmp_path / "printed.csv", status=0).stderr
    (tmp_path / "printed.csv").write_text(printed.replace(",done,", ",over,"))
    schema("--check", tmp_path / "printed.csv", status=1)
