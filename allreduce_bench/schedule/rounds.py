"""In which round each message travels, where a message takes one round and starts when both ends are ready."""

from collections.abc import Sequence
from typing import NamedTuple

from . import Schedule
from .rendezvous import rendezvous


class Sent(NamedTuple):
    """One message: `schedules[source][source_step]` sends it, `schedules[dest][dest_step]` receives it."""

    source: int
    source_step: int
    dest: int
    dest_step: int


def messages_of_rounds(schedules: Sequence[Schedule]) -> list[list[Sent]]:
    """The messages of each round, sorted by their source. No rank receives twice in a round, nor sends twice.

    What a message carries is what its source holds at the end of the round before: a step sends no element that it
    receives. Raises Refusal where a rank waits for ever.
    """
    began = [[0] for _ in schedules]  # how many rounds had ended when each rank began each of its steps
    rounds: list[list[Sent]] = []
    for rank, index, dest_index, source_index in rendezvous(schedules):
        step, end = schedules[rank][index], began[rank][index]
        if step.dest is not None and dest_index is not None:
            end = max(began[rank][index], began[step.dest][dest_index]) + 1
        if step.source is not None and source_index is not None:
            arrival = max(began[rank][index], began[step.source][source_index]) + 1
            rounds += [[] for _ in range(arrival - len(rounds))]
            rounds[arrival - 1].append(Sent(step.source, source_index, rank, index))
            end = max(end, arrival)
        began[rank].append(end)
    return [sorted(messages) for messages in rounds]
