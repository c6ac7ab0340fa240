"""The threads of several ranks in one process: hellos, questions, answers, and who speaks where nobody asks."""

from collections.abc import Callable
from math import inf
from time import monotonic, sleep

import pytest

from allreduce_bench.stragglers.monitor import watchdog
from allreduce_bench.stragglers.monitor.watchdog import Answerer, Asker, SideLine, Stall, StepProgress, new_key

PATIENCE_S = 240.0


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, value_s in {"LOOK_S": 0.02, "ANSWER_S": PATIENCE_S, "ASK_AGAIN_S": 0.1, "LATER_S": PATIENCE_S}.items():
        monkeypatch.setattr(watchdog, name, value_s)


class Job:
    """The watchdogs of `size` ranks that have ended 7 steps; what they tell is in `told`."""

    def __init__(self, size: int, stall_after_s: float = inf, begun: Callable[[int], bool] = lambda rank: True):
        key = new_key()
        self.told: list = []
        self.progress = [StepProgress(stall_after_s, steps=7, says_ready=True, is_ready=True) for _ in range(size)]
        line = SideLine(0, key, local=True)
        address = line.address(local=True)
        self.dogs: list = [Asker(line, size, self.progress[0], self.told.append)]
        for rank in range(1, size):
            own = SideLine(rank, key, local=True)
            self.dogs.append(Answerer(own, rank, address, self.progress[rank], self.told.append))
        for rank, dog in enumerate(self.dogs):
            if begun(rank):
                dog.start()

    def wait_for_hellos(self, *ranks: int) -> None:
        while not self.dogs[0]._address_of.keys() >= {*ranks}:
            sleep(0.01)

    def wait(self, facts: int) -> list:
        deadline = monotonic() + PATIENCE_S
        while len(self.told) < facts:
            assert monotonic() < deadline, self.told
            sleep(0.01)
        return self.told

    def close(self) -> None:
        for dog in self.dogs:
            if dog.ident:
                dog.close()


@pytest.fixture
def jobs():
    made: list[Job] = []
    yield lambda *arguments, **options: made.append(Job(*arguments, **options)) or made[-1]
    for job in made:
        job.close()


def test_the_rank_that_is_not_ready_is_told_once_and_so_is_the_end(jobs):
    job = jobs(3)
    job.wait_for_hellos(1, 2)
    job.progress[2].is_ready = False
    job.progress[0].since -= 7200
    job.progress[0].stall_after_s = 3600
    assert job.wait(1)[0] == Stall(7, job.told[0].stall_s, behind=(2,), all_ready=False)
    for progress in job.progress:
        progress.next_step()
    job.wait(2)
    assert job.told[1] == job.told[0]._replace(stall_s=job.told[1].stall_s, is_over=True)
    job.close()
    assert len(job.told) == 2


def test_another_cause_is_told_again(jobs):
    job = jobs(3)
    job.wait_for_hellos(1, 2)
    job.progress[2].is_ready = False
    job.progress[0].stall_after_s = 0.2
    assert job.wait(1)[0].behind == (2,)
    job.progress[2].is_ready, job.progress[1].is_ready = True, False
    assert job.wait(2)[1].behind in {(1,), ()}


def test_a_rank_that_has_ended_is_silent_and_one_that_never_began_is_unreached(jobs, monkeypatch):
    monkeypatch.setattr(watchdog, "ANSWER_S", 3.0)
    job = jobs(4, begun=lambda rank: rank != 3)
    job.wait_for_hellos(1, 2)
    job.dogs[2].close()
    for progress in job.progress:
        progress.stall_after_s = 0.0
    job.wait(1)
    while not any(stall.silent == (2,) and stall.unreached == (3,) and stall.all_ready for stall in job.told):
        job.wait(len(job.told) + 1)  # on busy cores rank 1 may have answered late


def test_a_rank_that_is_not_asked_speaks_for_itself(jobs, monkeypatch):
    monkeypatch.setattr(watchdog, "LATER_S", 0.2)
    job = jobs(2, 0.2, begun=lambda rank: rank == 1)
    assert job.wait(1)[0] == Stall(7, job.told[0].stall_s, told_by=1)
    job.progress[1].next_step()
    assert job.wait(2)[1] == Stall(7, job.told[1].stall_s, is_over=True, told_by=1)


def test_ranks_without_a_line_are_watched_too(jobs):
    told: list = []
    for dog in (
        Asker(None, 2, StepProgress(0.0), told.append),
        Answerer(None, 1, None, StepProgress(0.0), told.append),
    ):
        dog.progress.since -= 2 * PATIENCE_S
        dog.look(monotonic())
    assert told[0].unreached == (1,) and told[1].told_by == 1


def test_what_counts_as_a_stall():
    progress = StepProgress()
    assert progress.limit_s() == watchdog.FIRST_STEP_S
    progress.next_step()
    assert progress.limit_s() == watchdog.LEAST_STALL_S
    progress.median_step_s = 60.0
    assert progress.limit_s() == 600.0
    progress.end()
    assert progress.limit_s() == inf
