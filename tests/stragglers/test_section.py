"""The section of a page about who arrives late."""

import json

from made_inspector import Job, write_job
from made_runs import build_run

from allreduce_bench.importers import keep, read
from allreduce_bench.report.page import write_report
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.section import straggler_section


def imported(path, job: Job) -> RunFolder:
    write_job(path / "job", job)
    folder = RunFolder(path / "run")
    keep(read(path / "job"), folder, [], {})
    return folder


def test_the_section_has_verdict_table_and_figure(tmp_path):
    section = straggler_section(imported(tmp_path, Job(steps=40)))
    (part,), (sketch,) = section["stragglers"], section["straggler_pictures"]
    picture = sketch.draw()
    assert part["lead"].startswith("rank 5 on node gpu01 arrives last") and part["rows"][0][0] == "rank 5 on node gpu01"
    assert part["stem"] == sketch.stem == "arrivals" and set(picture.numbers) == {"step", "rank", "late_s"}


def test_a_plain_run_has_no_section(tmp_path):
    section = straggler_section(build_run(tmp_path / "run"))
    assert section["stragglers"] == section["straggler_pictures"] == []


def test_a_page_shows_it_with_names_escaped(tmp_path, words_only):
    write_job(tmp_path / "job", Job(steps=30))
    for path in (tmp_path / "job").iterdir():
        path.write_text(path.read_text().replace("gpu01", "<b>evil</b>"))
    folder = RunFolder(tmp_path / "run")
    keep(read(tmp_path / "job"), folder, [], {})
    page = write_report([folder], tmp_path / "page.html").read_text()
    assert 'id="run1-stragglers">Who arrives late' in page and "&lt;b&gt;evil&lt;/b&gt; arrives last in 100 %" in page
    assert page.index('aria-label="Contents') < page.index('<p class="late">') < page.index('id="run1-stragglers">')
    assert page.index('id="run1-stragglers">') < page.index('id="run1-times">') and "<summary>Figure:" not in page
    assert "<b>evil" not in page and (tmp_path / "page_figures" / "arrivals.csv").exists()
    assert json.loads((folder.launches / "8r-1.1.json").read_text())["node_of"] == [0, 0, 0, 0, 1, 1, 1, 1]
