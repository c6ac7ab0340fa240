"""Supervisors that a test starts, closed at its end."""

from collections.abc import Callable, Iterator

import pytest

from allreduce_bench.launching.supervisor import Supervisor


@pytest.fixture
def supervise() -> Iterator[Callable[..., Supervisor]]:
    made = []

    def make(size: int, timeout_s: float = 0.4, **options) -> Supervisor:
        made.append(Supervisor(size, timeout_s, local=True, **options))
        return made[-1]

    yield make
    for supervisor in made:
        supervisor.close()
