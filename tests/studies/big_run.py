"""A run of a million rows, and what it costs to read it: `make big`.

Makes the run in RUN (left there) or in a temporary folder, then does each part in a process of its own and prints its
seconds, its processor time and its peak of memory. Nothing is asserted: machines differ.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import ceil, log2
from pathlib import Path

import numpy as np
from made_runs import ALPHA_S, BETA_S_PER_BYTE, launch_facts

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.runs.recorder import Recorder, create_run
from allreduce_bench.runs.schema import CALLS, MAX_LOCAL, ROUND_TIME, names

RANKS = (2, 4, 8, 16, 32, 64, 128, 256)
SIZES = tuple(8 * 8**power for power in range(8)) + (1 << 10, 1 << 16, 1 << 20, 1 << 22)
PATHS: dict[str, Callable[[int, int], tuple[int, float]]] = {  # messages and bytes on the critical path
    "native": lambda p, n: (ceil(log2(p)), 2 * (p - 1) / p * n),
    "naive": lambda p, n: (p - 1, (p - 1) * n),
    "parameter_server": lambda p, n: (2 * (p - 1), 2 * (p - 1) * n),
    "ring": lambda p, n: (2 * (p - 1), 2 * (p - 1) / p * n),
    "hierarchical_ring": lambda p, n: (p, 2.5 * (p - 1) / p * n),
    "tree": lambda p, n: (2 * ceil(log2(p)), 2 * ceil(log2(p)) * n),
    "two_tree": lambda p, n: (2 * ceil(log2(p)) + 2, 3 * n),
    "recursive_doubling": lambda p, n: (ceil(log2(p)), ceil(log2(p)) * n),
}
WARMUPS, TIMED, LAUNCHES = 3, 258, 5  # 8 rank counts x 5 launches x 8 algorithms x 12 sizes x 261 calls: 1,002,240 rows
SHARES = {"osu_avg_s": 0.9, "global_s": 1.05, "arrival_skew_s": 0.1}  # of time_s


def make(
    path: Path,
    *,
    ranks: Sequence[int] = RANKS,
    sizes: Sequence[int] = SIZES,
    launches: int = LAUNCHES,
    timed: int = TIMED,
    seed: int = 1,
) -> int:
    """Write a run of all algorithms of PATHS to `path`; return its rows of raw times. The same `seed`, the same run."""
    sizes = tuple(sorted(sizes))
    plan = Plan(
        tuple(PATHS), sizes, tuple(ranks), launches, seed=seed, segmented=("two_tree",), warmups=WARMUPS, floors=False
    )
    folder, noise, rows = RunFolder(path), np.random.default_rng(seed), 0
    create_run(folder, plan, ("allreduce-bench", "run"))
    for launch in plan.planned_launches():
        recorder = Recorder(folder, launch.name, launch_facts(launch.ranks), sync=False)
        level = noise.normal(1, 0.01)
        for cell in plan.cells(launch):
            messages, size_bytes = PATHS[cell.algorithm](launch.ranks, cell.size_bytes)
            model_s = level * (ALPHA_S * messages + BETA_S_PER_BYTE * size_bytes)
            time_s = model_s * noise.normal(1, 0.02, WARMUPS + timed) * (1 + noise.exponential(0.02))
            facts = _facts(plan, launch, cell) | {"path_messages": messages, "path_nbytes": int(size_bytes)}
            lines = _lines(facts, time_s)
            facts |= {"imb_t_max_s": float(time_s.mean())}
            recorder.cell_of_lines(facts, "".join(lines).encode(), len(lines))
            rows += len(time_s)
        recorder.seal()
    return rows


def _facts(plan: Plan, launch: Launch, cell: Cell) -> dict:
    return {
        **asdict(cell),
        "ranks": launch.ranks,
        "nodes": 1,
        "time_definition": MAX_LOCAL,
        "start": ROUND_TIME,
        "iterations": 1,
        "valid": 1,
        "schedule_digest": "" if cell.algorithm == "native" else "0123456789abcdef",
        "state": "done",
        "stopped": "precision",
        "wrong": 0,
        "same_bits": 1,
        "clock_error_s": 1e-7,
    }


def _lines(facts: dict, time_s: np.ndarray) -> list[str]:
    """The calls of a cell as CALLS has them, by a template: a million dictionaries take their time."""
    varying = ("call", "warmup", "time_s", "slowest_rank", *SHARES, "last_rank")
    constant = {name: str(value) for name, value in facts.items() if value is not None}
    line = ",".join("{" + name + "}" if name in varying else constant.get(name, "") for name in names(CALLS))
    p, lines = facts["ranks"], []
    for number, call_s in enumerate(time_s.tolist()):
        shares = {name: share * call_s for name, share in SHARES.items()}
        who = {"slowest_rank": number % p, "last_rank": (number + 1) % p}
        lines.append(line.format(call=number, warmup=int(number < WARMUPS), time_s=call_s, **who, **shares) + "\n")
    return lines


def load(folder: RunFolder) -> str:
    """Every point of the run, which is what fits read."""
    from allreduce_bench.models.points import points

    return f"{len(points([folder]))} points"


def fit(folder: RunFolder) -> str:
    """A model of every series, with its intervals and its errors out of sample; loading included."""
    from allreduce_bench.models.fitting import fit_all
    from allreduce_bench.models.points import points

    return f"{len(fit_all(points([folder])))} models"


def frame(folder: RunFolder) -> str:
    """Every timed call as a pandas frame."""
    from allreduce_bench.evaluation.frames import read_calls

    return f"{len(read_calls(folder))} rows"


def summary(folder: RunFolder) -> str:
    """One row a cell."""
    from allreduce_bench.evaluation.summary import summarise

    return f"{len(summarise(folder))} cells"


def report(folder: RunFolder) -> str:
    """The page with its figures."""
    from allreduce_bench.report.page import write_report

    return write_report([folder], folder.path / "report.html").name


PARTS = {"load points": load, "load and fit": fit, "read calls": frame, "summarise": summary, "report": report}


def part(name: str, path: Path) -> None:
    """Do one part in this process, and print what it took."""
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    outcome = PARTS[name](RunFolder(path))
    wall_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # Linux counts in KiB
    print(f"{name:12} {wall_s:6.1f} s {cpu_s:6.1f} s of processor {peak_gib:6.2f} GiB   {outcome}", flush=True)


def everything(path: Path) -> None:
    """Make the run, then do each part in a fresh process."""
    start_s = time.perf_counter()
    rows = make(path)
    print(f"{rows:,} rows written in {time.perf_counter() - start_s:.1f} s to {path}", flush=True)
    for name in PARTS:
        subprocess.run([sys.executable, __file__, "--part", name, "-o", path], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the run; made anew, unless --part reads it")
    parser.add_argument("--part", choices=PARTS, help="only this, of a run that is there")
    options = parser.parse_args()
    if options.part and not options.output:
        parser.error("--part reads a run: name it with -o")
    if options.part:
        part(options.part, options.output)
    elif options.output:
        everything(options.output)
    else:
        with tempfile.TemporaryDirectory() as folder:
            everything(Path(folder) / "big")


if __name__ == "__main__":
    main()
