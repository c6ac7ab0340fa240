"""Does the proof refuse every schedule that is no all-reduce? Thousands of random mutants, up to three mutations deep.

For every algorithm one line: mutants, how many were refused, how many are all-reduces still, and how many the proof and
the second opinion of tests/schedule/test_verify.py see differently. Exit status 1 where there is one of these.
"""

import argparse
import random
import sys

from test_verify import ALGORITHMS, FATAL, MAYBE_HARMLESS, is_all_reduce, schedules_of

from allreduce_bench.schedule.verify import Refusal, verify

RANKS = (2, 3, 4, 5, 6)
DEEPEST = 3


def mutant(draw: random.Random, name: str):
    """Schedules of the algorithm with one to DEEPEST mutations one on top of the other, and their count."""
    schedules, count = schedules_of(name, draw.choice(RANKS), draw.random() < 0.5)
    for mutate in draw.choices([*FATAL, *MAYBE_HARMLESS], k=draw.randint(1, DEEPEST)):
        try:
            mutants = list(mutate(schedules))
        except Refusal:  # what waits for ever has no list of messages
            break
        if mutants:
            schedules = draw.choice(mutants)
    return schedules, count


def is_proved(schedules, count: int) -> bool:
    try:
        verify(schedules, count)
    except Refusal:
        return False
    return True


def main() -> None:
    """Print a line for every algorithm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=2000, help="of each algorithm [2000]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, disagreements = random.Random(options.seed), 0
    for name in ALGORITHMS:
        mutants = [mutant(draw, name) for _ in range(options.mutants)]
        verdicts = [(is_proved(*schedules), is_all_reduce(*schedules)) for schedules in mutants]
        differ = sum(proved != right for proved, right in verdicts)
        right = sum(right for _, right in verdicts)
        refused = sum(not proved for proved, _ in verdicts)
        print(f"{name:20} {len(mutants)} mutants: {refused} refused, {right} still all-reduces, {differ} disagreements")
        disagreements += differ
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
