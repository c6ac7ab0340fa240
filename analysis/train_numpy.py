"""Data-parallel training of a small network, in numpy: `Allreduce` averages the gradients of the ranks.

    allreduce-bench exec -n 4 -- python analysis/train_numpy.py
    allreduce-bench exec -n 4 -- python analysis/train_numpy.py --slow 2
    allreduce-bench exec -n 4 --restarts 1 --checkpoint ckpt -- python analysis/train_numpy.py --lose 2@30

At the end every rank trains alone on whole batches and compares. With `--slow` a step takes 20 ms longer, as with a
larger network, and 60 ms longer on that rank; the training ends when StepMonitor names it. With `--lose` a rank kills
itself after a step: the others go on from the newest checkpoint, with the same batch divided among them, or with the
same part for each (`--batch scaled`). Exit status 1: the losses are not those of training alone.
"""

import argparse
import os
import signal
import sys
import time
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from allreduce_bench import Allreduce, CheckpointError, Checkpoints, StepMonitor
from allreduce_bench.runs.start import CHECKPOINT_VARIABLE, RESTART_VARIABLE

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


class State(NamedTuple):
    """What a training goes on from."""

    step: int  # steps that are done
    weights: np.ndarray
    shape: np.ndarray  # samples of all ranks together, and ranks

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint holds."""
        return {"weights": self.weights, "shape": self.shape}


def beginning(ranks: int) -> State:
    """The same weights everywhere."""
    weights = np.random.default_rng(1).normal(size=INPUTS * HIDDEN + HIDDEN) / INPUTS**0.5
    return State(0, weights, np.array([BATCH, ranks]))


def restored(checkpoints: Checkpoints, is_scaled: bool) -> State:
    """The newest checkpoint, on as many ranks as there are now; without any, the beginning."""
    ranks = checkpoints.comm.size
    newest = checkpoints.newest(beginning(ranks).arrays)
    if newest is None:
        return beginning(ranks)
    samples, ranks_before = map(int, newest.arrays["shape"])
    samples = samples * ranks // ranks_before if is_scaled else samples
    if checkpoints.comm.rank == 0:
        batch_words = f"a batch of {samples} samples, {'scaled with the ranks' if is_scaled else 'kept'}"
        print(
            f"step {newest.step}: goes on with {ranks} ranks, of {ranks_before} before, and {batch_words}", flush=True
        )
    return State(newest.step, newest.arrays["weights"], np.array([samples, ranks]))


def train(comm: MPI.Comm, begin: State, asked: argparse.Namespace, checkpoints: Checkpoints | None) -> np.ndarray:
    """The loss of each step after `begin`, of all ranks together. All ranks hold the same weights all the time."""
    samples = int(begin.shape[0])
    weights = begin.weights.copy()
    local = np.empty(weights.size + 1)  # this rank's share of the gradient, and behind it of the loss
    total, losses, late = np.empty_like(local), [], []
    with StepMonitor(comm, on_alert=lambda alert: late.append(getattr(alert, "rank", -1))) as step:
        for number in range(begin.step, asked.steps):
            inputs, wanted = (whole[:samples][comm.rank :: comm.size] for whole in batch(number))
            local[-1] = loss_and_gradient(weights, inputs, wanted, local[:-1])
            local *= len(inputs) / samples
            if asked.slow is not None:
                time.sleep(SLOWED_S if comm.rank == asked.slow else WORK_S)
            step.ready()
            Allreduce(local, total, MPI.SUM, comm, executor="sendrecv")  # which needs no compiler
            weights -= RATE * total[:-1]
            losses.append(total[-1])
            step()
            if checkpoints:
                end_step(checkpoints, State(number + 1, weights, begin.shape), asked)
            if asked.slow in late:  # the same step on all ranks
                break
    return np.array(losses)


def end_step(checkpoints: Checkpoints, state: State, asked: argparse.Namespace) -> None:
    """Write a checkpoint where one is due; the rank that is to be lost kills itself."""
    try:
        if state.step % asked.every == 0:
            checkpoints.save(state.step, **state.arrays)
        checkpoints.done(state.step)
    except CheckpointError as error:  # on rank 0, which writes
        print(f"error: {error}", file=sys.stderr, flush=True)
        checkpoints.comm.Abort(1)
    if (checkpoints.comm.rank, state.step) == asked.lose and RESTART_VARIABLE not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)


def rank_at_step(text: str) -> tuple[int, int]:
    """`2@30`: rank 2 after step 30."""
    rank, _, step = text.partition("@")
    if not (rank.isdecimal() and step.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r}: expected RANK@STEP, such as 2@30")
    return int(rank), int(step)


def no_such_loss(lose: tuple[int, int], ranks: int, steps: range) -> str:
    """Why this rank cannot be lost at this step; empty: it can."""
    rank, step = lose
    if rank < ranks and step in steps:
        return ""
    return f"--lose {rank}@{step}: expected a rank below {ranks} and a step from {steps[0]} to {steps[-1]}"


def refusal(asked: argparse.Namespace, ranks: int) -> str:
    """Why this cannot be trained; empty: it can."""
    if ranks > BATCH:
        return f"{ranks} ranks: expected at most one for each of {BATCH} samples"
    if asked.steps < 1 or asked.every < 1:
        return "--steps and --every: expected 1 or more"
    if asked.slow not in (None, *range(ranks)):
        return f"--slow: expected a rank below {ranks}"
    if asked.lose and CHECKPOINT_VARIABLE not in os.environ:
        return "--lose: expected a folder of checkpoints; start with exec --restarts 1 --checkpoint DIR"
    if asked.lose and RESTART_VARIABLE not in os.environ:
        return no_such_loss(asked.lose, ranks, range(1, asked.steps + 1))
    return ""


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slow", type=int, metavar="RANK", help="a rank that takes longer")
    parser.add_argument("--lose", type=rank_at_step, metavar="RANK@STEP", help="a rank that kills itself after a step")
    parser.add_argument("--every", type=int, default=10, metavar="STEPS", help="between two checkpoints")
    parser.add_argument("--batch", choices=("kept", "scaled"), default="kept", help="of all ranks, after a loss")
    asked, comm = parser.parse_args(), MPI.COMM_WORLD
    if why := refusal(asked, comm.size):
        sys.exit(1 if comm.rank else f"error: {why}")
    checkpoints = Checkpoints(comm) if CHECKPOINT_VARIABLE in os.environ else None
    try:
        begin = restored(checkpoints, asked.batch == "scaled") if checkpoints else beginning(comm.size)
    except CheckpointError as error:  # on all ranks
        sys.exit(1 if comm.rank else f"error: {error}")
    losses = train(comm, begin, asked, checkpoints)
    if not losses.size:
        sys.exit(1 if comm.rank else f"error: all {asked.steps} steps were done before; expected more --steps")
    asked.steps = begin.step + len(losses)
    difference = float(np.max(np.abs(losses / train(MPI.COMM_SELF, begin, asked, None) - 1)))
    if comm.rank == 0:
        print(f"ranks: {comm.size}; loss {losses[0]:.4f} in the first step, {losses[-1]:.15g} in the last one")
        print(f"training alone gives these losses to {difference:.1e}", flush=True)
    return int(not difference <= ROUNDING)


if __name__ == "__main__":
    sys.exit(main())
