"""Checkpoints: the newest whole one is taken, whatever became of the others."""

import pytest

from allreduce_bench.survive.checkpoint import (
    KEPT,
    Checkpoint,
    CheckpointError,
    interval,
    newest,
    read,
    share_lost,
    write,
)

OF = {"sizes": [3, 2]}


def kept(folder, *steps):
    return [write(folder, Checkpoint(step, OF, b"weights %d" % step)) for step in steps]


def test_the_newest_is_taken_and_old_ones_go(tmp_path):
    kept(tmp_path / "c", 8, 16, 24)
    assert newest(tmp_path / "c", OF) == Checkpoint(24, OF, b"weights 24")
    assert len([*(tmp_path / "c").iterdir()]) == KEPT


@pytest.mark.parametrize("nbytes", [0, 4, 9, 30, 60])
def test_one_that_is_cut_off_is_passed_over(tmp_path, nbytes):
    _, last = kept(tmp_path, 8, 16)
    last.write_bytes(last.read_bytes()[:nbytes])
    with pytest.raises(CheckpointError):
        read(last)
    assert newest(tmp_path, OF).step == 8


def test_every_changed_byte_is_seen(tmp_path):
    (path,) = kept(tmp_path, 8)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError):
            read(path)


def test_none_and_one_of_another_network(tmp_path):
    assert newest(tmp_path / "none", OF) is None
    kept(tmp_path, 8)
    with pytest.raises(CheckpointError) as refused:
        newest(tmp_path, {"sizes": [4, 2]})
    assert refused.value.code == "survive.checkpoint_of_another"


def test_the_interval_of_daly_loses_least():
    """Against the exact expected time of Daly: M exp(R / M) (exp((T + C) / M) - 1) / T per unit of work."""
    from math import exp

    for takes_s, mttf_s in [(30.0, 86400.0), (300.0, 7200.0), (1.0, 600.0)]:
        times = {every: mttf_s * (exp((every + takes_s) / mttf_s) - 1) / every for every in range(1, int(mttf_s), 1)}
        best = min(times, key=times.get)
        found = interval(takes_s, mttf_s)
        assert abs(found.daly_s - best) < 0.02 * best + 1 and abs(found.young_s - best) < 0.25 * best
        assert 0 < share_lost(found.daly_s, takes_s, mttf_s, 1.0) < 1
    assert interval(100.0, 10.0).daly_s == 10.0
