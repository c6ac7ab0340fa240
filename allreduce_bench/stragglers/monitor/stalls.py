"""Where no step ends: which ranks the others wait for. Pure: states of ranks in, facts out."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class State(NamedTuple):
    """Where a rank stands."""

    steps: int  # that it has ended
    is_ready: bool  # for the collective call of the step that it is in
    says_ready: bool  # whether the program calls `ready` at all
    since_s: float  # seconds since its last step ended


class Stall(NamedTuple):
    """No step has ended for long, or, once `is_over`, one has again."""

    step: int  # that does not end, counted from 0
    stall_s: float  # seconds since the last end of a step
    behind: tuple[int, ...] = ()  # ranks that answer and are not as far as others
    silent: tuple[int, ...] = ()  # ranks that answered before and do not now
    unreached: tuple[int, ...] = ()  # ranks that never answered: they cannot be asked
    all_ready: bool = False  # every rank that answers is ready
    says_ready: bool = True  # whether the program calls `ready`
    is_over: bool = False

    @property
    def blamed(self) -> tuple[tuple[int, ...], ...]:
        """What a second look may find changed."""
        return self.behind, self.silent, self.unreached


def stall_of(states: Mapping[int, State], size: int, reached: Collection[int]) -> Stall:
    """What the states of the ranks that answer say; rank 0, who asks, is one of them.

    `reached`: the ranks that have ever answered.
    """
    places = {rank: (state.steps, state.is_ready) for rank, state in states.items()}
    least, most = min(places.values()), max(places.values())
    missing = [rank for rank in range(size) if rank not in states]
    return Stall(
        step=most[0],
        stall_s=states[0].since_s,
        behind=tuple(sorted(rank for rank, place in places.items() if place < most)) if least < most else (),
        silent=tuple(rank for rank in missing if rank in reached),
        unreached=tuple(rank for rank in missing if rank not in reached),
        all_ready=least[1],
        says_ready=any(state.says_ready for state in states.values()),
    )
