"""Checkpoints: the newest whole one is taken, damaged ones are named, those of other programs refused."""

import hashlib
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from allreduce_bench.programs.checkpoint_costs import CostsSince, Loss, read_costs
from allreduce_bench.programs.checkpoints import CheckpointError, Checkpoints
from allreduce_bench.runs.start import RESTART_VARIABLE


class Comm:
    """A communicator of one rank."""

    rank, size = 0, 1

    def bcast(self, value, root):
        return pickle.loads(pickle.dumps(value))


WEIGHTS = np.arange(6.0).reshape(2, 3)


def npy(array):
    """A file of numpy with one array."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


@pytest.fixture
def checkpoints(tmp_path):
    kept = Checkpoints(Comm(), tmp_path / "ckpt")
    for step in (10, 20, 30):
        kept.save(step, weights=WEIGHTS + step)
        kept.done(step)
    return kept


def files(checkpoints):
    return sorted(checkpoints.folder.glob("step-*.npz"), key=lambda path: int(path.name[5:7]))


def test_the_newest_two_are_kept_and_the_newest_is_taken(checkpoints):
    assert [path.name[:7] for path in files(checkpoints)] == ["step-20", "step-30"]
    step, arrays, lost_steps = Checkpoints(Comm(), checkpoints.folder).newest({"weights": WEIGHTS})
    assert (step, lost_steps) == (30, 0) and np.array_equal(arrays["weights"], WEIGHTS + 30)


def test_without_any_nothing_is_taken(tmp_path):
    assert Checkpoints(Comm(), tmp_path / "none").newest() is None


@pytest.mark.parametrize("how", ["cut off", "changed", "empty"])
def test_one_that_is_damaged_is_named_and_the_one_before_it_taken(checkpoints, capsys, how):
    newest = files(checkpoints)[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes({"cut off": content[:-7], "changed": content, "empty": b""}[how])
    step, arrays, lost_steps = Checkpoints(Comm(), checkpoints.folder).newest({"weights": WEIGHTS})
    assert (step, lost_steps) == (20, 10) and np.array_equal(arrays["weights"], WEIGHTS + 20)
    assert str(newest) in capsys.readouterr().err


def test_those_written_after_all_were_damaged_are_kept(checkpoints):
    damaged = files(checkpoints)
    for path in damaged:
        path.write_bytes(b"cut")
    again = Checkpoints(Comm(), checkpoints.folder)
    assert again.newest() is None
    again.save(20, weights=WEIGHTS + 20)  # the same content, so the same name
    assert [path.name[:7] for path in files(again)] == ["step-20"]
    again.save(25, weights=WEIGHTS)
    assert [path.name[:7] for path in files(again)] == ["step-20", "step-25"]
    assert Checkpoints(Comm(), again.folder).newest()[0] == 25


def test_one_of_an_earlier_step_is_kept_beside_those_of_another_start(checkpoints):
    Checkpoints(Comm(), checkpoints.folder).save(5, weights=WEIGHTS)
    assert sorted(path.name.split(".")[0] for path in checkpoints.folder.glob("*.npz")) == [
        "step-20",
        "step-30",
        "step-5",
    ]


class Trap:
    """Fails where it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def test_objects_are_neither_written_nor_unpickled(checkpoints, capsys):
    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    with pytest.raises(CheckpointError) as refused:
        checkpoints.save(40, weights=trap)
    assert "holds objects" in str(refused.value)
    content = io.BytesIO()
    np.savez(content, weights=trap)
    checksum = hashlib.sha256(content.getvalue()).hexdigest()[:16]
    (checkpoints.folder / f"step-40.{checksum}.npz").write_bytes(content.getvalue())
    assert Checkpoints(Comm(), checkpoints.folder).newest()[0] == 30
    assert "step-40" in capsys.readouterr().err


@pytest.mark.parametrize(
    "like",
    [
        {"weights": WEIGHTS.T},
        {"weights": WEIGHTS.astype("f4")},
        {"bias": WEIGHTS},
        {"weights": WEIGHTS, "bias": WEIGHTS},
    ],
)
def test_one_of_another_network_is_refused(checkpoints, like):
    with pytest.raises(CheckpointError) as refused:
        checkpoints.newest(like)
    assert "another program" in str(refused.value)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError) as refused:
        Checkpoints(Comm(), tmp_path / "file" / "ckpt").save(1, weights=WEIGHTS)
    assert "0 can" in str(refused.value)


@pytest.mark.parametrize("name", ["reached", "history.jsonl"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "FIFO"])
def test_what_is_in_the_way_of_notes_is_one_sentence(tmp_path, name, make):
    kept = Checkpoints(Comm(), tmp_path)
    make(tmp_path / name)
    with pytest.raises(CheckpointError) as refused:
        kept.save(1, weights=WEIGHTS)
        kept.done(1)
    assert "0 can" in str(refused.value) and name in str(refused.value)


@pytest.mark.parametrize("step", [-1, 10**18, 1.0, "7", None])
def test_a_step_that_no_name_can_hold_is_refused_on_all_ranks(checkpoints, step):
    checkpoints.comm.rank = 1
    for keep in (lambda: checkpoints.save(step, weights=WEIGHTS), lambda: checkpoints.done(step)):
        with pytest.raises(CheckpointError) as refused:
            keep()
        assert "are done" in str(refused.value)


def test_steps_may_be_of_numpy_and_names_are_free(checkpoints):
    named = {"file": WEIGHTS, "allow_pickle": WEIGHTS + 1, "step": WEIGHTS + 2, "self": WEIGHTS + 3, "a.npy": WEIGHTS}
    checkpoints.save(np.int64(40), **named)
    checkpoints.done(np.int64(40))
    step, arrays, _ = Checkpoints(Comm(), checkpoints.folder).newest(named)
    assert step == 40 and all(np.array_equal(arrays[name], array) for name, array in named.items())
    with np.load(files(checkpoints)[-1]) as file:
        assert sorted(file) == sorted(named)


def test_what_numpy_would_read_as_another_type_is_not_written(checkpoints, monkeypatch):
    monkeypatch.setattr(np.lib.format, "dtype_to_descr", lambda dtype: "<V2")  # as of bfloat16
    with pytest.raises(CheckpointError) as refused:
        checkpoints.save(40, weights=WEIGHTS)
    assert "not keep" in str(refused.value)


def npz_that_states(shape):
    """A file of numpy with six elements, whatever its header states."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
        file.writestr("weights.npy", header.getvalue() + bytes(48))
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", npy(WEIGHTS), npz_that_states((10**12,)), npz_that_states((7,))],
    ids=["empty", "text", "npy", "10^12 elements", "an element too few"],
)
def test_a_whole_file_of_something_else_is_left_out(checkpoints, content, capsys):
    checksum = hashlib.sha256(content).hexdigest()[:16]
    (checkpoints.folder / f"step-40.{checksum}.npz").write_bytes(content)
    assert Checkpoints(Comm(), checkpoints.folder).newest()[0] == 30
    assert "step-40" in capsys.readouterr().err


def test_like_may_be_lists_and_what_fails_on_rank_0_fails_on_all(checkpoints):
    with pytest.raises(CheckpointError) as refused:
        checkpoints.newest({"weights": [1.0, 2.0]})
    assert "another program" in str(refused.value)
    told = []
    checkpoints.comm.bcast = lambda value, root: told.append(value) or value
    with pytest.raises(AttributeError):
        checkpoints.newest(7)
    assert isinstance(told[0][1], AttributeError)


def test_a_file_that_another_start_is_writing_stays(checkpoints):
    fresh, old = (checkpoints.folder / f".step-9.{name}.npz.host-1.tmp" for name in ("fresh", "old"))
    for path in (fresh, old):
        path.touch()
    os.utime(old, (0, 0))
    checkpoints.save(40, weights=WEIGHTS)
    assert fresh.exists() and not old.exists()


def test_a_folder_is_of_one_exec_at_a_time(checkpoints):
    first = CostsSince(checkpoints.folder)
    with pytest.raises(ValueError) as refused:
        CostsSince(checkpoints.folder)
    assert "another exec" in str(refused.value)
    del first
    CostsSince(checkpoints.folder)


def test_no_folder_is_one_sentence(monkeypatch):
    monkeypatch.delenv("ALLREDUCE_BENCH_CHECKPOINT", raising=False)
    with pytest.raises(CheckpointError) as refused:
        Checkpoints(Comm())
    assert "exec --checkpoint" in str(refused.value)


def test_a_loss_is_counted_in_steps_and_seconds(checkpoints, monkeypatch):
    monkeypatch.setenv(RESTART_VARIABLE, "1")
    since = CostsSince(checkpoints.folder)
    checkpoints.done(37)
    again = Checkpoints(Comm(), checkpoints.folder)
    assert again.newest()[2] == 7
    for step in range(31, 40):
        again.done(step)
    again.save(40, weights=WEIGHTS)
    (loss,) = read_costs(checkpoints.folder).losses
    assert loss.steps == 7 and 0 < loss.restart_s <= loss.lost_s
    told = since.sentences(3600.0)
    assert len(told) == 3 and "steps lost: 7" in told[0]


def test_the_time_between_two_starts_is_no_loss(checkpoints, monkeypatch):
    monkeypatch.delenv(RESTART_VARIABLE, raising=False)
    checkpoints.done(37)
    later = Checkpoints(Comm(), checkpoints.folder)
    assert later.newest().lost_steps == 7
    later.done(31)
    assert read_costs(checkpoints.folder).losses == ()


def test_lines_that_are_cut_off_are_left_out(tmp_path):
    lines = [
        {"saved": 10, "seconds": 0.5},
        {"first": 11, "seconds": 2.0},
        {"back": 14, "lost_steps": 4, "seconds": 3.0},
    ]
    text = "\n".join(map(json.dumps, lines)) + '\n[1]\n{"saved": 20, "seconds": "x"}\n{"saved": 3'
    (tmp_path / "history.jsonl").write_text(text)
    costs = read_costs(tmp_path)
    assert costs.saves_s == (0.5,) and costs.losses == (Loss(4, 2.0, 3.0),)
    assert read_costs(tmp_path / "none") == ((), ())
