"""The Python of docs/formats.md runs."""

import re

from made_runs import build_run
from places import ROOT

from allreduce_bench.evaluation.summary import record_summary

TEXT = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_runs(tmp_path, capsys):
    record_summary(build_run(tmp_path / "results" / "one", ranks=(2,), launches=1, sizes=(8, 1024)))
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["plan"]["ranks"] == [2] and list(names["ring"]["size_bytes"]) == [8, 1024]
    assert sum(map(bool, code.splitlines())) == 5 and "1024" in capsys.readouterr().out
