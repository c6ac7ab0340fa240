"""The JSON lines of StepMonitor as arrivals."""

import json
import random

import numpy as np
import pytest
from made_arrivals import arrivals, write_steps

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.stragglers.monitor.watchdog import Stall
from allreduce_bench.stragglers.monitor_log import read_sessions, recognises


def read(path):
    return read_sessions(path, path.read_text())


def test_the_steps_are_those_that_were_written(tmp_path):
    made = arrivals(steps=50)
    (session,) = read(write_steps(tmp_path / "s.jsonl", made))
    assert recognises((tmp_path / "s.jsonl").read_text())
    assert np.allclose(session.ready_s, made.ready_s - made.ready_s.min(axis=1, keepdims=True))
    assert np.allclose(session.step_s, made.step_s) and np.allclose(session.begin_s, made.begin_s)
    assert (session.nodes, session.node_of, session.clock_error_s) == (made.nodes, made.node_of, 2e-6)


def test_every_start_of_a_program_is_a_session_of_its_own(tmp_path):
    texts = [write_steps(tmp_path / "s.jsonl", arrivals(steps=30), job=job).read_text() for job in "ab"]
    both = read_sessions(tmp_path / "s.jsonl", "".join(texts))
    assert [len(session.step_s) for session in both] == [30, 30]


def test_a_block_that_is_missing_leaves_no_clock(tmp_path):
    lines = write_steps(tmp_path / "s.jsonl", arrivals(steps=60)).read_text().splitlines()
    with pytest.warns(LogWarning, match="line 3: step 40 where step 20 is expected"):
        (session,) = read_sessions(tmp_path / "s.jsonl", "\n".join([lines[0], lines[1], lines[3]]))
    assert len(session.step_s) == 40 and session.begin_s is None


def test_steps_of_which_nothing_is_known_but_their_length(tmp_path):
    path = write_steps(tmp_path / "s.jsonl", arrivals(steps=20))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["late_s"] = None
    (session,) = read_sessions(path, "\n".join(map(json.dumps, lines)))
    assert np.isnan(session.ready_s).all() and session.ready_s.shape == (20, 8)


def test_a_line_that_was_cut_off_is_named(tmp_path):
    text = write_steps(tmp_path / "s.jsonl", arrivals(steps=40)).read_text()
    with pytest.warns(LogWarning, match="line 3: cut off"):
        (session,) = read_sessions(
            tmp_path / "s.jsonl", "\n".join(text.splitlines()[:2]) + "\n" + text.splitlines()[2][:90]
        )
    assert len(session.step_s) == 20


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": 0},
        {"ranks": "many"},
        {"node_of": [0]},
        {"node_of": [9] * 8},
        {"clock_error_s": -1},
        {"node_of": [10**18] * 8},
        {"ranks": 10**7},
        {"job": ["a"]},
    ],
)
def test_a_start_that_cannot_be_is_one_sentence(tmp_path, change):
    lines = write_steps(tmp_path / "s.jsonl", arrivals(steps=20)).read_text().splitlines()
    with pytest.raises(LogError, match="line 1.*expected a line of allreduce-bench-steps-1"):
        read_sessions(tmp_path / "s.jsonl", "\n".join([json.dumps({**json.loads(lines[0]), **change}), *lines[1:]]))


@pytest.mark.filterwarnings("ignore")
def test_damage_anywhere_ends_in_steps_or_in_one_line(tmp_path):
    text, dice = write_steps(tmp_path / "s.jsonl", arrivals(ranks=2, slow=1, steps=20)).read_text(), random.Random(3)
    for _ in range(150):
        place = dice.randrange(len(text))
        other = text[:place] + dice.choice(["", "[", "}", '"', "9" * 400, "\n", "null", "x"]) + text[place + 2 :]
        try:
            assert read_sessions(tmp_path / "s.jsonl", other)
        except LogError as error:
            assert "\n" not in str(error)


def test_a_stall_of_a_rank_that_is_none_is_one_sentence(tmp_path):
    text = write_steps(tmp_path / "s.jsonl", arrivals(steps=20)).read_text()
    stall = json.dumps({"kind": "stall", "job": "a", **Stall(20, 61.0, behind=(8,))._asdict()})
    with pytest.raises(LogError, match="line 4: a stall names rank 8 of 8 ranks"):
        read_sessions(tmp_path / "s.jsonl", f"{text}{stall}\n")


def test_two_jobs_in_one_file_are_read_apart(tmp_path):
    files = [write_steps(tmp_path / f"{job}.jsonl", arrivals(steps=40, seed=ord(job)), job=job) for job in "ab"]
    jobs = [file.read_text().splitlines() for file in files]
    mixed = read_sessions(tmp_path / "mixed.jsonl", "\n".join(line for both in zip(*jobs) for line in both))
    for session, file in zip(mixed, files):
        assert np.array_equal(session.ready_s, read(file)[0].ready_s) and session.begin_s is not None
    with pytest.warns(LogWarning, match="line 2: the start of its job is not in this file"):
        read_sessions(tmp_path / "cut.jsonl", "\n".join([jobs[0][0], jobs[1][1], *jobs[0][1:]]))


@pytest.mark.parametrize(("name", "value"), [("late_s", -1.0), ("late_s", 1e7), ("step_s", 10**400), ("step_s", 1e300)])
def test_times_that_cannot_be_are_one_sentence(tmp_path, name, value):
    lines = [
        json.loads(line) for line in write_steps(tmp_path / "s.jsonl", arrivals(steps=20)).read_text().splitlines()
    ]
    (lines[1][name] if name == "step_s" else lines[1][name][2])[4] = value
    with pytest.raises(LogError, match="line 2: "):
        read_sessions(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines)))
