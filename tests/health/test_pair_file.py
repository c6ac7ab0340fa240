"""The folder of a check of nodes: what is kept is read back, and a line that was cut off is not there."""

import pytest

from allreduce_bench.health.pair_folder import CheckSettings, PairFolder, PairRow, failed_pairs, whole_pairs
from allreduce_bench.runs.rows import RunError

ASKED = CheckSettings(("n1", "n2", "n3"), small_repetitions=1, large_repetitions=1)


def rows_of(round_: int, one: str, other: str) -> list[PairRow]:
    return [
        PairRow(round_, one, other, 8, 1, 1e-6),
        PairRow(round_, one, other, 4 << 20, 1, 1e-3),
        PairRow(round_, other, one, 4 << 20, 1, 2e-3),
    ]


@pytest.fixture
def folder(tmp_path):
    made = PairFolder(tmp_path / "check")
    made.begin(ASKED)
    return made


def test_rows_are_read_as_they_were_kept(folder):
    failed = PairRow(2, "n1", "n3", alone=True, failure="no message\nfrom n3, for 5 s")
    folder.append(rows_of(1, "n1", "n2"))
    folder.append([failed])
    assert folder.rows() == [*rows_of(1, "n1", "n2"), failed._replace(failure="no message from n3, for 5 s")]
    assert failed_pairs(folder.rows()) == {frozenset(("n1", "n3")): "no message from n3, for 5 s"}


@pytest.mark.parametrize("cut", [1, 8, 40])
def test_a_round_that_was_cut_off_is_measured_again_and_nothing_before_it(folder, cut):
    folder.append(rows_of(1, "n1", "n2"))
    folder.append(rows_of(2, "n1", "n3"))
    with folder.pairs_csv.open("r+b") as file:
        file.truncate(folder.pairs_csv.stat().st_size - cut)
    assert set(whole_pairs(folder.rows(), ASKED)) == {frozenset(("n1", "n2"))}
    folder.append(rows_of(3, "n1", "n3"))
    whole = whole_pairs(folder.rows(), ASKED)
    assert whole[frozenset(("n1", "n3"))] == rows_of(3, "n1", "n3") and len(whole) == 2


def test_the_same_check_goes_on_and_another_one_is_refused(folder):
    folder.begin(ASKED)
    assert folder.read_settings() == ASKED
    with pytest.raises(RunError, match="check with other nodes"):
        folder.begin(ASKED._replace(nodes=("n1", "n2")))
    with pytest.raises(RunError, match="check with --repetitions 1, not 7"):
        folder.begin(ASKED._replace(large_repetitions=7))
    for damaged in ("{}", folder.asked_json.read_text().replace('"small_nbytes": ', '"small_nbytes": -')):
        folder.asked_json.write_text(damaged)
        with pytest.raises(RunError, match="damaged"):
            folder.read_settings()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(RunError, match="exists and holds"):
        PairFolder(tmp_path).begin(ASKED)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,n1", "damaged"),
        ("x,n1,n2,8,1,1e-6,0,", "damaged"),
        ("1,n1,n2,8,1,-1,0,", "damaged"),
        ("1,n1,n2,8,1,nan,0,", "damaged"),
        ("1,n1,n9,8,1,1e-6,0,", "n9 is no node of this check"),
        ("1,n1,n2,8,1,1e-6,0,", "the message of line 2 again"),
    ],
)
def test_a_line_that_this_check_did_not_write_is_named(folder, line, said):
    folder.append(rows_of(1, "n1", "n2"))
    with folder.pairs_csv.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(RunError, match=f"pairs.csv, line 5: {said}"):
        folder.rows()


def test_what_steers_a_terminal_is_not_read_back(folder):
    folder.append([PairRow(1, "n1", "n3", failure="gone \x1b[31m")])
    assert [row.failure for row in folder.rows()] == ["gone ?[31m"]
