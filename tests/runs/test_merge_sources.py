"""What a merged run says of its sources, and that a damaged list of them is refused."""

from allreduce_bench.runs.folder import RunFolder, merged_sources, merged_sources_sentence
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.recorder import create_run

SOURCE = {"name": "a", "sha256": "0123456789abcdef" * 4, "seed": 1, "launches": {"8r-1": "8r-6", "8r-2": "8r-2"}}


def merged_run(path, merged: list | None) -> RunFolder:
    folder = RunFolder(path)
    create_run(folder, Plan(("ring",), (8,), (8,), seed=1), ["allreduce-bench"], merged=merged)
    return folder


def test_sources_are_read_back_and_other_runs_have_none(tmp_path):
    assert merged_sources(merged_run(tmp_path / "new", [SOURCE])) == [SOURCE]
    assert merged_sources(merged_run(tmp_path / "plain", None)) == []


def test_the_sentence_names_launches_that_were_renamed():
    sentence = merged_sources_sentence([SOURCE, {**SOURCE, "name": "b", "launches": {}}])
    assert sentence.startswith("a (sha256 0123456789abcdef, seed 1, 8r-1 as 8r-6); b (sha256 0123456789abcdef, seed 1)")
