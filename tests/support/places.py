"""Where things stand in this repository."""

from configparser import ConfigParser
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


def wings() -> list[str]:
    """The names of the wings' folders: the highest layer of the contract of imports."""
    config = ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config["importlinter:contract:layers"]["layers"].split("\n")[1].split(" | ")
