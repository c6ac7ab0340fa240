"""`allreduce-bench` whose all-reduces each take longer by what ALLREDUCE_BENCH_SLOWED says: for regressions.py alone.

The variable holds JSON: {"native 65536": seconds, "ring 65536": seconds}, by competitor and bytes; all of ours
wait alike. The ranks wait busily after each call, the delay of a slower machine; what is not named is as fast as ever.
"""

import json
import os
from collections.abc import Callable
from time import perf_counter

from allreduce_bench.measuring.startup import hold_back_mpi

SLOWED_VARIABLE = "ALLREDUCE_BENCH_SLOWED"


def slowed(prepare: Callable, sendbuf_at: int, delays_s: dict[int, float]) -> Callable:
    """`prepare` of executing, whose calls wait for the delay of their bytes; argument `sendbuf_at` is the input."""

    def prepared(*arguments, **more):
        found = prepare(*arguments, **more)
        delay_s, run = delays_s.get(arguments[sendbuf_at].nbytes, 0.0), found.run

        def run_and_wait() -> None:
            run()
            end = perf_counter() + delay_s
            while perf_counter() < end:
                pass

        return found._replace(run=run_and_wait)

    return prepared


def main() -> None:
    """Slow the executors before anything imports them, then do as the command does."""
    hold_back_mpi()
    from allreduce_bench.cli import main as command
    from allreduce_bench.executing import EXECUTORS, NATIVES

    delays: dict[str, dict[int, float]] = {"native": {}, "sendrecv": {}}
    for name, delay_s in json.loads(os.environ[SLOWED_VARIABLE]).items():
        competitor, size_bytes = name.split()
        delays["native" if competitor == "native" else "sendrecv"][int(size_bytes)] = delay_s
    NATIVES["native"] = slowed(NATIVES["native"], 0, delays["native"])
    EXECUTORS["sendrecv"] = slowed(EXECUTORS["sendrecv"], 1, delays["sendrecv"])
    command()


if __name__ == "__main__":
    main()
