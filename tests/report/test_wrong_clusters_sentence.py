"""What people read of wrong results that gather: in the table, on the page, after an import."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.caveats import cluster_sentences, find_caveats
from allreduce_bench.report.table import table

MIB = 1 << 20


def rows_with(wrong: dict[tuple[int, int], int]) -> list[dict]:
    cells = [(ranks, 8 << i) for ranks in (4, 8, 16, 32, 64) for i in range(30)]
    return [
        {"ranks": p, "size_bytes": size_bytes, "checked_launches": 20, "wrong_launches": wrong.get((p, size_bytes), 0)}
        for p, size_bytes in cells
    ]


def test_the_share_the_place_and_the_chance_are_said():
    scattered = {(4 << (i % 5), 8 << (i + 1)): 1 for i in range(15)}
    gathered = {(p, p * MIB): number for p, number in zip((4, 8, 16, 32, 64), (4, 3, 3, 3, 3))}
    assert cluster_sentences(rows_with(scattered | gathered)) == [
        (
            "16 of 31 wrong results are at n/p = 1 MiB (100 of 3000 results were checked there): the "
            "probability of this by chance is below 0.0001 %"
        )
    ]
    (sentence,) = cluster_sentences(rows_with({(4, 64): 3, (8, 64): 1, (8, 512): 1}))
    assert "4 of 5 wrong results are at a size of 64 B" in sentence and "the probability" in sentence
    assert cluster_sentences(rows_with({})) == []


def test_the_table_and_the_page_say_it(tmp_path):
    def outcome(launch, cell):
        return {"state": "wrong", "wrong": 7} if cell.size_bytes == 64 else {}

    sizes = [8 << i for i in range(10)]
    folder = build_run(tmp_path / "run", sizes=sizes, ranks=(2,), outcome=outcome, algorithms=("ring",))
    rows = summarise(folder)
    told = "3 of 3 wrong results are at a size of 64 B (3 of 30 results were checked there)"
    assert told in table(folder.plan(), rows, "Open MPI")
    (caveat,) = (each for each in find_caveats(rows, folder.attempts()) if each.badge == "wrong results cluster")
    assert caveat.level == "bad" and told in caveat.texts[0]
