"""What does a damaged run do to who reads it? Thousands of random damages to one file of a run each.

A damaged run is read as far as it is whole, or refused in one line; anything else is a fault, and printed. One line for
every kind of file: damages, read, refused, faults. Exit status 1 where there is a fault.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder

FILES = {"run.json": "run.json", "facts of a launch": "2r-1.1.json", "cells": "2r-1.1.cells.csv", "calls": "2r-1.1.csv"}
REFUSALS = (ValueError, OSError, RuntimeError)  # what the command line says in one line


def cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def without_a_piece(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content))
    return content[:start] + content[start + draw.randint(1, 200) :]


def twice_a_piece(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content))
    end = start + draw.randint(1, 200)
    return content[:end] + content[start:]


def other_bytes(draw: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        damaged[draw.randrange(len(damaged))] = draw.choice(b'\0\n,"{}[]-.0123456789eNn\xff')
    return bytes(damaged)


DAMAGES = (cut, without_a_piece, twice_a_piece, other_bytes)


def outcome(folder: Path) -> str:
    """read, refused, or the name of the fault."""
    try:
        summarise(RunFolder(folder))
    except REFUSALS as error:
        return "refused" if error.args or isinstance(error, OSError) else f"{type(error).__name__} without a word"
    except Exception as error:  # noqa: BLE001  # what it is, is the finding
        return f"{type(error).__name__}: {error}"
    return "read"


def main() -> None:
    """Damage each kind of file so often, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damages", type=int, default=1000, help="of each kind of file [1000]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, fault_count = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as place:
        whole = build_run(Path(place) / "whole", sizes=(8, 1024), ranks=(2,), launches=2)
        damaged = Path(shutil.copytree(whole.path, Path(place) / "damaged"))
        for kind, name in FILES.items():
            (path,) = damaged.rglob(name)
            content, outcomes = path.read_bytes(), Counter()
            for _ in range(options.damages):
                path.write_bytes(draw.choice(DAMAGES)(draw, content))
                outcomes[outcome(damaged)] += 1
            path.write_bytes(content)
            read, refused = outcomes.pop("read", 0), outcomes.pop("refused", 0)
            faults = outcomes.total()
            print(f"{kind:18} {options.damages} damages: {read} read, {refused} refused, {faults} faults", flush=True)
            for fault, number in outcomes.most_common(5):
                print(f"    {number} x {fault[:160]}")
            fault_count += faults
    sys.exit(1 if fault_count else 0)


if __name__ == "__main__":
    main()
