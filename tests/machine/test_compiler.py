"""What is said where ranks cannot be compiled for."""

import sys

import pytest

from allreduce_bench.machine.compiler import INSTALL, why_not_compiled


@pytest.fixture(autouse=True)
def asked_anew():
    why_not_compiled.cache_clear()
    yield
    why_not_compiled.cache_clear()


def test_with_numba_nothing_is_said():
    assert why_not_compiled() is None


def test_without_numba_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert why_not_compiled() == f"needs numba: {INSTALL}"


def test_a_numba_that_does_not_load_is_quoted(monkeypatch, tmp_path):
    (tmp_path / "numba.py").write_text("raise OSError('its library is gone')")
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert why_not_compiled() == f"needs numba, which does not load (OSError: its library is gone): {INSTALL}"
