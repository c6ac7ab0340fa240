"""Cuts of steps into segments, as requested, or by the costs of a message, a byte and its reduction.

A message of m bytes is cut into pieces of g bytes, so that the next piece is received while the last one is reduced.
That takes about max(beta, gamma) m for the longer of the two activities, min(beta, gamma) g for the piece that nothing
overlaps with, and alpha for each of m / g pieces. The sum is smallest at g = sqrt(m alpha / min(beta, gamma)): the
optimum of a pipeline with two stages, as in Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication:
theory, practice, and experience" (2007), for pipelined trees. m is the block of a rank, 1/p of the vector.

Over a link whose rate is given a segment is short (OVER_A_LINK_NBYTES): both MPIs send up to 64 KiB over TCP at once,
but ask the receiver of a longer message first, and the answer waits behind other messages. On four virtual hosts at 100
Mbit/s, with 8 MiB and Open MPI, ring reached 90 % of the limit with the segment of the formula, 98 % with 60 KiB;
two_tree 63 % of its own limit with 128 KiB, 97 % with 16 KiB.
"""

from math import inf, sqrt

from .plan import Cut, CutPrices, Plan

SHORTEST_NBYTES, LONGEST_NBYTES = 64 * 1024, 4 * 1024 * 1024  # of a chosen segment: below, messages cost too much
FEWEST_PIECES = 2  # of a message; with fewer it stays whole
OVER_A_LINK_NBYTES = 16 * 1024  # of a segment, if the rate of a link is given
STEP_NBYTES = 1024  # a chosen segment is a multiple, so that it holds whole elements of every type
NOMINAL = CutPrices(2e-6, 1e-10, 1e-10, "nominal")  # two ranks on one node: 2 us, 10 GB/s both ways


def given_cuts(plan: Plan, segment_nbytes: int) -> tuple[Cut, ...]:
    """Return the same segment at every size and number of ranks of the plan."""
    return tuple(Cut(ranks, size_bytes, segment_nbytes) for ranks in plan.ranks for size_bytes in plan.sizes)


def chosen_cuts(plan: Plan, prices: CutPrices) -> tuple[Cut, ...]:
    """Return the cuts of every size and number of ranks of the plan by these prices;
    messages without one stay whole.
    """
    cuts = []
    for ranks in plan.ranks:
        for size_bytes in plan.sizes:
            if segment_nbytes := chosen_segment_nbytes(size_bytes / plan.group_size(ranks), prices):
                cuts.append(Cut(ranks, size_bytes, segment_nbytes))
    return tuple(cuts)


def chosen_segment_nbytes(message_nbytes: float, prices: CutPrices) -> int | None:
    """Return the segment size for messages of `message_nbytes`; None if they stay whole: fewer than FEWEST_PIECES are
    best.
    """
    per_byte = min(prices.beta_s_per_byte, prices.gamma_s_per_byte)
    best = sqrt(message_nbytes * prices.alpha_s / per_byte) if per_byte > 0 else inf
    size_bytes = int(min(max(best, SHORTEST_NBYTES), LONGEST_NBYTES))
    size_bytes -= size_bytes % STEP_NBYTES
    return size_bytes if message_nbytes >= FEWEST_PIECES * size_bytes else None
