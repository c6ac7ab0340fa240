"""The commands that the pages for readers show: where they stand, which of them a test runs, and how.

A command is a line of an indented or fenced block that begins with one of PROGRAMS; everything else in a block is what
commands print, or Python.
"""

import glob
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner
from interpreters import interpreters
from measured_runs import with_package
from places import ROOT

from allreduce_bench.cli import main

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md"))),
    *("jobs/README.md", "jobs/reframe/README.md", "analysis/README.md", "results/README.md", "tests/README.md"),
)
PROGRAMS = "allreduce-bench|make|module|mpirun|pip|python3?|reframe|sbatch|srun|jupyter"
COMMAND = re.compile(rf"^(?:\S*/)?(?:{PROGRAMS}) [^#\n]+", re.MULTILINE)
OUTSIDE_OF_QUOTES = re.compile(r" && (?=(?:[^']*'[^']*')*[^']*$)")
OURS = re.compile(r"^(?P<launcher>(?:srun|mpirun) .*?)?(?:\.venv/bin/)?allreduce-bench (?P<words>.+)$")

# Why a command is only parsed: its name and the values of its options must exist. The first that matches counts.
PARSED = {
    r"^(submit|status|collect|doctor --slurm)\b": "a Slurm; the rooms `slurm` and `cluster` run them",
    r"^workload shapes\.csv\b": "a file of one's own; `cli/test_workload.py` has some",
    r"^lab\b|--virtual-hosts\b": "root or user namespaces; `cli/test_lab.py` runs them",
    r"^health\b|--hosts\b": "hosts; `launching` runs them on virtual ones",
    r"^order\b|--order\b": "pairs of hosts, or a map; `order/test_command.py` makes them",
    r"^tune\b": "runs of five launches on an idle machine; `which/test_tune.py` makes some",
    r"^exec\b": "a program; launching/test_own_program.py and programs/test_torch_hook.py run some",
    r"--nccl-log\b": "a log of NCCL; `importers/test_nccl_log.py` has some",
    r"--launcher\b": "another launcher; `launching` has played ones",
    r"--interface\b": "an interface of that name",
    r"nccl-inspector|steps\.jsonl|torch-job": "files of other programs; `cli/test_stragglers.py` makes them",
    r"^import logs/|^compare .*(\.log|osu\.txt|logs/)": "logs; `cli/test_log_options.py` makes some",
    r"--resume\b": "a run that was interrupted; `cli/test_run.py` interrupts one",
    r"--min-busbw\b": "a machine that is fast enough; `evaluation/test_acceptance.py` has results",
}
SLOW = {  # only with ALLREDUCE_BENCH_FULL; else parsed
    r"^doctor$": "it waits for what the machine does",
    r"^run (?!.*--against).*--(precision|cache|check|format|groups|arrival)": "rooms `measuring` and `report`",
    r"^which -n 4 --sizes": "`which/test_which.py` does",
    r"^explain --all": "the room `browser` makes these pages",
    r"^survive\b": "the room `survive` loses ranks",
    r"^workload .*--measure\b": "`cli/test_workload_measure.py` measures steps",
    r"lumi\.json": "test_docs.py runs them in a test of their own",
}
SHORTER = {  # unless FULL
    r"^(run .*)--within 90s": r"\1",
    r"^(run (?!.*--(?:sizes|like)).*)": r"\1 --sizes 8,64K",
    r"^(run (?!-n 2,4 --sizes).*)": r"\1 --identify=never",  # but in the first one of README.md
    r"^(which .*)--sizes 8,64K,1M,16M": r"\1--sizes 8,64K",
    r"^(which .*--switches)": r"\1 --sizes 8,64K",
    r"--sizes 8,4K,128K,1M,16M": "--sizes 8,4K,1M",
    r"^(run .*)": r"\1 --launches 1 --warmups 1 --iters 3",
}
OF_THE_PAGE = r"results/|machine\.json"  # what the page itself made
MAY_FAIL = r"^(compare|doctor)\b"  # exit status 1 is an answer


class Shown(NamedTuple):
    """A command of a page."""

    page: str
    line: str  # as shown, without a comment
    launcher: str  # srun or mpirun and its words, where they stand before it
    words: str  # what stands behind `allreduce-bench`; empty: another program

    def reason_to_parse(self, full: bool) -> str:
        """Why it is not run here; empty: it is run."""
        if self.launcher:
            return "a launcher around it"
        if (
            not full
            and self.page != "README.md"
            and self.words in {shown.words for shown in shown_commands("README.md")}
        ):
            return "" if re.search(OF_THE_PAGE, self.words) else "README.md runs it"
        reasons = PARSED if full else PARSED | SLOW
        return next((reason for pattern, reason in reasons.items() if re.search(pattern, self.words)), "")

    def shortened(self, full: bool) -> str:
        """What is run in its place: itself where `full`."""
        words = self.words
        for pattern, shorter in () if full else SHORTER.items():
            words = re.sub(pattern, shorter, words)
        return words


def blocks(text: str) -> list[str]:
    """The indented blocks and the fenced ones of a page, without their indents."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"(?<=\n\n)((?:    [^\n]*\n|\n(?=    ))+)", rest)
    return [*(re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in indented), *fenced]


def shown_commands(page: str) -> list[Shown]:
    """The commands of a page, in order; those joined by && apart."""
    lines = [found for block in blocks((ROOT / page).read_text(encoding="utf-8")) for found in COMMAND.findall(block)]
    shown = []
    for line in (part.strip() for whole in lines for part in OUTSIDE_OF_QUOTES.split(whole)):
        ours = OURS.match(line)
        shown.append(Shown(page, line, ours["launcher"] or "" if ours else "", ours["words"] if ours else ""))
    return shown


def own_algorithm() -> str:
    """The file `mine.py` of README.md."""
    return next(block for block in blocks((ROOT / "README.md").read_text()) if block.startswith("# mine.py"))


def output_below(page: Path, start: str) -> str:
    """What a page shows below the command that begins with `start`: the lines of the next block."""
    text = page.read_text(encoding="utf-8")
    after = text[text.index(f"\n    {start}") + 1 :].split("\n\n", 1)[1]
    return re.match(r"(?:    [^\n]*\n|\n(?=    ))+", after)[0]


def expanded(words: list[str]) -> list[str]:
    """As a shell does it: patterns become the names that match, where there are some."""
    return [name for word in words for name in (sorted(glob.glob(word)) if "*" in word else []) or [word]]


def run_page(page: str, full: bool) -> dict[str, str]:
    """Run the commands of a page one after the other in the working folder; by the words of each what it printed.

    Fails an assertion where one ends with a status that is no answer.
    """
    printed = {}
    for shown in shown_commands(page):
        if shown.words and not shown.reason_to_parse(full):
            words = expanded(shlex.split(shown.shortened(full)))
            status, printed[shown.words], errors = run_over_mpi(words) if words[0] == "run" else run_here(words)
            is_answer = status == 0 or (status == 1 and re.search(MAY_FAIL, shown.words))
            assert is_answer, f"{shown.line}\n{printed[shown.words]}{errors}"
    return printed


def run_here(words: list[str]) -> tuple[int, str, str]:
    """The exit status of a command in this process, and what it prints on stdout and stderr."""
    result = CliRunner().invoke(main, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)
    return result.exit_code, result.stdout, result.stderr


def run_over_mpi(words: list[str]) -> tuple[int, str, str]:
    """The same in a process of an interpreter with an MPI."""
    command = [str(interpreters()[-1]), "-m", "allreduce_bench", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=with_package())
    return result.returncode, result.stdout, result.stderr
