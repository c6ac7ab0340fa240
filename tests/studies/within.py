"""Is a limit of time spent on what the question needs, and kept? Ten minutes: `python within.py [INTERPRETER ...]`.

20 runs over limits, rank counts and sizes. Each cell that anyone measured must have native and ring beside it, and no
run may take more than twice its limit, or than the limit and one start of its ranks where that takes longer. A line for
each run; status 1 if one of them breaks either rule.
"""

import io
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

LIMITS_S, RANKS = (10, 20, 60), (2, 4, 8)
FEW, MANY = ["--sizes", "64K"], []  # options that choose the sizes
BESIDE = [(20, 2, FEW), (20, 8, FEW)]  # of few sizes, beside a run of many for each limit and rank count, twice
NEEDED = {"native", "ring"}


def main(interpreters: list[str]) -> int:
    """Run all on the interpreters in turn; return the status."""
    settings = [(*pair, MANY) for pair in itertools.product(LIMITS_S, RANKS)] * 2 + BESIDE
    print(f"{'limit':>6} {'ranks':>5} {'sizes':>6} {'took':>7}  cells without native or ring")
    broken = 0
    for (limit_s, ranks, sizes), interpreter in zip(settings, itertools.cycle(interpreters)):
        program = [interpreter, "-m", "allreduce_bench"]
        with tempfile.TemporaryDirectory() as folder:
            run = str(Path(folder, "run"))
            took_s = taken_s([*program, "run", "-n", str(ranks), *sizes, "--within", f"{limit_s}s", "-o", run])
            lacking = cells_without_needed(program, run)
            late = took_s > 2 * limit_s
            if late:
                shortest = ["--sizes", "8", "-a", "native", "--launches", "1", "--iters", "1", "-o", f"{run}-start"]
                late = took_s > limit_s + taken_s([*program, "run", "-n", str(ranks), *shortest])
        broken += bool(late or lacking)
        told = (", ".join(lacking) or "none") + ("  TOO LATE" if late else "")
        print(f"{limit_s:4d} s {ranks:5d} {'64 KiB' if sizes else 'all':>6} {took_s:5.1f} s  {told}", flush=True)
    print(f"{broken} of {len(settings)} broke a rule")
    return bool(broken)


def taken_s(command: list[str]) -> float:
    """Return the seconds that a command takes; what it says is not shown."""
    begun = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.monotonic() - begun


def cells_without_needed(program: list[str], run: str) -> list[str]:
    """Return the cells with a time where native or ring have none, or that nothing was measured."""
    shown = subprocess.run([*program, "show", run, "--format", "csv"], capture_output=True, text=True, check=False)
    if shown.returncode:
        return [shown.stderr.strip()]
    rows = pd.read_csv(io.StringIO(shown.stdout))
    timed = rows[rows["time_s"].notna() & ~rows["competitor"].str.startswith("floor:")]
    if timed.empty:
        return ["nothing measured"]
    lacking = []
    for (ranks, size_bytes), group in timed.groupby(["ranks", "size_bytes"]):
        if missing := NEEDED - set(group["competitor"]):
            lacking.append(f"{ranks} ranks {size_bytes} B: {' '.join(sorted(missing))}")
    return lacking


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [sys.executable]))
