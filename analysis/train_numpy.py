"""Data-parallel training of a small network, in numpy: `Allreduce` averages the gradients of the ranks.

    allreduce-bench exec -n 4 -- python analysis/train_numpy.py
    allreduce-bench exec -n 4 -- python analysis/train_numpy.py --slow 2
    allreduce-bench exec -n 4 --restarts 2 -- python analysis/train_numpy.py --checkpoints DIR --lose 3@40
    mpirun --with-ft ulfm -n 4 python analysis/train_numpy.py --survive --lose 3@40

At the end every rank trains alone on whole batches and compares. With `--slow` a step takes 20 ms longer, as with a
larger network, and 60 ms longer on that rank; the training ends when StepMonitor names it. With `--lose` a rank kills
itself, and the training goes on with the others: from the newest checkpoint where it is started again, with `--survive`
from the same step. The batch of all ranks together stays the same, and so do the losses. Exit status 1: they are not
those of training alone.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from allreduce_bench import Allreduce, RankLost, StepMonitor, survivors
from allreduce_bench.survive.checkpoint import Checkpoint, CheckpointError, newest, write

BATCH, INPUTS, HIDDEN, RATE = 64, 4, 32, 0.2  # BATCH: samples of all ranks together
ROUNDING = 1e-12  # relative: a mean of 64 terms in another order is up to 64 * 1.1e-16 off, and 100 steps add that up
WORK_S, SLOWED_S = 0.02, 0.06


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples of a step, the same on all ranks: inputs (BATCH, INPUTS) and what is to be learnt (BATCH, 1)."""
    inputs = np.random.default_rng(step).normal(size=(BATCH, INPUTS))
    return inputs, np.sin(inputs.sum(axis=1, keepdims=True))


def views(vector: np.ndarray) -> tuple[np.ndarray, ...]:
    """The two layers in one vector, without a copy: so that one all-reduce takes the gradients of both."""
    first = INPUTS * HIDDEN
    return vector[:first].reshape(INPUTS, HIDDEN), vector[first : first + HIDDEN].reshape(HIDDEN, 1)


def loss_and_gradient(weights: np.ndarray, inputs: np.ndarray, wanted: np.ndarray, gradient: np.ndarray) -> float:
    """The mean squared error; its gradient goes to `gradient`, by the chain rule from the last layer to the first."""
    (first, second), (of_first, of_second) = views(weights), views(gradient)
    hidden = np.tanh(inputs @ first)
    error = hidden @ second - wanted
    of_output = 2 * error / len(error)
    of_second[:] = hidden.T @ of_output
    of_first[:] = inputs.T @ (of_output @ second.T * (1 - hidden**2))
    return float((error**2).mean())


def train(comm: MPI.Comm, steps: int, slow: int | None = None) -> np.ndarray:
    """The loss of each step, of all ranks together. All ranks hold the same weights all the time."""
    weights = np.random.default_rng(1).normal(size=INPUTS * HIDDEN + HIDDEN) / INPUTS**0.5
    local = np.empty(weights.size + 1)  # the gradient of this rank's part, and behind it the loss
    mean, losses, late = np.empty_like(local), [], []
    with StepMonitor(comm, on_alert=lambda alert: late.append(getattr(alert, "rank", -1))) as step:
        for number in range(steps):
            inputs, wanted = (whole[comm.rank :: comm.size] for whole in batch(number))
            local[-1] = loss_and_gradient(weights, inputs, wanted, local[:-1])
            if slow is not None:
                time.sleep(SLOWED_S if comm.rank == slow else WORK_S)
            step.ready()
            Allreduce(local, mean, "avg", comm, executor="sendrecv")  # which needs no compiler
            weights -= RATE * mean[:-1]
            losses.append(mean[-1])
            step()
            if slow in late:  # the same step on all ranks
                break
    return np.array(losses)


def train_on(around: MPI.Comm, asked: argparse.Namespace) -> tuple[int, np.ndarray]:
    """The step of the checkpoint from which the training goes on, and the losses since; ranks may be lost."""
    comm, network = around, {"layers": [INPUTS, HIDDEN, 1], "batch": BATCH}
    weights = np.random.default_rng(1).normal(size=INPUTS * HIDDEN + HIDDEN) / INPUTS**0.5
    found = newest(asked.checkpoints, network) if asked.checkpoints else None
    begin = number = found.step if found else 0
    if found:
        weights[:] = np.frombuffer(found.content)
    local, total, losses = np.empty(weights.size + 1), np.empty(weights.size + 1), []
    while number < asked.steps:
        if asked.lose == [comm.rank, number] and comm.size == around.size and not begin:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs, wanted = (whole[comm.rank :: comm.size] for whole in batch(number))
        local[-1] = loss_and_gradient(weights, inputs, wanted, local[:-1])
        local *= len(inputs) / BATCH  # ranks may have unequal parts
        try:
            Allreduce(local, total, comm=around, executor="sendrecv", on_failure="raise" if asked.survive else None)
        except RankLost as lost:  # on all that are left, which divide the same batch anew
            comm = survivors(around)
            if comm.rank == 0:
                print(f"step {number}: {lost}", file=sys.stderr, flush=True)
            continue
        weights -= RATE * total[:-1]
        losses.append(total[-1])
        number += 1
        if asked.checkpoints and comm.rank == 0 and number % asked.every == 0:
            write(asked.checkpoints, Checkpoint(number, network, weights.tobytes()))
    return begin, np.array(losses)


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slow", type=int, metavar="RANK", help="a rank that takes longer")
    parser.add_argument("--checkpoints", type=Path, metavar="DIR", help="folder of checkpoints, which all ranks see")
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--survive", action="store_true", help="go on without lost ranks, by ULFM")
    parser.add_argument("--lose", type=lambda text: [*map(int, text.split("@"))], metavar="RANK@STEP")
    asked, comm = parser.parse_args(), MPI.COMM_WORLD
    if asked.checkpoints or asked.survive:
        return main_of_losses(asked, comm)
    if BATCH % comm.size:
        sys.exit(1 if comm.rank else f"error: {comm.size} ranks: expected a number that divides the batch of {BATCH}")
    if asked.steps < 1 or asked.slow not in (None, *range(comm.size)):
        what = "--steps: expected 1 or more" if asked.steps < 1 else f"--slow: expected a rank below {comm.size}"
        sys.exit(1 if comm.rank else f"error: {what}")
    losses = train(comm, asked.steps, asked.slow)
    difference = float(np.max(np.abs(losses / train(MPI.COMM_SELF, len(losses)) - 1)))
    if comm.rank == 0:
        print(f"ranks: {comm.size}; loss {losses[0]:.4f} in the first step, {losses[-1]:.15g} in the last one")
        print(f"training alone gives these losses to {difference:.1e}", flush=True)
    return int(not difference <= ROUNDING)


def main_of_losses(asked: argparse.Namespace, comm: MPI.Comm) -> int:
    """Exit status of a training that outlives lost ranks."""
    try:
        begin, losses = train_on(comm, asked)
    except (CheckpointError, OSError, ValueError) as error:
        sys.exit(1 if comm.rank else f"error: {error}")
    difference = float(np.max(np.abs(losses / train(MPI.COMM_SELF, asked.steps)[begin:] - 1), initial=0.0))
    if survivors(comm).rank == 0:
        print(f"steps {begin} to {asked.steps} on {survivors(comm).size} ranks at the end; last loss {losses[-1]:.15g}")
        print(f"training alone gives these losses to {difference:.1e}", flush=True)
    return int(not difference <= ROUNDING)


if __name__ == "__main__":
    sys.exit(main())
