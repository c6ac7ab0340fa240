"""Whether the common clock is as right as it says.

On one host all ranks read the same clock, so that the true offset is known. Each trial makes a common clock anew,
without telling it that; it holds where no rank is further off than its bound, right away and a little later. Then the
same with clocks that are hours apart, drift, count coarsely or all of it, and cells timed with them. At last clocks run
or step backwards, and cells that are timed with them must say so.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
from mpi4py import MPI

from allreduce_bench.measuring import sync
from allreduce_bench.measuring.budget import Budget
from allreduce_bench.measuring.calls import CellTimes
from allreduce_bench.measuring.clock import METHOD, ONE_CLOCK, Clock
from allreduce_bench.measuring.repeat import repeat
from allreduce_bench.measuring.sync import make

Reading = Callable[[float], float]  # the true time -> what a clock shows
COMMON = ("completion_s", "arrival_skew_s", "last_rank")
HOUR_S, LATER_S = 3600.0, 0.02


def of(shows: Reading) -> Callable[[], float]:
    """A clock that shows this."""
    return lambda: shows(time.perf_counter())


def good_clocks(rank: int) -> dict[str, Reading]:
    """Clocks of one rank that a common clock can be made of."""
    ppm = 200e-6 * (-1) ** rank
    return {
        "hours apart": lambda true: true + 3 * HOUR_S * rank,
        "drifting by 400 ppm": lambda true: true * (1 + ppm),
        "in steps of 1 us": lambda true: true // 1e-6 * 1e-6,
        "all of it": lambda true: (true * (1 + ppm) - 7 * HOUR_S * rank) // 1e-6 * 1e-6,
    }


def bad_clocks(rank: int, last: int) -> dict[str, Reading]:
    """Clocks of one rank of which that of the `last` rank is of no use."""
    begun = time.perf_counter()
    if rank != last:
        return dict.fromkeys(("backwards", "standing", "stepping back"), lambda true: true)
    return {
        "backwards": lambda true: -true,
        "standing": lambda true: begun,
        "stepping back": lambda true: true - 10.0 * int((true - begun) / 0.005),
    }


def worst(comm: MPI.Comm, excess: float) -> float:
    """The greatest over ranks of error - bound, nan before all; seconds."""
    found = comm.allgather(excess)
    return float("nan") if any(value != value for value in found) else max(found)


def excess_now(comm: MPI.Comm, clock: Clock, shows: Reading, of_rank_0: Reading) -> float:
    """By how much this rank's common time is further off than its bound, now."""
    true = time.perf_counter()
    reading = shows(true)
    line = clock.line(reading, reading)
    ahead = abs(clock.common(reading) - of_rank_0(true)) - clock.error_s()
    after = abs(line.common(reading) - of_rank_0(true)) - line.error_s if line else float("nan")
    return max(ahead, after) if after == after else after


def trials(comm: MPI.Comm, number: int) -> tuple[int, str]:
    """Return in how many trials the bound of clocks that agree holds, and in words how large it is."""
    bounds, held = [], 0
    for _ in range(number):
        clock = Clock(comm)
        bound = comm.allreduce(clock.error_s(), MPI.MAX)
        excess = worst(comm, excess_now(comm, clock, lambda true: true, lambda true: true))
        held += excess <= 0
        bounds.append(bound * 1e6)
    return held, f"median {np.median(bounds):.2f} us, largest {max(bounds):.2f} us"


def timed(comm: MPI.Comm, clock: Clock, way: str) -> CellTimes:
    """A cell of small all-reduces."""
    one, total = np.ones(1), np.zeros(1)
    call = partial(comm.Allreduce, one, total)
    return repeat(lambda: call, comm, Budget(2, 12, 1.0), make(way, comm, clock), clock)


def consistent(times: CellTimes, ranks: int) -> bool:
    """Whether what a cell says of its valid calls fits together; on rank 0."""
    error, calls = 2 * times.facts["clock_error_s"] + 1e-9, {key: np.array(v) for key, v in times.calls.items()}
    slack = error + 1e-3 * calls["time_s"]
    return bool(
        (calls["shortest_s"] <= calls["osu_avg_s"] + 1e-12).all()
        and (calls["osu_avg_s"] <= calls["time_s"] + 1e-12).all()
        and (calls["completion_s"] <= calls["time_s"] + slack).all()
        and (calls["completion_s"] >= calls["time_s"] - calls["arrival_skew_s"] - slack).all()
        and (calls["arrival_skew_s"] >= 0).all()
        and ((calls["last_rank"] >= 0) & (calls["last_rank"] < ranks)).all()
    )


def of_good(comm: MPI.Comm) -> Iterator[tuple[str, bool]]:
    """(words, whether it holds) of clocks that differ, again and again through some time."""
    of_rank_0 = good_clocks(0)
    for name, shows in good_clocks(comm.rank).items():
        clock = Clock(comm, of(shows))
        excess = [worst(comm, excess_now(comm, clock, shows, of_rank_0[name]))]
        for _ in range(5):
            time.sleep(LATER_S)
            excess.append(worst(comm, excess_now(comm, clock, shows, of_rank_0[name])))
            clock.compare()
            excess.append(worst(comm, excess_now(comm, clock, shows, of_rank_0[name])))
        yield f"{name}: {max(excess) * 1e6:.2f} us beyond the bound", all(value <= 0 for value in excess)
        yield f"{name}: no jumps", comm.allreduce(clock.jumps) == 0
        for way in ("barrier", "round_time"):
            times = timed(comm, clock, way)
            fits = comm.rank != 0 or comm.size == 1 or consistent(times, comm.size)
            yield f"{name}: a cell by {way}", fits and not times.unusable


def of_bad(comm: MPI.Comm) -> Iterator[tuple[str, bool]]:
    """(words, whether it holds) of clocks of no use: the cell says so, and gives no number that needs them."""
    for name, shows in bad_clocks(comm.rank, comm.size - 1).items():
        for way in ("barrier", "round_time"):
            clock = Clock(comm, of(shows))
            one, total, calls = np.ones(1), np.zeros(1), iter(range(100))

            def run(one=one, total=total, calls=calls) -> None:
                time.sleep(0.002 if next(calls) % 4 else 0.004)
                comm.Allreduce(one, total)

            times = repeat(lambda run=run: run, comm, Budget(2, 12, 1.0), make(way, comm, clock), clock)
            noticed = comm.rank != 0 or (
                not set(COMMON) & set(times.calls)
                and "clock_error_s" not in times.facts
                and times.stamps is None
                and any(finding["code"] == "clock" for finding in times.findings)
            )
            yield f"{name}, by {way}: noticed", noticed
            if name == "backwards":
                unusable = f"no call is valid: the clock of rank {comm.size - 1} ran backwards"
                yield f"{name}, by {way}: no call is valid, found: {times.unusable}", times.unusable == unusable
            if name == "stepping back":
                valid_s = times.valid_s()  # none at all where calls take as long as the clock's steps
                told = comm.rank != 0 or (
                    len(valid_s) < 12 <= times.number - times.warmups and min(valid_s, default=1) > 0
                )
                yield f"{name}, by {way}: calls in which it stepped are not valid", told


def good(comm: MPI.Comm) -> tuple[int, list[str]]:
    """Return the number of checks of clocks that differ, and those that failed on any rank."""
    return told(comm, of_good(comm))


def bad(comm: MPI.Comm) -> tuple[int, list[str]]:
    """Return the number of checks of clocks of no use, and those that failed on any rank."""
    with patch.object(sync, "LOOKS", range(20_000)):  # a start that is never reached is given up sooner
        return told(comm, of_bad(comm))


def told(comm: MPI.Comm, checks: Iterable[tuple[str, bool]]) -> tuple[int, list[str]]:
    """Return their number, and the words of those that failed on any rank."""
    holds = [(what, comm.allreduce(bool(holds), MPI.LAND)) for what, holds in checks]
    return len(holds), [what for what, all_hold in holds if not all_hold]


def of_one_node(comm: MPI.Comm) -> list[tuple[bool, str]]:
    """Return whether a clock told to be one of all ranks is right, and its method, of one that is and one that is not.

    What is told is believed until a window says otherwise.
    """
    found = []
    for now in (time.perf_counter, lambda: time.perf_counter() + 60.0 * (comm.rank == comm.size - 1)):
        clock = Clock(comm, now, shared=True)
        line, facts = clock.line(now(), now()), clock.facts()
        is_right = abs(line.common(now()) - time.perf_counter()) < 1 and clock.error_s() < 1
        assert facts is None or 0 < facts["round_trip_s"] < 1
        found.append((is_right, facts and {ONE_CLOCK: "one", METHOD: "several"}[facts["method"]]))
    return found
