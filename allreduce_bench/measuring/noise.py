"""Noise of the machine: what interrupts, other processes and the hypervisor take from ranks that only compute."""

from time import perf_counter

from mpi4py import MPI

from ..watching.whereabouts import doing

ADDITIONS = 5000  # in a quantum: about 50 us on a core of 2024, the same in all launches and ranks
QUANTA, NOISE_S = 1000, 50e-3  # at most; total seconds at most


def noise_of(comm: MPI.Comm) -> dict | None:
    """Measure the machine's noise by a fixed work quantum (FWQ), as netgauge does: repeated equal additions.

    All ranks repeat them at the same time (Hoefler, Schneider and Lumsdaine, SC 2010). Time of a quantum beyond its
    rank's shortest was taken by others: interrupts, other processes, the hypervisor. Not visible: what slows every
    quantum alike, such as a low clock; and the frequency of a source, which fixed work does not measure (Sottile and
    Minnich, CLUSTER 2004).

    {"quantum_s": the shortest quantum, median over ranks; "max_s": the longest one; "lost": the largest share of its
    time that a rank lost, "rank": that rank}; None on all but rank 0. Collective, each rank on a core of its own; takes
    about 50 ms.
    """
    comm.Barrier()
    quanta_s = _quanta(range(ADDITIONS))
    of_ranks = comm.gather((min(quanta_s), max(quanta_s), 1 - len(quanta_s) * min(quanta_s) / sum(quanta_s)))
    if of_ranks is None:
        return None
    shortest, longest, lost = zip(*of_ranks)
    return {
        "quantum_s": sorted(shortest)[comm.size // 2],
        "max_s": max(longest),
        "lost": max(lost),
        "rank": lost.index(max(lost)),
    }


@doing("measuring the noise of the machine")
def _quanta(numbers: range) -> list[float]:
    """Return the time of each quantum, without gaps between them; seconds, above 0."""
    stamps = [perf_counter()]
    end = stamps[0] + NOISE_S
    while len(stamps) <= QUANTA and stamps[-1] < end:
        sum(numbers)
        stamps.append(perf_counter())
    return [max(after - before, 1e-9) for before, after in zip(stamps, stamps[1:])]
