"""A ping-pong between two virtual hosts: what the latency of a model is compared with."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

from ..cli.types import OneLineError
from ..machine.node import bucket_nbytes
from ..measuring.startup import thread_level
from ..runs.start import Start
from ..units import format_time
from .lab import PAYLOAD_SHARE, with_lab

PATIENCE_S = 120.0


class Ping(NamedTuple):
    """Half the round trip of a message, and an exchange of short ones in both directions, seconds."""

    short_s: float
    exchange_s: float
    long_s: float
    long_nbytes: int


def ping() -> Ping:
    """Send messages to and fro between the first two hosts of the lab around this process.

    Raises LaunchError, OneLineError where the launcher fails.
    """
    from ..launching.find import find_launcher, mpirun_command
    from ..launching.layout import ranks_on_same_cores

    start = with_lab(Start(ranks_per_node=1), os.environ)
    command = mpirun_command(find_launcher(start), 2, start, [sys.executable, "-m", "allreduce_bench.lab.pingpong"])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": thread_level("auto", ranks_on_same_cores(2, start))}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode or not lines:
        said = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise OneLineError(f"lab ping: the launcher failed: {said}", 1)
    found = json.loads(lines[-1])
    (_, short_s), (long_nbytes, long_s) = sorted((int(nbytes), time_s) for nbytes, time_s in found["message"].items())
    (exchange_s,) = found["exchange"].values()
    return Ping(short_s=short_s, exchange_s=exchange_s, long_s=long_s, long_nbytes=long_nbytes)


def ping_sentence(found: Ping, rate_bytes_per_s: float) -> str:
    """`ping-pong: 8 B take 31.0 us one way, …`; what the link passes at once after a pause is no part of its rate."""
    rate = (found.long_nbytes - bucket_nbytes(rate_bytes_per_s)) / found.long_s
    return (
        f"ping-pong: 8 B take {format_time(found.short_s)} one way, {format_time(found.exchange_s)} both ways at once "
        f"(a step, alpha); 1 MiB goes at {rate * 8e-6:.4g} Mbit/s, "
        f"{rate / rate_bytes_per_s:.1%} of the link's rate (headers leave {PAYLOAD_SHARE:.1%})"
    )
