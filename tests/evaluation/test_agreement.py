"""Who has the same bits as whom: told from the summary of a run, in sentences, in the report, and as warnings."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.agreement import bits_sentences, broken_promise
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.caveats import find_caveats
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table

SIZES, NAMES = (8, 1024, 65536), ("native", "ring", "two_tree", "naive")


def bits_of(launch, cell) -> dict:
    """Ring and two_tree agree up to 1 KiB; naive differs between ranks, native between calls at 64 KiB."""
    large = cell.size_bytes == 65536
    promised = {"promised_same_bits": cell.algorithm != "naive", "promised_rank_order": False, "promised_depth": 3}
    bits = {"ring": "aa", "two_tree": "bb" if large else "aa", "naive": "cc", "native": "dd"}[cell.algorithm]
    return {
        **({} if cell.algorithm == "native" else promised),
        "same_bits": cell.algorithm != "naive",
        "same_bits_calls": not (cell.algorithm == "native" and large),
        "bits": f"{bits}{cell.size_bytes}",
        "schedule_digest": "" if cell.algorithm == "native" else cell.algorithm,
    }


def run(path, change=lambda launch, cell, facts: {}, **options):
    def outcome(launch, cell):
        facts = bits_of(launch, cell)
        return facts | change(launch, cell, facts)

    choices = {"check": "bits", **options.pop("choices", {})}
    return build_run(
        path / "run", algorithms=NAMES, sizes=SIZES, ranks=(4,), outcome=outcome, choices=choices, **options
    )


def test_the_sentences_of_a_run(tmp_path):
    folder = run(tmp_path)
    assert bits_sentences(folder.plan(), summarise(folder)) == [
        "bits: ring, two_tree: equal on all ranks, calls and launches; naive differs between ranks at all sizes; "
        "native differs between calls at 64 KiB",
    ]


def test_algorithms_that_agree_at_every_size_are_named(tmp_path):
    folder = run(
        tmp_path, lambda launch, cell, facts: {"bits": f"{facts['bits'][:1]}{cell.size_bytes}".replace("b", "a")}
    )
    assert "bits: the same result at every size: ring = two_tree" in bits_sentences(folder.plan(), summarise(folder))
    same = {"bits": "x", "same_bits": True, "same_bits_calls": True}
    folder = run(tmp_path / "all", lambda launch, cell, facts: same)
    assert bits_sentences(folder.plan(), summarise(folder)) == [
        "bits: native, ring, two_tree, naive: equal on all ranks, calls and launches",
        "bits: all algorithms give the same result at every size",
    ]


def test_other_bits_in_a_longer_vector_are_told(tmp_path):
    def change(launch, cell, facts):
        same = cell.algorithm == "two_tree" or (cell.algorithm == "ring" and launch.number > 1)
        shorter = {1024: 8, 65536: 1024}.get(cell.size_bytes, 0)
        prefix = {"native": "dd", "ring": "aa", "two_tree": "aa", "naive": "cc"}[cell.algorithm]
        return {"bits_of_shorter": f"{shorter}:{prefix}{shorter if same else ''}"} if shorter else {}

    folder = run(tmp_path, change)
    rows = summarise(folder)
    same = {(row["competitor"], row["size_bytes"]): row["same_bits_lengths"] for row in rows}
    assert {same[name, 8] for name in NAMES} == {None}
    assert {name: (same[name, 1024], same[name, 65536]) for name in NAMES} == {
        "native": (0, 0),
        "ring": (0, 0),  # in one launch
        "two_tree": (1, 1),
        "naive": (0, 0),
    }
    told = bits_sentences(folder.plan(), rows)
    assert "bits: the same data has the same bits in a longer vector: two_tree" in told
    assert "bits: the same data has other bits in a longer vector: native, ring, naive" in told


def test_a_single_launch_is_not_called_equal_to_others(tmp_path):
    folder = run(tmp_path, launches=1)
    rows = summarise(folder)
    assert all(row["same_bits_launches"] is None for row in rows)
    assert bits_sentences(folder.plan(), rows)[0].startswith("bits: ring, two_tree: equal on all ranks and calls;")


CONTRADICTIONS = [
    ("two_tree", {"same_bits": False}, "the schedule guarantees equal bits on all ranks, but the bits differ"),
    ("naive", {"same_bits_calls": False}, "but repeated calls gave different bits"),
]


@pytest.mark.parametrize("name, facts, words", CONTRADICTIONS, ids=["ranks", "calls"])
def test_a_contradicted_promise_is_a_bad_finding_named_first(tmp_path, name, facts, words):
    folder = run(tmp_path, lambda launch, cell, _: facts if cell.algorithm == name and launch.number == 2 else {})
    rows = summarise(folder)
    assert {row["competitor"] for row in rows if broken_promise(row)} == {name}
    first, *others = find_caveats(rows, folder.attempts())
    assert (first.level, first.badge) == ("bad", f"BROKEN PROMISE: {name}")
    assert first.texts[0].startswith(f"{name} at 4 ranks, 8 B, 1 KiB, 64 KiB: ") and words in first.texts[0]
    assert not any(finding.badge.startswith("bits change") and name in finding.badge for finding in others)
    assert f"BROKEN PROMISE: {name} at " in table(folder.plan(), rows, "an MPI")


def test_different_bits_in_another_launch_contradict_a_schedule_only_if_it_was_the_same(tmp_path):
    def changed(launch, cell, facts):
        return {"bits": f"{facts['bits']}{launch.number}"}

    rows = summarise(run(tmp_path, changed))
    assert {row["competitor"] for row in rows if broken_promise(row)} == {"ring", "two_tree", "naive"}  # not native
    rows = summarise(run(tmp_path / "b", lambda *all: changed(*all) | {"schedule_digest": str(all[0].number)}))
    assert not any(map(broken_promise, rows))
    badges = [finding.badge for finding in find_caveats(rows, [])]
    assert "bits change between launches: native, ring, two_tree, naive" in badges
    assert "bits change between calls: native" in badges


def test_the_report_says_the_same_of_bits(tmp_path, words_only):
    folder = run(tmp_path)
    page = write_report([folder], tmp_path / "page.html").read_text()
    section = page[page.index("<h2>Bits</h2>") : page.index(">Which algorithm")]
    assert "MPI 4.0, 6.9.1" in section
    assert all(f"<p>{sentence}.</p>" in section for sentence in bits_sentences(folder.plan(), summarise(folder)))
    assert "compared between" in page and "6 calls" in page


def test_bits_of_integers_are_those_of_the_exact_check(tmp_path):
    unknown = dict.fromkeys(("same_bits", "same_bits_calls", "bits"))
    folder = run(tmp_path, lambda *_: unknown, choices={"dtype": "int32"})
    assert bits_sentences(folder.plan(), summarise(folder)) == [
        "bits: int32 reductions are exact in any order, so the result check covers the bits"
    ]
