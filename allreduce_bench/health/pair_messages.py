"""What the two ranks of a pair exchange, and how long it takes. No call of MPI blocks: a silent partner is noted.

Small messages go to and fro: half a round trip is the time of one (Hockney, "The communication challenge for MPP",
1994). Large ones go in one direction and then in the other, each timed by its sender until the receiver's empty answer.
"""

import os
from time import perf_counter

import numpy as np
from mpi4py import MPI

from ..executing.memory import PAGES, filled
from .pair_file import Asked
from .pair_rounds import ROUND_TRIPS, WARM_UPS

SPINS = 100  # looks for a message without giving way to other processes
READY, DATA = 1, 2  # tags


class SilentPartner(RuntimeError):
    """A message of the partner did not come, or was not taken, within the timeout."""


class Partner:
    """The other rank of a pair; its messages are waited for no longer than `timeout_s`."""

    def __init__(self, comm: MPI.Comm, rank: int, name: str, timeout_s: float):
        self.comm, self.rank, self.name, self.timeout_s = comm, rank, name, timeout_s

    def send(self, message: np.ndarray, tag: int = DATA) -> None:
        """Raises SilentPartner."""
        self.finish(self.comm.Isend([message, MPI.BYTE], self.rank, tag))

    def receive(self, message: np.ndarray, tag: int = DATA) -> None:
        """Raises SilentPartner."""
        self.finish(self.comm.Irecv([message, MPI.BYTE], self.rank, tag))

    def finish(self, request: MPI.Request) -> None:
        """Wait for a message that is under way. Raises SilentPartner."""
        deadline, spins = perf_counter() + self.timeout_s, 0
        while not request.Test():
            spins += 1
            if spins % SPINS == 0:
                os.sched_yield()
                if perf_counter() > deadline:
                    raise SilentPartner(f"no message from {self.name} for {self.timeout_s:g} s (--timeout)")


def measure_pair(partner: Partner, is_source: bool, asked: Asked) -> tuple[list[float], list[float]]:
    """The times of the pair, seconds: of small messages (on the source only), and of the large ones of this rank.

    Both ranks must call it. Raises SilentPartner.
    """
    small_s = ping_pong(partner, is_source, asked, asked.small_repetitions // 2)
    message, sent_s = filled(PAGES.sendbuf, asked.large_nbytes, np.uint8, 0), list[float]()
    for sends in (is_source, not is_source):
        for _ in range(WARM_UPS + asked.large_repetitions):
            if sends:
                sent_s.append(send_large(partner, message))
            else:
                take_large(partner, message)
    # again at the end: a burst of other work is shorter than the large messages
    small_s += ping_pong(partner, is_source, asked, asked.small_repetitions - asked.small_repetitions // 2)
    return small_s, sent_s[WARM_UPS:]


def ping_pong(partner: Partner, is_source: bool, asked: Asked, repetitions: int) -> list[float]:
    """Half of a round trip of the small message in each repetition; empty on the other rank."""
    message, times_s = filled(PAGES.sendbuf, asked.small_nbytes, np.uint8, 0), []
    for _ in range(WARM_UPS + repetitions):
        begun = perf_counter()
        for _ in range(ROUND_TRIPS):
            if is_source:
                partner.send(message)
                partner.receive(message)
            else:
                partner.receive(message)
                partner.send(message)
        times_s.append((perf_counter() - begun) / (2 * ROUND_TRIPS))
    return times_s[WARM_UPS:] if is_source else []


def send_large(partner: Partner, message: np.ndarray) -> float:
    """Send once the partner is ready; seconds until its answer."""
    empty = np.zeros(0, np.uint8)
    partner.receive(empty, READY)
    begun = perf_counter()
    partner.send(message)
    partner.receive(empty, READY)
    return perf_counter() - begun


def take_large(partner: Partner, message: np.ndarray) -> None:
    """The other side of `send_large`: its receive is there before it says that it is ready."""
    empty = np.zeros(0, np.uint8)
    request = partner.comm.Irecv([message, MPI.BYTE], partner.rank, DATA)
    partner.send(empty, READY)
    partner.finish(request)
    partner.send(empty, READY)
