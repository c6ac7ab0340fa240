"""A machine whose files of the kernel a test writes itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allreduce_bench.machine import interfaces, kernel, traffic

KEPT = (  # read once in the life of a process
    kernel.read_once,
    interfaces.is_hardware,
    interfaces.lower_interfaces,
    interfaces.ports,
    traffic._is_counted_below,
)


def forget() -> None:
    for read in KEPT:
        read.cache_clear()


@pytest.fixture
def root(tmp_path, monkeypatch) -> Iterator[Path]:
    """What stands for `/`: empty."""
    monkeypatch.setattr(kernel, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


@pytest.fixture
def put(root) -> Callable[[str, object], None]:
    """Write a file below `root`."""

    def write(path: str, text: object) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
        forget()

    return write
