"""Which rows compete."""

from made_rows import made_row

from allreduce_bench.evaluation.competing import by_size, competing, tables


def test_references_do_not_compete():
    rows = [{"competitor": name} for name in ("ring", "native:default", "native:reduce+bcast")]
    assert competing(rows) == rows[:1]


def test_tables_have_their_sizes_in_order_and_only_what_was_measured():
    rows = [made_row("ring", size_bytes, [1.0], ranks) for ranks in (4, 2) for size_bytes in (64, 8)]
    rows.append(made_row("tree", 8, [1.0], 2, time_s=None))
    assert {key: list(sizes) for key, sizes in tables(rows).items()} == {2: [8, 64], 4: [8, 64]}
    assert {key: len(of_size) for key, of_size in by_size(rows).items()} == {
        (ranks, size_bytes): 1 for ranks in (2, 4) for size_bytes in (8, 64)
    }
