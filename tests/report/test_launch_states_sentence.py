"""What people read of two states: both times, how often each was met, and what the gap does over the sizes."""

import re

import pytest
from made_runs import build_run, waits
from places import DATA

from allreduce_bench.cli import main
from allreduce_bench.evaluation.environment import LaunchDifference
from allreduce_bench.evaluation.launch_states import (
    CHANGING,
    CONSTANT_DELAY,
    CONSTANT_RATIO,
    CONSTANT_TIME,
    UNKNOWN,
    add_states,
)
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import LaunchStates
from allreduce_bench.report.caveats import find_time_caveats
from allreduce_bench.report.launch_states_sentence import TIMER, launch_states_sentences, suspicion_sentences
from allreduce_bench.report.table import table


def row(size_bytes: int, *, low_ms=0.5, high_ms=9.7, low=("352r-4",), high=4, gap=CONSTANT_TIME, states=True) -> dict:
    cell = {"competitor": "ring", "segment": None}
    row = {**cell, "ranks": 352, "size_bytes": size_bytes, "time_s": high_ms * 1e-3}
    names = tuple(f"352r-{number}" for number in range(10, 10 + high))
    said = LaunchStates(low_ms * 1e-3, high_ms * 1e-3, tuple(low), names, gap)
    return {**row, "launch_states": said} if states else row


def test_a_timer_is_said_in_one_sentence():
    rows = [row(2048, states=False), *(row(4096 << i) for i in range(3)), row(65536, states=False)]
    assert launch_states_sentences(rows) == [
        (
            "ring at 352 ranks: launches are bimodal from 4 KiB to 16 KiB: two levels: 500 us (1 of 5 launches: 4) "
            f"and 9.70 ms (4 of 5): {'the slow level takes 9.70 ms at every size' + TIMER}; one level below 4 KiB and "
            "above 16 KiB"
        )
    ]


@pytest.mark.parametrize(
    "gap, words",
    [
        (CONSTANT_DELAY, re.escape("takes 9.20 ms longer at every size, which indicates a timer")),
        (
            CONSTANT_RATIO,
            re.escape("takes 19.4 times as long at every size, which indicates a bandwidth or a clock frequency"),
        ),
        (CHANGING, "level takes.*at 8 B and"),
        (UNKNOWN, "unclear whether"),
    ],
)
def test_every_kind_of_gap_has_its_words(gap, words):
    rows = [row(8, gap=gap), row(12, gap=gap), row(16, gap=gap, low_ms=4.85 if gap == CHANGING else 0.5)]
    assert re.search(words, launch_states_sentences(rows)[0])


LIBRARY = LaunchDifference("MPI library", (("Open MPI 4.1.6",), ("Open MPI 5.0.11",)))
LOG = LaunchDifference("log", (("fast.out",), ("slow1.out", "slow2.out", "slow3.out", "slow4.out")))


def with_causes(made: dict, *causes: LaunchDifference) -> dict:
    return {**made, "launch_states": made["launch_states"]._replace(differences=causes)}


@pytest.mark.parametrize("gap", [CONSTANT_TIME, CONSTANT_DELAY, CONSTANT_RATIO, CHANGING])
def test_what_differs_between_the_launches_is_the_cause_and_no_timer_is(gap):
    (sentence,) = launch_states_sentences([with_causes(row(8 << i, gap=gap), LIBRARY, LOG) for i in range(3)])
    assert (
        "timer" not in sentence
        and "differ in MPI library: Open MPI 4.1.6 (fast) and Open MPI 5.0.11 (slow)" in sentence
    )
    (sentence,) = launch_states_sentences([with_causes(row(8 << i, gap=gap), LOG) for i in range(3)])
    assert (
        "timer" not in sentence
        and "different logs, fast.out (fast) and slow1.out, slow2.out, slow3.out, 1 more (slow)" in sentence
    )


def test_what_differs_at_some_sizes_only_is_no_cause():
    rows = [with_causes(row(8), LIBRARY), row(16), with_causes(row(32), LIBRARY)]
    assert TIMER in launch_states_sentences(rows)[0]


def test_what_differs_over_the_sizes_is_said_as_a_span():
    rows = [row(8, low=("352r-1", "352r-2"), high=3), row(16), row(32, states=False), row(64, low_ms=2.0)]
    (sentence,) = launch_states_sentences(rows)
    assert "bimodal from 8 B to 64 B except 32 B: " in sentence
    assert "levels: 500 us to 2.00 ms (1 to 2 of 5 launches) and 9.70 ms (3 to 4 of 5)" in sentence
    assert "launches are bimodal at 8 B, 16 B" in launch_states_sentences([row(8), row(16)])[0]


def test_too_few_launches_are_said_in_one_line():
    rows = [{**row(8 << i, states=False), "suspected_states": 3} for i in range(3)]
    assert launch_states_sentences(rows) == []
    assert suspicion_sentences(rows) == [
        "ring at 352 ranks: launches may be bimodal from 8 B to 32 B; 3 launches are too few to decide, 5 are needed"
    ]


@pytest.mark.parametrize(
    "launches, told, badge",
    [
        (5, "launches are bimodal", "bimodal: two levels"),
        (4, "too few to decide, 5 are needed", "bimodal or noise"),
    ],
)
def test_the_table_and_the_caveats_of_the_page_say_it(tmp_path, launches, told, badge):
    folder = build_run(tmp_path / "run", launches=launches, factor=waits, algorithms=("native", "ring"))
    rows = summarise(folder)
    assert told in table(folder.plan(), rows, "Open MPI")
    caveats = {caveat.badge: caveat for caveat in find_time_caveats(rows)}
    (note,) = caveats[badge].notes
    assert told in note.text and caveats[badge].level == "caution"


def test_import_says_it(tmp_path, capsys):
    logs = sorted(map(str, (DATA / "logs_two_states").glob("compute_engine*")))
    with pytest.raises(SystemExit) as end:
        main(["import", *logs, "-n", "352", "-o", str(tmp_path / "run")])
    assert not end.value.code
    said = capsys.readouterr().out
    assert "levels: 388 us to 1.55 ms (1 of 5 launches: 4) and 9.90 ms (4 of 5)" in said and "timer" not in said
    assert "different logs" in said


def test_launches_of_one_log_may_wait_for_a_timer(tmp_path, capsys):
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
    add_states(rows, launch_with(folder, ("4r-2", "4r-3")))
    (sentence,) = launch_states_sentences(rows)
    assert (
        "differ in MPI library: Open MPI 5.0.11 (fast) and Open MPI 4.1.6 (slow); in variable OMPI_MCA_btl: "
        "self,sm (fast) and tcp (slow)"
    ) in sentence
    (caveat,) = [caveat for caveat in find_time_caveats(rows) if caveat.badge == "bimodal: two levels"]
    assert "timer" not in caveat.notes[-1].advice
    add_states(rows, launch_with(folder, ("4r-2", "4r-4")))  # the others differ: no cause
    assert "likely cause" not in launch_states_sentences(rows)[0]
