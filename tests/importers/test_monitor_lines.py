"""The JSON lines of StepMonitor as arrivals."""

import json
import random

import numpy as np
import pytest
from made_arrivals import arrivals, write_steps

from allreduce_bench.importers import LogError, LogNote, LogWarning
from allreduce_bench.importers.monitor_lines import recognises, sessions


def read(path):
    return sessions(path, path.read_text())


def test_the_steps_are_those_that_were_written(tmp_path):
    made = arrivals(steps=50)
    (session,) = read(write_steps(tmp_path / "s.jsonl", made))
    assert recognises((tmp_path / "s.jsonl").read_text())
    assert np.allclose(session.ready_s, made.ready_s - made.ready_s.min(axis=1, keepdims=True))
    assert np.allclose(session.step_s, made.step_s) and np.allclose(session.begin_s, made.begin_s)
    assert (session.nodes, session.node_of, session.clock_error_s) == (made.nodes, made.node_of, 2e-6)


def test_every_start_of_a_program_is_a_session_of_its_own(tmp_path):
    text = write_steps(tmp_path / "s.jsonl", arrivals(steps=30)).read_text()
    both = sessions(tmp_path / "s.jsonl", text + text)
    assert [len(session.step_s) for session in both] == [30, 30]


def test_a_block_that_is_missing_leaves_no_clock(tmp_path):
    lines = write_steps(tmp_path / "s.jsonl", arrivals(steps=60)).read_text().splitlines()
    (session,) = sessions(tmp_path / "s.jsonl", "\n".join([lines[0], lines[1], lines[3]]))
    assert len(session.step_s) == 40 and session.begin_s is None


def test_steps_of_which_nothing_is_known_but_their_length(tmp_path):
    path = write_steps(tmp_path / "s.jsonl", arrivals(steps=20))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["late_s"] = None
    (session,) = sessions(path, "\n".join(map(json.dumps, lines)))
    assert np.isnan(session.ready_s).all() and session.ready_s.shape == (20, 8)


def test_a_stall_and_a_line_that_was_cut_off_are_named(tmp_path):
    text = write_steps(tmp_path / "s.jsonl", arrivals(steps=40)).read_text()
    with pytest.warns(LogNote, match="line 5: the monitor noticed that no step ended"):
        sessions(tmp_path / "s.jsonl", text + '{"kind": "stall", "is_over": false}\n')
    with pytest.warns(LogWarning, match="line 3: cut off"):
        (session,) = sessions(tmp_path / "s.jsonl", "\n".join(text.splitlines()[:2]) + "\n" + text.splitlines()[2][:90])
    assert len(session.step_s) == 20


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": 0},
        {"ranks": "many"},
        {"node_of": [0]},
        {"node_of": [9] * 8},
        {"clock_error_s": -1},
    ],
)
def test_a_start_that_cannot_be_is_one_sentence(tmp_path, change):
    lines = write_steps(tmp_path / "s.jsonl", arrivals(steps=20)).read_text().splitlines()
    with pytest.raises(LogError, match="line 1: .*expected a line of allreduce-bench-steps-1"):
        sessions(tmp_path / "s.jsonl", "\n".join([json.dumps({**json.loads(lines[0]), **change}), *lines[1:]]))


@pytest.mark.filterwarnings("ignore")
def test_damage_anywhere_ends_in_steps_or_in_one_line(tmp_path):
    text, dice = write_steps(tmp_path / "s.jsonl", arrivals(ranks=2, slow=1, steps=20)).read_text(), random.Random(3)
    for _ in range(150):
        place = dice.randrange(len(text))
        other = text[:place] + dice.choice(["", "[", "}", '"', "9" * 400, "\n", "null", "x"]) + text[place + 2 :]
        try:
            assert sessions(tmp_path / "s.jsonl", other)
        except LogError as error:
            assert "\n" not in str(error)
