"""The same data are fitted once; what was kept is what is fitted, and damage costs a fit, no more."""

import json

import pytest
from made_runs import build_run

from allreduce_bench.machine import forks
from allreduce_bench.models import kept_fits, series
from allreduce_bench.models.points import points
from allreduce_bench.runs.folder import RunFolder


@pytest.fixture
def fits(monkeypatch) -> list[object]:
    """Note every series that is fitted, all in this process."""
    monkeypatch.setattr(forks, "cores", lambda: 1)
    noted: list[object] = []
    fit = series._fit_observed

    def noting(observed):
        noted.append(observed)
        return fit(observed)

    monkeypatch.setattr(series, "_fit_observed", noting)
    return noted


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    return build_run(tmp_path_factory.mktemp("runs") / "run", algorithms=["ring"], sizes=(8, 1024, 65536, 1 << 20))


def fitted(run: RunFolder) -> list[tuple]:
    every = list(series.fit_series(points([run])))
    return [(one.model, one.scores.errors, one.plain.errors, one.scores.reach) for one in every]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"parts": 1}', b"\0" * 99])
def test_what_was_fitted_is_kept_and_damage_is_mended(run, fits, monkeypatch, tmp_path, content):
    without = fitted(run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fitted(run) == without and len(fits) == 2
    assert fitted(run) == without and len(fits) == 2
    (kept,) = (tmp_path / "allreduce-bench" / "fits").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(content)
    assert fitted(run) == without and len(fits) == 3
    assert kept.read_bytes() == whole and json.loads(whole)


def test_another_program_or_other_times_are_fitted(run, fits, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fitted(run)
    monkeypatch.setattr(kept_fits, "_program", lambda: "another")
    fitted(run)
    fitted(build_run(tmp_path / "run", algorithms=["ring"], sizes=(8, 1024, 65536)))
    assert len(fits) == 3


def test_a_folder_that_cannot_be_written_is_none(run, fits, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert fitted(run) == fitted(run) and len(fits) == 2


def test_the_oldest_fits_are_removed(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept_fits, "MOST_FITS", 1)
    fitted(run)
    fitted(build_run(tmp_path / "run", algorithms=["ring"], sizes=(8, 1024, 65536)))
    assert len(list((tmp_path / "allreduce-bench" / "fits").iterdir())) == 1
