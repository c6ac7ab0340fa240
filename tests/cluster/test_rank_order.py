"""The order that `order --format srun` writes is the one in which srun starts the ranks."""

import subprocess
import sys
from itertools import permutations

SWITCHES = {"n1": "s1", "n2": "s2", "n3": "s1", "n4": "s2"}  # neighbours in the order of the names are far apart
SAY_PLACE = """sh -c 'echo "$SLURM_PROCID $SLURMD_NODENAME"'"""


def test_srun_starts_the_ranks_in_the_fitted_order(tmp_path):
    pairs, hosts = tmp_path / "pairs.csv", tmp_path / "hosts.txt"
    times = [f"{a},{b},{10 if SWITCHES[a] == SWITCHES[b] else 50}" for a, b in permutations(SWITCHES, 2)]
    pairs.write_text("\n".join(["source,dest,latency_us", *times, ""]))
    words = ["order", pairs, "--ranks-per-node", "2", "--format", "srun", "-o", hosts]
    ordered = subprocess.run([sys.executable, "-m", "allreduce_bench", *words], capture_output=True, text=True)
    assert ordered.returncode == 0, ordered.stderr
    command = ordered.stdout.splitlines()[-1]
    assert command == f"SLURM_HOSTFILE={hosts} srun -n 8 --distribution=arbitrary PROGRAM"
    started = subprocess.run(
        ["sh", "-c", command.replace("PROGRAM", SAY_PLACE)], capture_output=True, text=True, timeout=120
    )
    places = dict(line.split() for line in started.stdout.splitlines())
    expected = [line for line in hosts.read_text().splitlines() if not line.startswith("#")]
    assert [places.get(str(rank)) for rank in range(8)] == expected, started.stderr
    ring = zip(expected, expected[1:] + expected[:1])
    assert sum(SWITCHES[one] != SWITCHES[other] for one, other in ring) == 2
