"""The part of the demo on virtual hosts: links of a known rate, and models that find it."""

import subprocess
import sys
from pathlib import Path

from ..cli.types import talk
from ..runs.folder import RunFolder
from .room import why_no_lab

HOSTS, RATE = 4, "100mbit"
WHAT = ("-n", "2,4", "-a", "ring,native", "--executor", "pipelined", "--sizes", "8,1K,512K,2M")
HOW_OFTEN = ("--launches", "3", "--warmups", "1", "--iters", "3")
WITHIN = "80s"


def measure_lab(folder: Path) -> RunFolder | None:
    """Measure ring and native over virtual hosts into `folder`, and print what the links cost beside what models find.

    None, with the reason on stderr, where there can be no virtual hosts here.
    """
    if reason := why_no_lab():
        talk(f"the demo leaves out virtual hosts: {reason}")
        return None
    talk(f"now over {HOSTS} virtual hosts of this machine, links of {RATE}")
    words = ["--virtual-hosts", str(HOSTS), "--link-rate", RATE, "--within", WITHIN, "--no-reference-times"]
    status = _run("run", *words, *WHAT, *HOW_OFTEN, "-o", str(folder))
    if status or not (folder / "run.json").exists():
        talk("the run over virtual hosts failed; the rest of the demo is complete")
        return None
    _run("lab", "ping", "--rate", RATE)
    _run("fit", str(folder))
    return RunFolder(folder)


def _run(*words: str) -> int:
    """The exit status of a command of this program."""
    return subprocess.run([sys.executable, "-m", "allreduce_bench", *words], check=False).returncode
