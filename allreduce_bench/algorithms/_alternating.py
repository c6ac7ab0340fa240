"""Partners at the distances 1, 1, 3, 5, 11, 21, ..., to the right and to the left in turn; for Swing and Bine.

In step s an even rank exchanges with the rank at distance rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ..., an odd
one with that at -rho(s). After s steps a rank has met others on both sides, so that the distances grow by 2^s / 3
only, where those of recursive doubling are 2^s. The ranks must be even in number.

What rank 0 does in all steps tells what the others do: an even rank does the same, shifted; an odd one its reflection.
"""

from collections.abc import Sequence

from ._mirrored import Exchange


def distance(step: int) -> int:
    """Return rho(step): 1, -1, 3, -5, 11, -21, ...: the sum of the powers of -2 up to the step."""
    return (1 - (-2) ** (step + 1)) // 3


def partner(rank: int, step: int, size: int) -> int:
    """Return whom `rank` exchanges with in a step; the partner's partner is the rank itself."""
    return (rank - distance(step) if rank % 2 else rank + distance(step)) % size


def exchanges(rank: int, size: int, sent_by_0: Sequence[Sequence[int]]) -> list[Exchange]:
    """Return the rounds of `rank`, where rank 0 sends the blocks `sent_by_0[step]` to its partner."""
    rounds = []
    for step, blocks in enumerate(sent_by_0):
        other = partner(rank, step, size)
        sent, received = (
            [(one - number if one % 2 else one + number) % size for number in blocks] for one in (rank, other)
        )
        rounds.append(Exchange(other, sent, other, received))
    return rounds
