"""`allreduce-bench` that keeps a log of every change it makes to files, its ranks included: for power_cuts.py alone.

ALLREDUCE_BENCH_RECORDED names the folder that is watched and the log, as a JSON list.
"""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

from recorded_operations import log_to, recording

RECORDED_VARIABLE = "ALLREDUCE_BENCH_RECORDED"


def main() -> None:
    """Do as the command does, or a rank of it."""
    root, log = map(Path, json.loads(os.environ[RECORDED_VARIABLE]))
    with recording(root, log_to(log)):
        if sys.argv[1:2] == ["measure"]:
            from allreduce_bench.measuring.command import main as measure

            measure()
        else:
            from allreduce_bench.cli import main as command
            from allreduce_bench.launching import launch

            launch.own_command = lambda: [sys.executable, os.path.abspath(__file__)]
            command()


if __name__ == "__main__":
    main()
