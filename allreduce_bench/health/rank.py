"""The rank of a check: `python -m allreduce_bench.health.rank FOLDER`, rounds of disjoint pairs, one rank per node.

Small messages are exchanged in ping-pong: half a round trip is the time of one (Hockney, "The communication challenge
for MPP", 1994). Large ones go in one direction, then in the other, timed by the sender until the receiver's empty
answer.

Rank 0 records the rows of a round before the next one begins. No MPI call blocks: if a partner does not answer within
the timeout, the pair is recorded as failed, and the launch ends, since messages are still in flight.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing.memory import PAGES, filled
from ..machine.node import host
from ..runs.rows import RunError
from ..watching.lifeline import MONITOR_VARIABLE, WarningFlag
from ..watching.watch import Watch
from ..watching.whereabouts import doing
from .pair_folder import CheckSettings, PairFolder, PairRow
from .rounds import ROUND_TRIPS, WARM_UPS, Order, second_round

# Tags of messages
READY, DATA = 1, 2  # between partners
REPORTING = 3  # to rank 0, after a round
STARTING, NEXT = 4, 5  # to and from rank 0: not by collectives, whose messages may take a pair that cannot talk

# Waiting
SPINS = 100  # polls of a message before yielding to other processes
IDLE_S = 0.001  # between two polls of a rank that has nothing to do

# States of rank 0 after a round
GO_ON, END, END_BADLY = 0, 1, 2


class SilentPartner(RuntimeError):
    """A message of the partner did not arrive, or was not received, within the timeout."""


class Partner:
    """The other rank of a pair; its messages are waited for no longer than `timeout_s`."""

    def __init__(self, comm: MPI.Comm, rank: int, name: str, timeout_s: float):
        self.comm, self.rank, self.name, self.timeout_s = comm, rank, name, timeout_s

    def send(self, message: np.ndarray, tag: int = DATA) -> None:
        """Send a message. Raises SilentPartner."""
        self.finish(self.comm.Isend([message, MPI.BYTE], self.rank, tag))

    def receive(self, message: np.ndarray, tag: int = DATA) -> None:
        """Receive a message. Raises SilentPartner."""
        self.finish(self.comm.Irecv([message, MPI.BYTE], self.rank, tag))

    def finish(self, request: MPI.Request) -> None:
        """Wait for a message in flight. Raises SilentPartner."""
        deadline, spins = perf_counter() + self.timeout_s, 0
        while not request.Test():
            spins += 1
            if spins % SPINS == 0:
                os.sched_yield()
                if perf_counter() > deadline:
                    raise SilentPartner(f"no message from {self.name} for {self.timeout_s:g} s (--timeout)")


def measure_pair(partner: Partner, is_source: bool, asked: CheckSettings) -> tuple[list[float], list[float]]:
    """Return the times of the pair, seconds: of small messages (on the source only), and of this rank's large ones.

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


def ping_pong(partner: Partner, is_source: bool, asked: CheckSettings, repetitions: int) -> list[float]:
    """Return half of a round trip of the small message for each repetition, seconds; empty on the other rank."""
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
    """Send once the partner is ready; return the seconds until its answer."""
    empty = np.zeros(0, np.uint8)
    partner.receive(empty, READY)
    begun = perf_counter()
    partner.send(message)
    partner.receive(empty, READY)
    return perf_counter() - begun


def take_large(partner: Partner, message: np.ndarray) -> None:
    """Receive what `send_large` sends: the receive is posted before this rank reports that it is ready."""
    empty = np.zeros(0, np.uint8)
    request = partner.comm.Irecv([message, MPI.BYTE], partner.rank, DATA)
    partner.send(empty, READY)
    partner.finish(request)
    partner.send(empty, READY)


class PairReport(NamedTuple):
    """The report of a rank after a round."""

    rank: int
    rows: list[PairRow]
    failure: str = ""
    partner: int | None = None


def ranks_of_nodes(names: Sequence[str], hosts: Sequence[str]) -> dict[str, int]:
    """Return the rank on each of the nodes `names`, by the names of their hosts, else in order.

    Raises RunError if there are fewer hosts than names, or two ranks on one.
    """
    seen: dict[str, int] = {}
    for rank, name in enumerate(hosts):
        if name in seen:
            raise RunError(f"expected one rank per node, found ranks {seen[name]} and {rank} on {name}")
        seen[name] = rank
    if len(hosts) < len(names):
        raise RunError(f"expected {len(names)} ranks, one per node, found {len(hosts)}")
    short = {name.partition(".")[0]: rank for name, rank in seen.items()}
    found = {name: seen.get(name, short.get(name.partition(".")[0])) for name in names}
    if None in found.values() or len(set(found.values())) < len(names):
        return {name: rank for rank, name in enumerate(names)}
    return {name: rank for name, rank in found.items() if rank is not None}


class RoundsOfRank:
    """The rounds of one launch, on one rank."""

    def __init__(self, comm: MPI.Comm, order: Order, rank_of: Mapping[str, int], watch: Watch | None):
        self.comm, self.order, self.rank_of, self.watch = comm, order, rank_of, watch
        self.name_of = {rank: name for name, rank in rank_of.items()}

    def round(self, number: int, pairs: Sequence[tuple[str, str]]) -> PairReport:
        """Measure this rank's pair of a round; the report is empty if it rests."""
        own = self.name_of.get(self.comm.rank, "")
        for source, dest in pairs:
            if own in (source, dest):
                return self._measure_with_partner(number, own, source, dest)
        return PairReport(self.comm.rank, [])

    @doing("exchanging messages with its partner")
    def _measure_with_partner(self, number: int, own: str, source: str, dest: str) -> PairReport:
        other = dest if own == source else source
        partner = Partner(self.comm, self.rank_of[other], other, self.order.timeout_s)
        asked, alone = self.order.asked, self.order.alone
        try:
            small_s, large_s = measure_pair(partner, own == source, asked)
        except (SilentPartner, MPI.Exception) as error:
            return PairReport(self.comm.rank, [], f"{own}: {error}", partner.rank)
        sizes = ((asked.small_nbytes, small_s), (asked.large_nbytes, large_s))
        rows = [
            PairRow(number, own, other, size_bytes, repetition, time_s, alone)
            for size_bytes, times_s in sizes
            for repetition, time_s in enumerate(times_s, start=1)
        ]
        return PairReport(self.comm.rank, rows)

    @doing("waiting for the reports of the other ranks")
    def collect_reports(self, own: PairReport, pairs: Sequence[tuple[str, str]]) -> list[PairReport]:
        """Collect on rank 0 the reports of all ranks of a round; a silent rank gets a failure."""
        silent = {self.rank_of[name] for pair in pairs for name in pair} - {own.rank}
        reports, deadline = [own], perf_counter() + 1.5 * self.order.timeout_s
        while silent - {report.partner for report in reports} and perf_counter() < deadline:
            if self.comm.iprobe(tag=REPORTING):
                report = PairReport(*self.comm.recv(tag=REPORTING))
                reports.append(report._replace(rows=[PairRow(*row) for row in report.rows]))
                silent.discard(report.rank)
                deadline = perf_counter() + 1.5 * self.order.timeout_s
            else:
                time.sleep(IDLE_S)
        return [*reports, *(PairReport(rank, [], f"no report from {self.name_of[rank]}") for rank in silent)]

    @doing("waiting for the next round")
    def agree(self, state: int) -> int:
        """Return the state of rank 0; waiting ranks yield to those that measure."""
        comm, word = self.comm, np.array([state], np.int64)
        others = range(1, comm.size)
        requests = [comm.Irecv(word, 0, NEXT)] if comm.rank else [comm.Isend(word, other, NEXT) for other in others]
        while not MPI.Request.Testall(requests):
            time.sleep(IDLE_S)
        return int(word[0])


def broadcast(comm: MPI.Comm, value: Any = None) -> Any:
    """Return the value of rank 0, sent to each other rank by itself."""
    if comm.rank:
        return comm.recv(source=0, tag=STARTING)
    for other in range(1, comm.size):
        comm.send(value, other, tag=STARTING)
    return value


def gather_all(comm: MPI.Comm, value: Any) -> list[Any]:
    """Return the values of all ranks, by way of rank 0."""
    if comm.rank:
        comm.send(value, 0, tag=STARTING)
        return broadcast(comm)
    return broadcast(comm, [value, *(comm.recv(source=other, tag=STARTING) for other in range(1, comm.size))])


def rows_to_keep(
    number: int, pairs: Sequence[tuple[str, str]], reports: Sequence[PairReport], order: Order, rank_of
) -> list:
    """Return the rows of a round for the file: all of complete pairs, and one for each pair that failed."""
    report_of = {report.rank: report for report in reports}
    rows: list[PairRow] = []
    for source, dest in pairs:
        both = [report_of[rank_of[name]] for name in (source, dest) if rank_of[name] in report_of]
        failures = [report.failure for report in both if report.failure]
        if failures:
            first = next((words for words in failures if not words.startswith("no report")), failures[0])
            rows.append(PairRow(number, source, dest, alone=order.alone, failure=first))
        else:
            rows += [row for report in both for row in report.rows]
    return rows


def run_rounds(check: RoundsOfRank, folder: PairFolder, warning: WarningFlag) -> int:
    """Run all rounds of the launch and return how it ended: END or END_BADLY."""
    comm, order = check.comm, check.order
    rounds, number, state = list(order.rounds), order.first_round, GO_ON
    while (state := check.agree(state if rounds else END)) == GO_ON:
        pairs = rounds.pop(0)
        if check.watch and comm.rank == 0:
            last = number + len(rounds) + order.has_second
            check.watch.say("cell", words=f"round {number} of {last}", facts={"round": number, "pairs": pairs})
        own = check.round(number, pairs)
        if comm.rank:
            comm.send(tuple(own), 0, tag=REPORTING)
        rows: list[PairRow] = []
        if comm.rank == 0:
            rows = rows_to_keep(number, pairs, check.collect_reports(own, pairs), order, check.rank_of)
            folder.append(rows)
            warned = warning.is_set
            state = END_BADLY if any(row.failure for row in rows) else END if warned else GO_ON
            if check.watch and warned:
                check.watch.say("warned")
            if state == END_BADLY:
                return state  # ranks that wait for a partner do not take part
        if order.has_second and number == order.first_round:
            second = None if comm.rank else second_round(order.nodes, order.rounds[0], rows)
            rounds = [broadcast(comm, second)]
        number += 1
    return state


def main() -> None:
    """Measure the rounds of FOLDER/rounds.json; exit status 1 if a pair failed."""
    comm, folder, warning = MPI.COMM_WORLD, PairFolder(Path(sys.argv[1])), WarningFlag()
    warning.listen()
    address = os.environ.get(MONITOR_VARIABLE)
    watch = Watch(address, comm.rank, on_warning=warning.set) if address else None
    try:
        order = broadcast(comm, None if comm.rank else Order.read(folder.rounds_json))
        check = RoundsOfRank(comm, order, ranks_of_nodes(order.nodes, gather_all(comm, host())), watch)
        state = run_rounds(check, folder, warning)
    except Exception as error:  # whatever it is, the other ranks must not wait for this one
        _give_up(comm, watch, " ".join(str(error).split()) or type(error).__name__, isinstance(error, RunError))
    if state == END_BADLY:
        _give_up(comm, watch, "a pair failed", refused=False)
    if watch:
        watch.close()


def _give_up(comm: MPI.Comm, watch: Watch | None, why: str, refused: bool) -> None:
    if watch:
        watch.say("failed", why=why, pause_s=0.0, refused=refused)
        time.sleep(0.2)  # so that the message arrives before the launcher ends all ranks
    comm.Abort(1)
    os._exit(1)


if __name__ == "__main__":
    main()
