"""Measures several steps of a training one after the other. Run it with

    mpirun -n 2 python several_steps.py REQUEST.json...

Each is measured as by `training_step` alone, and prints its line.
"""

import sys

from allreduce_bench.training.measuring.training_step import main

if __name__ == "__main__":
    program, *files = sys.argv
    for file in files:
        sys.argv = [program, file]
        main()
