"""What does a damaged run do to who reads it? Thousands of random damages to the files of a run.

Single bits, single digits and whole lines, anywhere in a run, then anything at all to one file of each kind: whoever
reads it must be told, unless the results are the same. Silent changes and faults are printed; exit status 1 where there
is one.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.typed_json import checked_json, read_json

FILES = {
    "run.json": "run.json",
    "facts of a launch": "2r-1.1.json",
    "cells": "2r-1.1.cells.csv",
    "calls": "2r-1.1.calls.csv",
}
REFUSALS = (ValueError, OSError, RuntimeError)  # what the command line says in one line
Results = tuple[list, list]  # rows of the summary, facts of attempts
Damage = Callable[[random.Random, bytes], bytes]


def other_bit(draw: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def other_digit(draw: random.Random, content: bytes) -> bytes:
    place = draw.choice([i for i, byte in enumerate(content) if byte in b"0123456789"])
    digits = [digit for digit in b"0123456789" if digit != content[place]]
    return content[:place] + bytes([draw.choice(digits)]) + content[place + 1 :]


def lost_line(draw: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = draw.randrange(len(lines))
    return b"".join(lines[:place] + lines[place + 1 :])


def doubled_line(draw: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = draw.randrange(len(lines))
    return b"".join(lines[: place + 1] + lines[place:])


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


ANYWHERE: dict[str, tuple[Damage, ...]] = {
    "single bits": (other_bit,),
    "digits": (other_digit,),
    "lines": (lost_line, doubled_line),
}
OF_A_FILE = (cut, without_a_piece, twice_a_piece, other_bytes)


def build_whole(path: Path) -> RunFolder:
    """A run with stamps, of which the second launch was killed before its end."""
    run = build_run(path, sizes=(8, 1024), ranks=(2,), launches=2, stamps=True)
    killed = run.launches / "2r-2.1.json"
    facts = {name: fact for name, fact in read_json(killed).items() if name != "cells"}
    killed.write_bytes(checked_json(facts))
    return run


def results(folder: RunFolder) -> Results:
    """What a reader sees of the run."""
    return summarise(folder), folder.attempts()


def outcome(folder: Path, whole: Results) -> str:
    """refused; said; same, as the `whole` run; SILENT; or the name of the fault."""
    run = RunFolder(folder)
    try:
        is_said = bool(run.damages() or run.pending(run.plan()))
        found = results(run)
    except REFUSALS as error:
        return "refused" if error.args or isinstance(error, OSError) else f"{type(error).__name__} without a word"
    except Exception as error:  # noqa: BLE001  # what it is, is the finding
        return f"{type(error).__name__}: {error}"
    if is_said:
        return "said"
    return "same" if found == whole else "SILENT"


def damage_anywhere(run: RunFolder, damages: Sequence[Damage], number: int, draw: random.Random) -> Counter[str]:
    """What came of so many damages, each alone, in files drawn by their size; lines only in tables."""
    whole = results(run)
    paths = [run.run_json, *sorted(path for path in run.launches.rglob("*") if path.is_file())]
    if other_digit in damages:
        paths = [path for path in paths if path.suffix != ".npy"]
    if lost_line in damages:
        paths = [path for path in paths if path.suffix == ".csv"]
    outcomes: Counter[str] = Counter()
    sizes = [path.stat().st_size for path in paths]
    for path in draw.choices(paths, sizes, k=number):
        content = path.read_bytes()
        damage = draw.choice(damages)
        damaged = damage(draw, content)
        path.write_bytes(damaged)
        of_it = outcome(run.path, whole)
        if of_it not in ("refused", "said", "same"):
            of_it += f" ({damage.__name__} in {path.name})"
        outcomes[of_it] += 1
        path.write_bytes(content)
    return outcomes


def damage_file(run: RunFolder, name: str, number: int, draw: random.Random) -> Counter[str]:
    """What came of so many damages of any kind to one file."""
    whole = results(run)
    (path,) = run.path.rglob(name)
    content = path.read_bytes()
    outcomes: Counter[str] = Counter()
    for _ in range(number):
        path.write_bytes(draw.choice(OF_A_FILE)(draw, content))
        outcomes[outcome(run.path, whole)] += 1
    path.write_bytes(content)
    return outcomes


def tell(kind: str, outcomes: Counter[str]) -> int:
    """Print a line about the damages; the number of those that must not be."""
    expected = {name: outcomes.pop(name, 0) for name in ("said", "refused", "same")}
    words = ", ".join(f"{number} {name}" for name, number in expected.items() if number)
    number = sum(expected.values()) + outcomes.total()
    print(f"{kind:32} {number} damages: {words}, {outcomes.total()} faults", flush=True)
    for fault, number in outcomes.most_common(5):
        print(f"    {number} x {fault[:160]}")
    return outcomes.total()


def main() -> None:
    """Damage runs so often, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damages", type=int, default=1000, help="of each kind; a fifth of them of lines [1000]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, fault_count = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as place:
        run = build_whole(Path(place) / "whole")
        for kind, damages in ANYWHERE.items():
            number = options.damages // (5 if kind == "lines" else 1)
            fault_count += tell(f"{kind} anywhere", damage_anywhere(run, damages, number, draw))
        for kind, name in FILES.items():
            fault_count += tell(kind, damage_file(run, name, options.damages, draw))
    sys.exit(1 if fault_count else 0)


if __name__ == "__main__":
    main()
