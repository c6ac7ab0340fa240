"""Virtual hosts in the demo: links of a known rate, and models that recover it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..cli.types import talk
from ..machine.node import describe
from ..message import say
from ..models.listing import series_label
from ..models.model import Model
from ..models.series import FittedSeries
from ..runs.folder import RunFolder
from .lab import PAYLOAD_SHARE, why_no_lab

# The run of the demo
HOSTS, RATE = 4, "100mbit"
RUN_OPTIONS = ("-n", "2,4", "-a", "ring,native", "--executor", "pipelined", "--sizes", "8,1K,512K,2M")
REPETITIONS = ("--launches", "3", "--warmups", "1", "--iters", "3")
TIME_LIMIT = "80s"


def measure_lab(folder: Path) -> RunFolder | None:
    """Measure ring and native over virtual hosts into `folder`; print link costs beside those that models find.

    Return None, with the reason on stderr, if no virtual hosts can be made here or the run fails.
    """
    if reason := why_no_lab():
        talk(say("lab.demo_leaves_out_virtual", reason=reason))
        return None
    talk(say("lab.now_over_virtual_hosts", hosts=HOSTS, rate=RATE))
    words = ["--virtual-hosts", str(HOSTS), "--link-rate", RATE, "--within", TIME_LIMIT, "--no-reference-times"]
    status = _run("run", *words, *RUN_OPTIONS, *REPETITIONS, "-o", str(folder))
    if status or not (folder / "run.json").exists():
        talk(say("lab.run_over_virtual_hosts"))
        return None
    _run("lab", "ping", "--rate", RATE)
    _run("fit", str(folder))
    return RunFolder(folder)


def _run(*words: str) -> int:
    """Run a command of this program and return its exit status."""
    return subprocess.run([sys.executable, "-m", "allreduce_bench", *words], check=False).returncode


def lab_sentences(folders: Sequence[RunFolder], fitted: Sequence[FittedSeries]) -> list[str]:
    """Compare, for each run on virtual hosts, each fitted beta with the rate that was set."""
    sentences = []
    for folder in folders:
        rates = folder.plan().start.virtual_rates_bytes_per_s
        if not rates:
            continue
        set_s_per_byte = 1 / (min(rates) * PAYLOAD_SHARE)
        of_run = [each.model for each in fitted if each.model.run == folder.path.name or len(folders) == 1]
        found = [
            f"{_name(model)} {beta * 1e12:.0f} ({beta / set_s_per_byte - 1:+.1%})"
            for model in of_run
            if (beta := _beta_of_long_messages(model)) is not None
        ]
        sentences.append(
            say(
                "lab.set_beta_ps_byte",
                folder=folder.path.name,
                describe=describe(rates),
                set_s_per_byte=set_s_per_byte * 1000000000000.0,
                payload_share=1 - PAYLOAD_SHARE,
                found=", ".join(found) or "none identified",
            )
        )
    return sentences


def _name(model: Model) -> str:
    """Return `ring pipelined`, or `native as tree` where the data chose the schedule."""
    priced_as = model.parts[0].priced_as
    return series_label(model) + (f" as {priced_as}" if priced_as != model.algorithm else "")


def _beta_of_long_messages(model: Model) -> float | None:
    """Return the last beta, in s/byte; None if it is not identified or several algorithms share the sizes."""
    if len(model.parts) > 1:
        return None
    betas = [parameter for parameter in model.parts[0].parameters if parameter.name == "beta_s_per_byte"]
    last = max(betas, key=lambda parameter: parameter.above)
    return last.value if last.identified else None
