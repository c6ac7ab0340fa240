"""A machine whose files of the kernel a test writes itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from allreduce_bench.machine import kernel


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """What stands for `/`: empty."""
    monkeypatch.setattr(kernel, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def put(root) -> Callable[[str, object], None]:
    """Write a file below `root`."""

    def write(path: str, text: object) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
        kernel.kept.cache_clear()

    return write
