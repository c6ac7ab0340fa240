"""What do damaged files that users name do to the commands that read them? Twenty-six thousand random damages.

Each is read, or refused in one line: never a traceback, never a wait without an end. One line for every kind of file:
damages, read, refused, faults. Exit status 1 where there is a fault.
"""

import argparse
import gzip
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner
from damaged_runs import OF_A_FILE
from made_logs import nccl_json, result
from made_traces import RANKS, TORCH
from places import DATA, JOBS, LOGS

from allreduce_bench.cli import main as command

LONGEST_S = 60  # for what takes milliseconds
NCCL = nccl_json(*(result(8 << power, {"time": 10.0 + power, "alg_bw": 1.0, "bus_bw": 1.5}) for power in range(4)))
OWN = "algorithm,system,ranks,nodes,size_bytes,count,dtype,op,time_us,launch\n" + "".join(
    f"ring,lumi,{ranks},1,{size_bytes},{size_bytes // 4},float32,sum,{ranks + size_bytes / 100},{launch}\n"
    for ranks in (2, 4)
    for size_bytes in (8, 1024)
    for launch in (1, 2)
)
ARCHIVE = next((DATA / "pico" / "fugaku").glob("*.tar.gz")).read_bytes()  # with a summary: it needs no metadata
CHOICES: dict[str, tuple[list[str], ...]] = {  # command -> options of which each time some are given
    "import": (["--where", "system=*"], ["-n", "4"], ["--algorithm", "native:x"], ["-d", "float32"], []),
    "compare": (["-n", "4"], ["--in-place"], ["-n", "2,4"], []),
}


class Endless(Exception):
    """It took longer than LONGEST_S."""


def logs() -> dict[str, bytes]:
    """Name -> content of logs of every tool."""
    found = sorted(path for path in LOGS.iterdir() if path.suffix != ".md")
    content = {path.name: path.read_bytes() for path in found}
    return content | {"nccl.json": NCCL.encode(), "own.csv": OWN.encode()}


def other_files(place: Path) -> dict[str, tuple[bytes, list[str]]]:
    """Kind -> what a whole file of it holds, and the command that reads FILE."""
    machine = place / "machine.json"
    series = [str(DATA / "pico_four_series.csv"), "-a", "ring_over", "--as", "ring_over=ring"]
    CliRunner().invoke(command, ["fit", *series, "-o", str(machine)])
    submit = ["submit", "--nodes", "2", "--ranks-per-node", "2", "-o", str(place / "out"), "--dry-run", "--sizes", "8"]
    run = ["run", "-n", "2", "-a", "ring", "-o", str(place / "out"), "--launcher", "nowhere"]  # the file is read first
    return {
        "machine file": (machine.read_bytes(), ["predict", "FILE", "-n", "2,64", "--sizes", "8,1M"]),
        "system": ((JOBS / "systems" / "workstation.cfg").read_bytes(), [*submit, "--system", "FILE"]),
        "host file": (b"n1\nn2:8\nn3 slots=4 # fast\n", [*run, "--hosts", "FILE"]),
        "archive": (ARCHIVE, ["import", "FILE", "-o", str(place / "out")]),
        "unpacked archive": (gzip.decompress(ARCHIVE), ["import", "FILE", "-o", str(place / "out")]),
        **files_of_jobs(place),
    }


def files_of_jobs(place: Path) -> dict[str, tuple[bytes, list[str]]]:
    """The same of what PyTorch writes of a job, beside the files of other ranks."""
    packed = [TORCH / "clean" / f"trace_{rank}.json.gz" for rank in range(RANKS)]
    return {
        "trace": (gzip.decompress(packed[0].read_bytes()), ["stragglers", "FILE", *map(str, packed[1:])]),
        "packed trace": (packed[0].read_bytes(), ["stragglers", "FILE", *map(str, packed[1:])]),
    }


@contextmanager
def limited_time() -> Iterator[None]:
    """Raises Endless in it after LONGEST_S."""

    def end(number: int, frame: object) -> None:
        raise Endless

    signal.signal(signal.SIGALRM, end)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)


def outcome(words: Sequence[str]) -> str:
    """read, refused, or the name of the fault."""
    with limited_time():
        done = CliRunner().invoke(command, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{type(done.exception).__name__}: {done.exception}"
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    if done.exit_code == 0:
        return "read"
    return "refused" if len(lines) == 1 and lines[0].startswith("error: ") else f"{len(lines)} lines: {lines[:1]}"


def outcomes(draw: random.Random, path: Path, whole: bytes, words: Sequence[str], damages: int) -> Counter:
    """How often which outcome; what a fault was made of stays beside `path`."""
    counted: Counter = Counter()
    for _ in range(damages):
        content = whole
        for damage in draw.choices(OF_A_FILE, k=draw.randint(1, 3)):
            content = damage(draw, content) if content else content
        path.write_bytes(content)
        chosen = [*words, *draw.choice(CHOICES.get(words[0], ([],)))]
        counted[outcome([word.replace("FILE", str(path)) for word in chosen])] += 1
        shutil.rmtree(path.parent / "out", ignore_errors=True)
    return counted


def study(draw: random.Random, damages: int, place: Path) -> int:
    """Damage each kind of file, print a line each; the number of faults."""
    kinds = {kind: [(kind, content, words)] for kind, (content, words) in other_files(place).items()}
    read_logs = ["import", "FILE", "-o", str(place / "out")]
    kinds["log"] = [(name, content, read_logs) for name, content in logs().items()]
    kinds |= {"compared log": [], "log in a folder": []}
    for name, content in logs().items():
        beside = place / f"beside_{name}"
        beside.mkdir()
        for number in (1, 2):  # one launch would be the same times as those of a damage that changes none
            (beside / f"whole{number}{Path(name).suffix}").write_bytes(content)
        compared = ["compare", str(beside), "FILE", "--despite", "all", "--undecided", "pass"]
        kinds["compared log"].append((name, content, compared))
        in_folder = ["import", str(beside), "-o", str(beside / "out")]
        kinds["log in a folder"].append((str(beside / name), content, in_folder))
    fault_count = 0
    for kind, files in kinds.items():
        counted: Counter = Counter()
        for name, content, words in files:
            path = (place / name).with_name(f"damaged{Path(name).suffix}")
            counted += outcomes(draw, path, content, words, -(-damages // len(files)))
        total = counted.total()
        read, refused = counted.pop("read", 0), counted.pop("refused", 0)
        faults = counted.total()
        print(f"{kind:14} {total} damages: {read} read, {refused} refused, {faults} faults", flush=True)
        for fault, number in counted.most_common(5):
            print(f"    {number} x {fault[:200]}")
        fault_count += faults
    return fault_count


def main() -> None:
    """Damage so many files of each kind, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damages", type=int, default=2000, help="of each of the thirteen kinds of file [2000]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sys.exit(1 if study(random.Random(options.seed), options.damages, Path(place)) else 0)


if __name__ == "__main__":
    main()
