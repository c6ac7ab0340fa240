"""A program to be struck: steps of all-reduces under StepMonitor, whose choices are saved after every few steps.

python kept_choices.py FOLDER STEPS: lines of JSON go to FOLDER/steps.jsonl, choices to FOLDER/choices.json, from which
it goes on where they are there. Every sum is looked at.
"""

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from allreduce_bench import StepMonitor
from allreduce_bench.programs.prepared import PreparedAllreduces

LENGTHS = (2, 1 << 10, 1 << 14)  # of float32
SAVED_EVERY = 5  # steps
WORK_S = 0.01

folder, steps = Path(sys.argv[1]), int(sys.argv[2])
comm = MPI.COMM_WORLD
choices = folder / "choices.json"
known = comm.bcast(choices if choices.exists() else None)
vectors = [(np.ones(length, np.float32), np.empty(length, np.float32)) for length in LENGTHS]
with (
    PreparedAllreduces(comm, choice=known) as allreduce,
    StepMonitor(comm, every=1, log=folder / "steps.jsonl") as step,
):
    for number in range(steps):
        time.sleep(WORK_S)
        step.ready()
        for sent, received in vectors:
            for _ in range(20):
                allreduce(sent, received)
            assert (received == comm.size).all()
        step()
        if number % SAVED_EVERY == 0:
            allreduce.save(choices)
