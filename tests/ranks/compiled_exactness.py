"""Every algorithm from compiled code over real MPI on vectors whose result is known exactly.

Each case is run from Python and twice in the loop of the kernel, and must give the expected vector each time and leave
its input untouched; on floats with zeros of both signs, infinities and what is no number it must give the bits of
`sendrecv`. Compiling for a type takes seconds: of few types only FEW_TYPES are tried. Run by itself,

    mpirun -n 3 python compiled_exactness.py [--half] [--few-types] 2 3

it takes a sample on so many ranks in turn in which no message is buffered, whatever its size: the kernel posts each
exchange as two messages, and its sends wait for their receives. What a process links with it keeps. Prints the number
of cases and what is wrong.
"""

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from exactness import KINDS, by_hand, cases, in_two_ranges, summed_up
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import CommonStart, Prepared, Unsupported, symbols
from allreduce_bench.executing.compiled import native, prepare
from allreduce_bench.executing.pipeline import pipelined_program
from allreduce_bench.executing.program import Exchange, Operation, PostReceive, PostSend, Program, Wait, exchanges
from allreduce_bench.executing.sendrecv import sendrecv
from allreduce_bench.measuring.schedules import compile_in_turns
from allreduce_bench.measuring.sync import wait_quietly
from allreduce_bench.measuring.vectors import Check, exact_inputs, poison
from allreduce_bench.runs.dtypes import DTYPES, is_float, teach_numpy
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut_schedules

FEW_TYPES = ("bfloat16", "float32", "float64")  # one whose sums are our own code, and those of other tests
MOST_PIECES = 9  # of a vector: proving takes longer than running
WINDOWS = (1, 2, 5)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7)


def random_floats(count: int, dtype: str, rank: int, special: bool) -> np.ndarray:
    """Different on each rank, and where wanted every seventh element special.

    Only rank 0 has what is no number: of two such operands the processor chooses one.
    """
    vector = np.random.default_rng([count, rank]).standard_normal(count)
    if not special:
        return vector.astype(dtype)
    specials = np.resize(SPECIAL, count)[::7] * (1 if rank == 0 else -1)
    vector[::7] = np.where(np.isnan(specials) & (rank > 0), -1.0, specials)
    return vector.astype(dtype)


def wrong_elements(program: Program, steps: list[Step], count: int, op: str, dtype: str, comm: MPI.Comm) -> int:
    """Bind `program`, run it, and count what is wrong over all ranks; `steps` are what sendrecv runs.

    Which of two zeros, or of a number and what is none, is the greater one depends in Open MPI's MPI_Reduce_local on
    the place of the element in the message: such elements are compared only where messages are those of sendrecv.
    """
    check = Check(comm.size, count, dtype, op)
    operand, correct = (np.resize(period, count) for period in exact_inputs(check, comm.rank))
    sendbuf, recvbuf = operand.copy(), np.empty(count, dtype)
    call = prepare(program, sendbuf, recvbuf, comm, op)
    wrong = 0
    for calls in (0, 1, 2):
        recvbuf[:] = poison(dtype, op)
        wrong += ran_badly(call, calls, comm)
        wrong += np.count_nonzero(recvbuf != correct) + np.count_nonzero(sendbuf != operand)
    if is_float(dtype):
        special = op not in ("max", "min") or program == exchanges(steps, count)
        sendbuf[:], other = random_floats(count, dtype, comm.rank, special), np.empty_like(recvbuf)
        call.run()
        reference = sendrecv(steps, sendbuf, other, comm, op)
        reference.run()
        reference.close()
        bits = f"u{recvbuf.itemsize}"
        wrong += np.count_nonzero(recvbuf.view(bits) != other.view(bits))
    return comm.allreduce(int(wrong))


def ran_badly(call: Prepared, calls: int, comm: MPI.Comm) -> bool:
    """Run it from Python (0), or so often in the kernel; whether its stamps cannot be."""
    if calls == 0:
        call.run()
        return False
    assert call.timed_calls is not None
    entry, exit, on_time = call.timed_calls(calls, CommonStart(comm))
    return not (on_time.all() and (entry < exit).all() and (exit[:-1] <= entry[1:]).all())


def posted(program: Program) -> Program:
    """Each exchange as two messages."""
    operations: list[Operation] = []
    for operation in program.operations:
        if not isinstance(operation, Exchange):
            operations.append(operation)
            continue
        ends: list[Operation] = []
        if operation.recv is not None:
            ends.append(PostReceive(operation.source, operation.recv, program.requests))
        if operation.send is not None:
            ends.append(PostSend(operation.dest, operation.send, program.requests + 1))
        operations += [*ends, *(Wait(end.request) for end in ends)]
    return Program(operations, program.scratch, program.requests + 2)


def programs(name: str, comm: MPI.Comm, topology: Topology, count: int, segment: int) -> Iterator[tuple[str, Program]]:
    """What is run of an algorithm: blocking exchanges, those of several ranges, and messages posted ahead."""
    algorithm = builtin()[name]
    steps = list(algorithm.steps(comm.rank, comm.size, topology, count, segment))
    yield "compiled", exchanges(steps, count)
    yield "compiled in two ranges", exchanges(in_two_ranges(steps), count)
    window = WINDOWS[count % len(WINDOWS)]
    if algorithm.segmented:
        yield f"compiled-pipelined, window {window}", pipelined_program(steps, count, window)
        return
    schedules = algorithm.schedules(comm.size, topology, count, segment)
    for piece in {1 if count <= MOST_PIECES else count // MOST_PIECES | 1, count + 1}:
        cut = cut_schedules(schedules, count, piece).schedules[comm.rank]
        yield f"compiled-pipelined, segment {piece}, window {window}", pipelined_program(cut, count, window)
        two = pipelined_program(in_two_ranges(list(cut)), count, window)
        yield f"compiled-pipelined, segment {piece}, window {window}, in two ranges", two


def all_cases(comm: MPI.Comm, kinds: list[tuple[str, str]], synchronous: bool, sample: bool, half: bool, damaged: bool):
    """(words, what was wrong) of everything."""
    for number, (name, count, segment, topology, op, dtype) in enumerate(cases(comm.size, sample, half, kinds)):
        if sample and number % (3 if comm.size < 8 else 5):  # many ranks take long turns
            continue
        steps = list(builtin()[name].steps(comm.rank, comm.size, topology, count, segment))
        for words, program in programs(name, comm, topology, count, segment):
            if damaged:
                program = exchanges([step._replace(reduce=False) for step in steps], count)
            if synchronous:
                program = posted(program)
            wrong = wrong_elements(program, steps, count, op, dtype, comm)
            yield f"{name}, {words}, {op}, {count} {dtype}, nodes {topology.describe()}", wrong
    for count, (op, dtype) in zip((5, 2 * comm.size + 7, 3001), kinds * 3):
        steps = by_hand(comm.rank, comm.size, count)
        yield f"by hand, {op}, {count} {dtype}", wrong_elements(exchanges(steps, count), steps, count, op, dtype, comm)
    yield from native_cases(comm, kinds)


def native_cases(comm: MPI.Comm, kinds: list[tuple[str, str]]):
    """The library's own, called from the kernel."""
    for op, dtype in kinds:
        check = Check(comm.size, 100, dtype, op)
        operand, correct = (np.resize(period, 100) for period in exact_inputs(check, comm.rank))
        recvbuf = np.empty_like(operand)
        try:
            call = native(operand, recvbuf, comm, op)
        except Unsupported:
            continue
        wrong = ran_badly(call, 2, comm) + np.count_nonzero(recvbuf != correct)
        yield f"native, {op}, {dtype}", comm.allreduce(int(wrong))


def compiled(
    comm: MPI.Comm,
    sample: bool = False,
    half: bool = False,
    few_types: bool = False,
    damaged: bool = False,
    synchronous: bool = False,
) -> tuple[int, list[str]]:
    """Run all cases; return their number, and what was wrong."""
    teach_numpy("bfloat16")
    types = FEW_TYPES if few_types else sorted(DTYPES)
    kinds = [(op, dtype) for op, dtype in KINDS if dtype in types]
    for dtype in types:
        assert compile_in_turns(comm, Topology.one_node(comm.size), dtype) is None
    with np.errstate(invalid="ignore"):  # sendrecv reduces 16-bit elements with numpy
        return summed_up(all_cases(comm, kinds, synchronous, sample, half, damaged))


if __name__ == "__main__":
    symbols.load_symbols = partial(symbols.load_symbols, MPI_Isend="MPI_Issend")
    given = {option: f"--{option.replace('_', '-')}" in sys.argv for option in ("half", "few_types")}
    world = MPI.COMM_WORLD
    for ranks in map(int, filter(str.isdigit, sys.argv)):
        wait_quietly(world)
        comm = world.Split(world.rank < ranks)
        if world.rank < ranks:
            number, wrong = compiled(comm, sample=True, synchronous=True, **given)
            if world.rank == 0:
                print(f"{ranks} ranks: {number} cases, wrong: {wrong}", flush=True)
    wait_quietly(world)
