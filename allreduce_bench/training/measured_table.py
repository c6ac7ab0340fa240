"""A measured training step in words, beside the model of the same step."""

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_time, in_ranks
from .measured import Cycles, Measured, overlap_share
from .outcome_table import HEADS, TENSOR_HEADS, WHOLE, model_sentence, packing_sentence, tensor_sentence
from .result import Result
from .step import Outcome, Setup

ABSENT = "-"
WORK = {"spin": "spinning", "matmul": "a matrix product", "sleep": "sleeping, which takes no core"}
OVERLAP = {
    "blocking": "behind the computation",
    "thread": "in a thread beside the computation",
    "iallreduce": "by MPI_Iallreduce, tested between parts of the computation",
}
IN_CYCLES = {
    "blocking": "in cycles of a thread, to which gradients are handed over behind the backward pass",
    "thread": "in cycles of a thread beside the computation",
}


def measured_text(modelled: Result, measured: Measured, how: tuple[str, str], screen: Screen = UNBOUNDED) -> str:
    """The whole answer; `how` is the kind of computation, and how all-reduces run beside it."""
    (work, overlap), (outcome,), setup = how, modelled.outcomes, modelled.setup
    assert setup is not None
    where = (IN_CYCLES if measured.cycles else OVERLAP)[overlap]
    head = [
        f"{modelled.title} on {in_ranks([measured.ranks])}, measured: {repetitions(measured.steps, 'step')}",
        model_sentence(setup),
        packing_sentence(setup),
        f"computation by {WORK[work]}; all-reduces by {measured.algorithm}, {where}",
    ]
    head += [tensor_sentence(setup)] if setup.tensor else []
    table = fitted(columns_of(_rows(setup, measured, outcome, overlap == "blocking"), left={0}), screen, WHOLE)
    told = [slowdown_sentence(measured, "before" if overlap == "blocking" else "beside")]
    told += [stall_sentence(setup, measured)] if setup.tensor else []
    told += [cycles_sentence(setup, measured.cycles, outcome)] if measured.cycles else []
    told += [line_sentence(measured), difference_sentence(measured, outcome)]
    parts = [wrapped(head, screen), table, wrapped(told, screen)]
    return "\n\n".join("\n".join(part) for part in parts)


def repetitions(number: int, what: str) -> str:
    """`medians of 5 steps`."""
    return f"one {what}" if number == 1 else f"medians of {number} {what}s"


def _rows(setup: Setup, measured: Measured, modelled: Outcome, blocks: bool) -> list[list[str]]:
    """The measured step above its model; both kinds of all-reduces apart. Where it `blocks`, nothing overlaps."""
    line = modelled.time_line
    alone = [measured.step_s, measured.compute_alone_s, measured.communication_alone_s, measured.exposed_s]
    predicted = [line.step_s, line.compute_s, line.communication_s, line.exposed_s]
    if setup.tensor:
        alone[2:] = [measured.tensor_beside_s, measured.communication_alone_s, measured.data_exposed_s]
        predicted[2:] = [line.tensor_s, line.communication_s, line.data_exposed_s]
    shares = [measured.overlap_share, overlap_share(line.compute_s + line.tensor_s, line.communication_s, line.step_s)]
    told = [ABSENT if blocks else _share(share) for share in shares]
    return [
        ["", "step", "compute", *(TENSOR_HEADS if setup.tensor else HEADS), "overlap"],
        ["measured", *map(signed_time, alone), told[0]],
        ["modelled", *map(signed_time, predicted), told[1]],
    ]


def signed_time(time_s: float) -> str:
    """`-1.20 ms`: a difference of two times, which may be below 0 by noise."""
    return format_time(time_s) if time_s >= 0 else f"-{format_time(-time_s)}"


def _share(share: float | None) -> str:
    return ABSENT if share is None else f"{share:.0%}"


def signed_share(share: float) -> str:
    """`+14%`."""
    return f"{round(share, 2) + 0:+.0%}"  # no -0%


def slowdown_sentence(measured: Measured, where: str = "beside") -> str:
    """How much the computation is slowed by the communication beside it, `between` its parts, or behind it."""
    if measured.slowdown is None:
        return "There is no computation."
    alone, beside = format_time(measured.compute_alone_s), format_time(measured.compute_beside_s)
    return (
        f"The computation takes {alone} alone and {beside} {where} the all-reduces: {signed_share(measured.slowdown)}."
    )


def stall_sentence(setup: Setup, measured: Measured) -> str:
    """How much longer the all-reduces of activations take in the step than alone."""
    assert setup.tensor is not None
    alone, beside = format_time(measured.tensor_alone_s), format_time(measured.tensor_beside_s)
    longer = measured.tensor_beside_s / measured.tensor_alone_s - 1
    calls = setup.tensor.calls * setup.accumulate
    return (
        f"The {calls} tensor-parallel all-reduces take {alone} alone and {beside} in the step, beside the "
        f"data-parallel ones and with what ranks wait for each other: {signed_share(longer)}. All of them are exposed."
    )


def cycles_sentence(setup: Setup, cycles: Cycles, modelled: Outcome) -> str:
    """How many all-reduces Horovod made of the gradients, and what its cycles cost beside them."""
    gradients, predicted = len(setup.model.gradients), len(modelled.time_line.transfers)
    agreed, bound = format_time(cycles.agreement_s), format_time(cycles.binding_s)
    plural = "" if cycles.all_reduces == 1 else "s"
    return (
        f"A step has {cycles.all_reduces:g} all-reduce{plural} of {gradients} gradients (its model {predicted}), in "
        f"{cycles.cycles:g} cycles. Beside them the thread takes {agreed} to agree on what is ready, which includes "
        f"the wait for other ranks, and {bound} to bind all-reduces of new lengths; the model has neither."
    )


def line_sentence(measured: Measured) -> str:
    """What the time line of one step says of the overlap."""
    share = measured.time_line.overlap_share
    kind = "data-parallel " if measured.time_line.tensor_transfers else ""
    return f"In the time line of the median step {_share(share)} of the {kind}communication runs beside computation."


def difference_sentence(measured: Measured, modelled: Outcome, what: str = "step") -> str:
    """How far the model is off."""
    off = modelled.time_line.step_s / measured.step_s - 1
    return f"The model of this {what}, from computation and all-reduces alone, is {signed_share(off)} off."
