"""What people read of two levels, and of a launch apart: times, launches, sizes, and what may cause it."""

import pytest
from made_runs import build_run, waits
from places import DATA

from allreduce_bench.cli import main
from allreduce_bench.evaluation.launch_states import split_launches
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import LaunchStates, join_columns
from allreduce_bench.report.caveats import find_time_caveats
from allreduce_bench.report.launch_states_sentence import launch_apart_sentences, launch_states_sentences
from allreduce_bench.report.table import table


def row(size_bytes: int, *, low_ms=0.5, high_ms=9.7, low=("352r-1", "352r-4"), high=3, name="ring") -> dict:
    names = tuple(f"352r-{number}" for number in range(10, 10 + high))
    states = LaunchStates(low_ms * 1e-3, high_ms * 1e-3, tuple(low), names)
    kind = "launch_apart" if states.apart else "launch_states"
    return {**bare(size_bytes), "competitor": name, kind: states}


def bare(size_bytes: int) -> dict:
    return {"competitor": "ring", "segment": None, "ranks": 352, "size_bytes": size_bytes, "time_s": 9.7e-3}


def test_two_levels_are_said_in_one_sentence():
    rows = [bare(2048), *(row(4096 << i, low_ms=0.5 * 2**i) for i in range(3)), bare(65536)]
    assert launch_states_sentences(rows) == [
        "ring at 352 ranks: launches are bimodal from 4 KiB to 16 KiB: two levels: 500 us to 2.00 ms (2 of 5 launches: "
        "1, 4) and 9.70 ms (3 of 5), 4.85 to 19.4 times as long"
    ]
    assert launch_apart_sentences(rows) == []


def test_a_launch_apart_is_said_once_with_what_it_ran():
    fast = [row(8 << i, low=("352r-4",), high=4, low_ms=9.7 / (i + 2)) for i in range(3)]
    slow = [row(64 << i, low=tuple(f"352r-{n}" for n in range(10, 14)), high=1, name="tree") for i in range(3)]
    slow = [{**one, "launch_apart": one["launch_apart"]._replace(high_launches=("352r-4",))} for one in slow]
    assert launch_apart_sentences([*fast, *slow]) == [
        "launch 4 of 5 at 352 ranks: ring is 2.00 to 4.00 times as fast as in the others from 8 B to 32 B; tree takes "
        "19.4 times as long as in the others from 64 B to 256 B"
    ]
    assert launch_states_sentences([*fast, *slow]) == []


def test_a_launch_that_is_slow_as_a_whole_is_said_once():
    rows = [row(8 << i, low=("352r-1", "352r-2"), high=1, name=name) for name in ("ring", "tree") for i in range(3)]
    assert launch_apart_sentences(rows) == [
        "launch 10 of 3 at 352 ranks: every competitor takes 19.4 times as long as in the others"
    ]


def with_causes(made: dict, *causes: str) -> dict:
    return {**made, "launch_states": made["launch_states"]._replace(differences=causes)}


def test_what_differs_between_the_launches_at_all_sizes_is_said():
    rows = [row(8 << i, low_ms=2.0**i) for i in range(3)]
    (sentence,) = launch_states_sentences([with_causes(one, "MPI library", "log") for one in rows])
    assert "differ in MPI library, log" in sentence
    rows[1] = with_causes(rows[1], "log")
    assert "differ" not in launch_states_sentences(rows)[0]


def test_what_differs_over_the_sizes_is_said_as_a_span():
    rows = [row(8, low=("352r-1", "352r-2", "352r-4"), high=2), row(16), bare(32), row(64, low_ms=2.0)]
    (sentence,) = launch_states_sentences(rows)
    assert "bimodal from 8 B to 64 B except 32 B: " in sentence
    assert "levels: 500 us to 2.00 ms (2 to 3 of 5 launches) and 9.70 ms (2 to 3 of 5)" in sentence


def only_one(launch, cell):
    return 1.0 if launch.number == 3 else waits(launch, cell)


@pytest.mark.parametrize(
    "factor, told, badge",
    [
        (waits, "launches are bimodal", "bimodal: two levels"),
        (only_one, "launch 2 of 5 at 4 ranks: native takes", "one launch apart"),
    ],
)
def test_the_table_and_the_caveats_of_the_page_say_it(tmp_path, factor, told, badge):
    folder = build_run(tmp_path / "run", launches=5, factor=factor, algorithms=("native", "ring"))
    rows = summarise(folder)
    assert told in table(folder.plan(), rows, "Open MPI")
    caveats = {caveat.badge: caveat for caveat in find_time_caveats(rows)}
    (text,) = caveats[badge].texts
    assert told in text and caveats[badge].level == "caution"


def test_import_says_it(tmp_path, capsys):
    logs = sorted(map(str, (DATA / "logs_two_states").glob("compute_engine*")))
    with pytest.raises(SystemExit) as end:
        main(["import", *logs, "-n", "352", "-o", str(tmp_path / "run")])
    assert not end.value.code
    said = capsys.readouterr().out
    assert "launch 4 of 5 at 352 ranks: native is 6.29 to 25.5 times as fast as in the others from 4 KiB" in said
    assert "differ in log" in said


def test_launches_of_one_log_may_be_on_two_levels(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        log = DATA / "logs_two_states" / "gke_size-4.osu_allreduce.out"
        main(["import", str(log), "-n", "352", "-o", str(tmp_path / "run")])
    assert not end.value.code
    assert "launches are bimodal" in " ".join(capsys.readouterr().out.split())


def launch_with(folder, slow: tuple[str, ...]) -> list[dict]:
    """The facts of the launches, of which some ran with another library and variable."""
    other = {"mpi": {"library": "Open MPI 4.1.6"}, "variables": {"OMPI_MCA_btl": "tcp"}}
    return [{**facts, **(other if facts["launch"] in slow else {})} for facts in folder.attempts()]


def test_a_run_whose_slow_launches_have_other_settings_says_which(tmp_path):
    folder = build_run(tmp_path / "run", launches=5, factor=waits, algorithms=("native",), ranks=(4,))
    rows = summarise(folder)
    rows = join_columns(rows, split_launches(rows, launch_with(folder, ("4r-2", "4r-3"))))
    (sentence,) = launch_states_sentences(rows)
    assert "differ in MPI library, variable OMPI_MCA_btl" in sentence
    rows = join_columns(
        rows, split_launches(rows, launch_with(folder, ("4r-2", "4r-4")))
    )  # the others differ: no cause
    assert "differ" not in launch_states_sentences(rows)[0]
