"""The training of train_numpy.py, which outlives lost ranks within the same start, by ULFM (Open MPI).

    mpirun --with-ft ulfm -n 4 python analysis/train_ulfm.py --lose 2@37

A rank kills itself before a step; the others divide the same batch anew, and do that step together: no step is lost. At
the end each trains alone on whole batches and compares. Exit status 1: the losses are not those of training alone.
"""

import argparse
import os
import signal
import sys

import numpy as np
from mpi4py import MPI
from train_numpy import BATCH, RATE, ROUNDING, batch, beginning, loss_and_gradient, no_such_loss, rank_at_step

from allreduce_bench import Allreduce, RankLost, survivors


def train(around: MPI.Comm, steps: int, lose: tuple[int, int] | None, on_failure: str | None) -> np.ndarray:
    """The loss of each step, of all ranks that are left together."""
    comm, weights = around, beginning(around.size).weights
    local, total, losses = np.empty(weights.size + 1), np.empty(weights.size + 1), []
    while len(losses) < steps:
        if (comm.rank, len(losses)) == lose and comm.size == around.size:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs, wanted = (whole[comm.rank :: comm.size] for whole in batch(len(losses)))
        local[-1] = loss_and_gradient(weights, inputs, wanted, local[:-1])
        local *= len(inputs) / BATCH
        try:
            Allreduce(local, total, MPI.SUM, around, executor="sendrecv", on_failure=on_failure)
        except RankLost as lost:  # on all that are left
            comm = survivors(around)
            if comm.rank == 0:
                print(f"step {len(losses)}: {lost}", file=sys.stderr, flush=True)
            continue
        weights -= RATE * total[:-1]
        losses.append(total[-1])
    return np.array(losses)


def refusal(asked: argparse.Namespace, ranks: int) -> str:
    """Why this cannot be trained; empty: it can."""
    if ranks > BATCH:
        return f"{ranks} ranks: expected at most one for each of {BATCH} samples"
    if asked.steps < 1:
        return "--steps: expected 1 or more"
    return no_such_loss(asked.lose, ranks, range(asked.steps)) if asked.lose else ""


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lose", type=rank_at_step, metavar="RANK@STEP", help="a rank that kills itself")
    asked = parser.parse_args()
    if why := refusal(asked, MPI.COMM_WORLD.size):
        sys.exit(1 if MPI.COMM_WORLD.rank else f"error: {why}")
    try:
        losses = train(MPI.COMM_WORLD, asked.steps, asked.lose, "raise")
    except ValueError as error:  # without ULFM, which says so
        sys.exit(1 if MPI.COMM_WORLD.rank else f"error: {error}")
    difference = float(np.max(np.abs(losses / train(MPI.COMM_SELF, asked.steps, None, None) - 1)))
    if survivors(MPI.COMM_WORLD).rank == 0:
        print(f"{asked.steps} steps, {survivors(MPI.COMM_WORLD).size} ranks at the end; loss {losses[-1]:.15g}")
        print(f"training alone gives these losses to {difference:.1e}", flush=True)
    return int(not difference <= ROUNDING)


if __name__ == "__main__":
    sys.exit(main())
