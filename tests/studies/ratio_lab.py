"""The rows of `make ratios` on virtual hosts: one run of `run --virtual-hosts`, read from its own tables."""

import csv
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from ratio_rows import LabRow

from allreduce_bench.runs.competitor import Competitor

LAUNCHED_ON = "as run chooses"  # the thread level
HOSTS, RATE = "4", "100mbit"
EXECUTORS = ("pipelined", "compiled-pipelined", "sendrecv")  # the first that there is
UNKNOWN = "no such option"
Values = dict[str, list[float]]  # row -> a value of each launch


def measure_lab(python: str, rows: Sequence[LabRow], launches: int) -> tuple[Values, str]:
    """The values of the rows in each launch, and the executor that was measured, or why there are no values."""
    why = "skipped: this version has no virtual hosts"
    with tempfile.TemporaryDirectory() as folder:
        for executor in EXECUTORS:
            run = Path(folder) / executor
            words = (
                f"-a native,ring,two_tree,gloo --sizes 8M -n {HOSTS} --virtual-hosts {HOSTS} --link-rate {RATE}".split()
            )
            words += [] if executor == "sendrecv" else ["--executor", executor]
            words += ["--launches", str(launches), "--iters", "5", "--warmups", "1", "-o", str(run)]
            command = [python, "-m", "allreduce_bench", "run", *words]
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
            if result.returncode == 0:
                return {row.what: values_of(row, run) for row in rows}, executor
            lines = result.stderr.strip().splitlines() or ["no output"]
            if UNKNOWN not in result.stderr.lower():
                why = f"skipped: {lines[-1]}"
    return {}, why


def values_of(row: LabRow, run: Path) -> list[float]:
    """The value of one row in each launch of a run."""
    medians = medians_of(run)
    if row.rival:
        ratios = [times[row.rival] / times[row.algorithm] for times in medians if row.rival in times]
        return [1 / ratio for ratio in ratios] if row.inverse else ratios
    with open(run / "summary.csv", newline="") as file:
        line = next(line for line in csv.DictReader(file) if _name(line["competitor"]) == row.algorithm)
    limit_s = float(line["own_limit_s" if row.share == "of_own_limit" else "limit_s"])
    return [limit_s / times[row.algorithm] for times in medians]


def medians_of(run: Path) -> list[dict[str, float]]:
    """Of each launch: name -> the median of its valid calls, seconds; of ours, run one way, that of the algorithm."""
    medians = []
    for path in sorted((run / "launches").glob("*.csv")):
        if path.name.endswith(".cells.csv"):
            continue
        calls: dict[str, list[float]] = {}
        with open(path, newline="") as file:
            for line in csv.DictReader(file):
                if line["warmup"] == "0" and line["valid"] == "1":
                    calls.setdefault(_name(line["competitor"]), []).append(float(line["time_s"]))
        medians.append({name: median(times) for name, times in calls.items()})
    return medians


def _name(competitor: str) -> str:
    return Competitor(competitor).algorithm if Competitor(competitor).is_ours else competitor
