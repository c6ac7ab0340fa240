"""Makes what the commands of `old_against_new.py` read: runs, a sweep, logs, files of other programs, and damaged ones.

A program: its argument is the folder to fill. The old package writes all of it, once, and both packages read copies.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from made_arrivals import arrivals, write_steps
from made_inspector import Job, write_job
from made_results import outcome
from made_runs import build_run, waits
from made_sweeps import build_sweep, record, submit
from made_traces import write_traces
from places import DATA, LOGS, ROOT

SLURM = {  # programs in its place -> what they do
    "sbatch": 'for word; do [ "$word" = --test-only ] && exit 0; done; n=$(cat n 2> /dev/null || echo 100); '
    "echo $((n + 1)) | tee n",
    "sacct": "echo '101|COMPLETED|n1|1|30|0:0|None'; echo '102|TIMEOUT|n1|1|30|0:15|None'",
    **dict.fromkeys(("squeue", "scontrol", "scancel", "srun", "salloc", "sinfo"), ":"),
}
OWN = """from allreduce_bench.algorithms import Cost, algorithm, find
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def {name}(rank, size, topology, count, segment):
    steps = list(find(["ring"])["ring"].generate(rank, size, topology, count, segment))
    {act}
    yield from steps
"""
TEXTS = {
    "texts/empty": "",
    "texts/hello.txt": "hello\nworld\n",
    "texts/half.json": '{"kind": ',
    "texts/list.json": "[]",
    "texts/later.json": '{"kind": "allreduce-bench machine", "schema_version": 99}',
    "texts/no_models.json": '{"kind": "allreduce-bench machine", "schema_version": 1, "models": [7]}',
    "texts/shapes.csv": "name,shape\na,1024x1024\nb,1024\n",
    "texts/bad_shapes.csv": "name,shape\na,1024xyz\n",
    "texts/calls.csv": "size,dtype,gap\n4M,float32,10ms\n8,,5ms\n",
    "texts/arrivals.csv": "step,rank,late_s\n" + "".join(f"{n},{r},{r * 0.01}\n" for n in range(20) for r in range(4)),
    "texts/any.csv": "nodes,ppn,algo,bytes,median_ns\n4,2,ring,64,2000\n4,2,tree,64,1000\n4,2,ring,128,2500\n",
    "texts/mine.py": OWN.format(name="mine", act="pass"),
    "texts/wrong.py": OWN.format(name="wrong", act="steps.pop()"),
    "texts/broken.py": "def mine(:\n",
    "texts/hosts": "n1 slots=2\nn2:2\n",
    "texts/site.cfg": "[sbatch]\npartition = batch\n[site]\nlauncher = srun\nmodules = openmpi\n[variables]\nA_B = 1\n",
    "texts/bad.cfg": "[sbatch]\nnonsense\n",
}


def make_runs(folder: Path) -> None:
    """One of each kind."""
    quick = {"sizes": (8, 1024, 65536), "launches": 4}
    build_run(folder / "plain", floors=True, facts={"command": "allreduce-bench measure"})
    build_run(folder / "plain_again", floors=True, facts={"command": "allreduce-bench measure"}, seed=2)
    build_run(folder / "before", **quick)
    build_run(folder / "after", **quick, seed=2, factor=lambda _, cell: 1.4 if cell.algorithm == "ring" else 1.0)
    build_run(folder / "wide", algorithms=("native", "ring", "recursive_doubling", "two_tree"), ranks=(2, 4, 8, 16))
    build_run(folder / "faulty", outcome=outcome)
    build_run(folder / "waits", factor=waits)
    build_run(folder / "stamps", sizes=(8, 1024), launches=2, stamps=True)
    build_run(folder / "cold", sizes=(8, 65536), launches=2, cache="cold")
    build_run(folder / "groups", sizes=(8, 1024), ranks=(4,), launches=2, choices={"groups": "div:2"})
    build_run(folder / "placed", sizes=(1024, 65536), launches=2, choices={"placement": "numpy"})
    build_run(folder / "killed", sizes=(8, 1024), launches=2, unsealed=True)
    build_run(folder / "int64", sizes=(8, 1024), launches=3, choices={"dtype": "int64"})
    build_run(folder / "unfinished", outcome=lambda launch, cell: {} if launch.number < 3 else None)
    left_out = shutil.ignore_patterns("report*")
    shutil.copytree(ROOT / "docs" / "example", folder / "example", ignore=left_out)


def damage_runs(folder: Path) -> None:
    """Runs of which something is missing or changed."""
    for name in ("cut", "digit", "without_plan", "half_plan", "without_launches", "swapped"):
        shutil.copytree(folder / "stamps", folder / name)
    cells = "launches/2r-1.1.cells.csv"
    text = (folder / "cut" / cells).read_text()
    (folder / "cut" / cells).write_text(text[: len(text) // 2])
    calls = folder / "digit" / "launches" / "2r-1.1.calls.csv"
    lines = calls.read_text().splitlines(keepends=True)
    calls.write_text("".join([*lines[:3], lines[3].translate(str.maketrans("123456789", "234567891")), *lines[4:]]))
    (folder / "without_plan" / "run.json").unlink()
    (folder / "half_plan" / "run.json").write_text((folder / "half_plan" / "run.json").read_text()[:100])
    shutil.rmtree(folder / "without_launches" / "launches")
    shutil.copyfile(
        folder / "swapped" / "launches" / "4r-1.1.calls.csv", folder / "swapped" / "launches" / "2r-1.1.calls.csv"
    )
    (folder / "empty").mkdir()


def make_sweeps(folder: Path) -> None:
    """A sweep that is done, and one of which a job failed."""
    for name, done in (("sweep", {}), ("half_sweep", {"4r-2": 3, "4r-3": 0})):
        sweep = folder / name
        build_sweep(sweep, done, ranks=(2, 4), sizes=(8, 1024))
        submit(sweep, {1: "101", 2: "102"})
        record(sweep, "101", "2r", end="done", ended="2024-05-01T11:30:00+00:00")
        ending = {"end": "failed", "why": "rank 3 ended by signal 9"} if done else {"end": "done"}
        record(sweep, "102", "4r", **ending, ended="2024-05-01T11:45:00+00:00")


def make_files(folder: Path) -> None:
    """Logs and files of other programs, texts, programs in the place of Slurm's."""
    shutil.copytree(LOGS, folder / "logs")
    shutil.copytree(DATA / "logs_two_states", folder / "two_states")
    shutil.copytree(DATA / "pairs_h100", folder / "pairs")
    shutil.copytree(DATA / "former", folder / "former")
    shutil.copytree(DATA / "torch", folder / "torch")
    for name in ("pico_four_series.csv", "pico_lumi_series.txt"):
        shutil.copyfile(DATA / name, folder / "logs" / name)
    write_job(folder / "job", Job(steps=40))
    write_job(folder / "two_jobs", Job(steps=20))
    write_job(folder / "two_jobs" / "other", Job(steps=20, id="0xab"))
    write_traces(folder / "traces")
    write_steps(folder / "late.jsonl", arrivals(by=0.3))
    write_steps(folder / "good.jsonl", arrivals(slow=None))
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (folder / "texts" / "bytes").write_bytes(bytes(range(256)))
    shutil.copyfile(ROOT / "results" / "ratios.csv", folder / "texts" / "ratios.csv")
    (folder / "sealed").mkdir()
    shutil.copyfile(LOGS / "osu_v7.4_2ranks_case1.txt", folder / "sealed" / "log.txt")
    build_run(folder / "sealed" / "run", sizes=(8,), ranks=(2,), launches=1)
    (folder / "bin").mkdir()
    for name, does in SLURM.items():
        path = folder / "bin" / name
        path.write_text(f'#!/bin/bash\ncd "$(dirname "$0")"\n{does}\n')
        path.chmod(0o755)


def make_results(folder: Path) -> None:
    """Two runs of different seconds, so that one of them is the newest."""
    build_run(folder / "monday", sizes=(8, 1024))
    time.sleep(1.1)
    build_run(folder / "tuesday", sizes=(8, 1024), seed=2)


def make_read(folder: Path) -> None:
    """What commands make of it."""
    log = "logs/osu_v7.4_2ranks_case"
    for words in (
        "fit runs/wide -o machine.json",
        f"import {log}1.txt {log}2.txt -n 2 -o runs/imported",
        "import job -o runs/inspected",
    ):
        command = [sys.executable, "-m", "allreduce_bench", *words.split()]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{words}: {done.stderr}")


def main() -> None:
    """Fill the folder."""
    folder = Path(sys.argv[1])
    make_files(folder)
    make_runs(folder / "runs")
    damage_runs(folder / "runs")
    make_sweeps(folder)
    make_results(folder / "results")
    make_read(folder)


if __name__ == "__main__":
    main()
