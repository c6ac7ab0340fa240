"""The table of winners says what the map draws."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summary
from allreduce_bench.report.figures import winners
from allreduce_bench.report.winner_table import winner_table


def test_each_cell_is_that_of_the_winners(tmp_path):
    frame = summary([build_run(tmp_path / "a", ranks=(2, 4), sizes=(8, 1 << 20))])
    table = winner_table(frame)
    assert table["sizes"] == ["8 B", "1 MiB"] and [ranks for ranks, _ in table["lines"]] == ["4 ranks", "2 ranks"]
    cells = {
        (int(ranks.split()[0]), size): cell for ranks, line in table["lines"] for size, cell in zip((8, 1 << 20), line)
    }
    won = winners(frame).set_index(["ranks", "size_bytes"])
    assert {key: cell.winner for key, cell in cells.items()} == won["winner"].to_dict()
    assert all(
        cell.text in ("=", "?") if not (cell.winner or cell.gains) else cell.text.endswith("×")
        for cell in cells.values()
    )
    assert set(table["looks"]) == set(won["winner"]) - {""}


def test_times_that_are_not_reliable_are_pale(tmp_path):
    frame = summary([build_run(tmp_path / "a", ranks=(2, 4), sizes=(8,))])
    frame.loc[frame["ranks"] == 4, "grade"] = "not reliable"
    pale = {ranks: cell.pale for ranks, (cell,) in winner_table(frame)["lines"]}
    assert pale == {"4 ranks": True, "2 ranks": False}


def test_one_algorithm_has_no_table(tmp_path):
    assert winner_table(summary([build_run(tmp_path / "a", algorithms=["ring"], sizes=(8,))])) is None
