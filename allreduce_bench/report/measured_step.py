"""A measured training step in words, beside the model of the same step."""

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_time, in_ranks
from ..workload.measured import Measured
from ..workload.step import Outcome, Setup
from .training_step import WHOLE, model_sentence, packing_sentence

ABSENT = "-"
WORK = {"spin": "spinning", "matmul": "a matrix product", "sleep": "sleeping, which takes no core"}
OVERLAP = {
    "blocking": "behind the computation",
    "thread": "in a thread beside the computation",
    "iallreduce": "by MPI_Iallreduce, tested between parts of the computation",
}


def measured_text(
    setup: Setup, measured: Measured, modelled: Outcome, how: tuple[str, str], screen: Screen = UNBOUNDED
) -> str:
    """The whole answer; `how` is the kind of computation, and how all-reduces run beside it."""
    work, overlap = how
    head = [
        f"{setup.model.label} on {in_ranks([measured.ranks])}, measured: medians of {measured.steps} steps",
        model_sentence(setup),
        packing_sentence(setup),
        f"computation by {WORK[work]}; all-reduces by {measured.algorithm}, {OVERLAP[overlap]}",
    ]
    line = modelled.time_line
    rows = [["", "step", "compute", "all-reduces", "exposed", "overlap"]]
    alone = [measured.step_s, measured.compute_alone_s, measured.communication_alone_s, measured.exposed_s]
    rows.append(["measured", *map(_time, alone), _share(measured.overlap_share)])
    predicted = [line.step_s, line.compute_s, line.communication_s, line.exposed_s]
    rows.append(["modelled", *map(_time, predicted), _share(_shorter_share(modelled))])
    told = [slowdown_sentence(measured), line_sentence(measured), difference_sentence(measured, modelled)]
    parts = [wrapped(head, screen), fitted(columns_of(rows, left={0}), screen, WHOLE), wrapped(told, screen)]
    return "\n\n".join("\n".join(part) for part in parts)


def _time(time_s: float) -> str:
    return format_time(time_s) if time_s >= 0 else f"-{format_time(-time_s)}"


def _share(share: float | None) -> str:
    return ABSENT if share is None else f"{share:.0%}"


def _shorter_share(modelled: Outcome) -> float | None:
    """The overlap over the shorter of computation and communication, as the measured one is."""
    line = modelled.time_line
    shorter = min(line.compute_s, line.communication_s)
    return line.overlapped_s / shorter if shorter else None


def slowdown_sentence(measured: Measured) -> str:
    """How much the computation is slowed by the communication beside it."""
    if measured.slowdown is None:
        return "The step has no computation."
    alone, beside = format_time(measured.compute_alone_s), format_time(measured.compute_beside_s)
    return f"The computation takes {alone} alone and {beside} beside the all-reduces: {measured.slowdown:+.0%}."


def line_sentence(measured: Measured) -> str:
    """What the time line of one step says of the overlap."""
    share = measured.time_line.overlap_share
    return f"In the time line of the median step {_share(share)} of the communication runs beside computation."


def difference_sentence(measured: Measured, modelled: Outcome) -> str:
    """How far the model is off."""
    off = modelled.time_line.step_s / measured.step_s - 1
    return f"The model of this step, from computation and all-reduces alone, is {off:+.0%} off."
