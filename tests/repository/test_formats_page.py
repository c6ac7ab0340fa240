"""docs/formats.md names every schema, keeps the promise word for word, and its Python runs."""

import re

from made_runs import build_run
from places import ROOT
from strict_schemas import FORMATS

from allreduce_bench.evaluation.summary import record_summary
from allreduce_bench.runs.json_schema.build import PROMISE

TEXT = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def test_every_schema_is_in_the_table():
    rows = " ".join(re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE))
    assert set(re.findall(r"`([\w-]+)`", rows)) == set(FORMATS)


def test_the_promise_is_that_of_the_schemas():
    assert PROMISE in " ".join(TEXT.split())


def test_the_python_of_the_page_runs(tmp_path, capsys):
    record_summary(build_run(tmp_path / "results" / "one", ranks=(2,), launches=1, sizes=(8, 1024)))
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["plan"]["ranks"] == [2] and list(names["ring"]["nbytes"]) == [8, 1024]
    assert sum(map(bool, code.splitlines())) == 5 and "1024" in capsys.readouterr().out
