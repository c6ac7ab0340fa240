"""Is `Allreduce` with algorithm="auto" as fast as the best fixed algorithm, and after how many calls? Ten minutes.

In shared memory and on virtual hosts; for each size the median over runs of its time over that of the fastest of its
candidates, called the same way in the same rounds.
"""

import argparse
import json
import os
import subprocess
import sys
from statistics import median

from places import RANK_PROGRAMS

from allreduce_bench.lab.lab import AGENT, INTERFACE, LabError, Room, lab_around, room, variables_in
from allreduce_bench.launching.find import find_launcher, mpirun_command
from allreduce_bench.runs.start import Start
from allreduce_bench.units import format_size, parse_rate

SLOWER = 1.05  # times the best fixed one: what is promised of the median over runs
SHARED_SIZES, HOST_SIZES = "8,4096,65536,1048576,16777216", "8,4096,32768,262144"
INSIDE = "AUTO_CHOICE_INSIDE"  # a variable: this process is to become the mpirun
ROUNDS, CALLS, CALLS_ON_HOSTS = "15", "15", "5"


def rows_of(command: list[str], around: Room | None = None) -> list[dict]:
    """What the ranks print."""
    words, environ = (around.command(0, command), variables_in(around, os.environ)) if around else (command, os.environ)
    process = subprocess.run(words, env={**environ, INSIDE: "yes"}, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"the ranks ended with status {process.returncode}")
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


def start_here(program: str, ranks: int, options: list[str]) -> None:
    """Become the mpirun of a program for ranks: on this node, or with one rank on each host of the lab around it."""
    lab = lab_around(os.environ)
    on_hosts = {} if lab is None else {"hosts": lab.names, "remote_shell": AGENT, "interface": INTERFACE}
    start = Start(**on_hosts, virtual_rates_bytes_per_s=() if lab is None else lab.rates_bytes_per_s)
    words = [sys.executable, str(RANK_PROGRAMS / program), *options]
    command = mpirun_command(find_launcher(start), ranks, start, words)
    os.execv(command[0], command)


def table(where: str, runs: list[list[dict]]) -> bool:
    """Print a row for each size; whether all are as promised. `over its own`: the chosen one, called as a fixed one."""
    good = True
    heads = f"{'size':>10} {'calls':>6} {'auto over best':>15} {'over its own':>13}"
    print(f"\n{where}\n{heads}  chosen in each run (best fixed)")
    for rows in zip(*runs):
        ratios, own, words = [], [], []
        for row in rows:
            fixed = {name: time_s for name, time_s in row["times_s"].items() if name != "auto"}
            best = min(fixed, key=lambda name: fixed[name])
            ratios.append(row["times_s"]["auto"] / fixed[best])
            own.append(row["times_s"]["auto"] / fixed.get(row["chosen"], float("nan")))
            words.append(row["chosen"] if best == row["chosen"] else f"{row['chosen']} ({best})")
        calls = "/".join(str(row["settled_after"]) for row in rows)
        figures = f"{calls:>6} {median(ratios):15.3f} {median(own):13.3f}"
        print(f"{format_size(rows[0]['size_bytes']):>10} {figures}  {'; '.join(words)}")
        good &= median(ratios) <= SLOWER
    return good


def main() -> None:
    """Print the tables."""
    if os.environ.pop(INSIDE, ""):
        start_here("auto_rivals.py", int(sys.argv[1]), sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", action="store_true", help="only in shared memory")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2, help="in shared memory")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--rounds", default=ROUNDS)
    parser.add_argument("--sizes", help="in bytes, such as 8,4096")
    options = parser.parse_args()
    shared = [sys.executable, __file__, str(options.ranks), options.sizes or SHARED_SIZES, options.rounds, CALLS]
    good = table(f"shared memory, {options.ranks} ranks", [rows_of(shared) for _ in range(options.runs)])
    rate = parse_rate(options.rate)
    over = [sys.executable, __file__, str(options.hosts), options.sizes or HOST_SIZES, options.rounds, CALLS_ON_HOSTS]
    runs = []
    try:
        for _ in range(0 if options.shared else options.runs):
            with room([rate] * options.hosts) as made:
                runs.append(rows_of(over, made))
    except LabError as error:
        print(f"no virtual hosts: {error}")
    if runs:
        good &= table(f"{options.hosts} virtual hosts, {options.rate}", runs)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
