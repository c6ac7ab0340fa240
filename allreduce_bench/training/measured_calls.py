"""Recorded calls that were replayed on ranks, in words, beside the model of the same calls."""

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_size, format_time, in_ranks
from .measured import Measured
from .measured_table import WORK, difference_sentence, repetitions, signed_share, signed_time, slowdown_sentence
from .outcome_table import HEADS, WHOLE
from .result import Result


def measured_calls_text(modelled: Result, measured: Measured, how: tuple[str, str], screen: Screen = UNBOUNDED) -> str:
    """The whole answer; `how` begins with the kind of computation."""
    (outcome,) = modelled.outcomes
    head = [
        f"{modelled.title} on {in_ranks([measured.ranks])}, measured: {repetitions(measured.steps, 'replay')}",
        sizes_sentence(measured),
        f"gaps by {WORK[how[0]]}; all-reduces by {measured.algorithm}, a sum; the computation stops for each",
    ]
    line = outcome.time_line
    own = (measured.step_s, measured.compute_alone_s, measured.communication_alone_s, measured.exposed_s)
    predicted = (line.step_s, line.compute_s, line.communication_s, line.exposed_s)
    rows = [["", "total", "compute", *HEADS]]
    rows += [[name, *map(signed_time, times)] for name, times in (("measured", own), ("modelled", predicted))]
    told = [
        slowdown_sentence(measured, "between"),
        beside_sentence(measured),
        difference_sentence(measured, outcome, "replay"),
    ]
    parts = [wrapped(head, screen), fitted(columns_of(rows, left={0}), screen, WHOLE), wrapped(told, screen)]
    return "\n\n".join("\n".join(part) for part in parts)


def sizes_sentence(measured: Measured) -> str:
    """`12 MiB in lengths from 4 KiB to 4 MiB, 3 different ones`."""
    lengths = measured.alone_nbytes
    least, most, number = min(lengths), max(lengths), len({*lengths})
    span = f"{number} lengths from {format_size(least)} to {format_size(most)}" if number > 1 else "one length"
    return f"{format_size(sum(lengths))} of each rank are reduced, in {len(lengths)} calls of {span}"


def beside_sentence(measured: Measured) -> str:
    """What the calls take where they are replayed, beside what they take one after the other."""
    alone, replayed_s = measured.communication_alone_s, measured.time_line.communication_s
    more = f": {signed_share(replayed_s / alone - 1)}" if alone else ""
    return (
        f"The all-reduces take {format_time(alone)} one after the other and {format_time(replayed_s)} between the gaps "
        f"of the median replay, with what ranks wait for each other there{more}."
    )
