"""Where things stand in this repository."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "allreduce_bench"
ANALYSIS = ROOT / "analysis"
JOBS = ROOT / "jobs"
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
DATA = TESTS / "data"
LOGS = DATA / "logs"
RANK_PROGRAMS = TESTS / "ranks"  # run by ranks under mpirun
STUDIES = TESTS / "studies"
