"""`submit` on a private Slurm, to be struck: itself, its jobs' commands and ranks, or what collects in the end."""

import signal
import subprocess
from atexit import register
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random

from private_slurm import Cluster, private_slurm
from striking import Way
from struck import BEGIN_S, RESUMED_S, Finished, Outcome, Struck, cells_of, compare_marks, finished, readable

AND_WAIT = """"$@"; status=$?
until [[ -z $(squeue --noheader --states=all --format=%T,%r | grep -Ev '^(COMPLET|CANCEL|FAILED|TIMEOUT|.*Held)') ]]; do
    sleep 0.2
done
exit $status"""


@cache
def cluster() -> Cluster:
    """One for all kills of this process, with which it ends. Raises Unavailable."""
    ending = ExitStack()
    register(ending.close)
    return ending.enter_context(private_slurm())


class StruckSweep(Struck):
    """A sweep of one and two nodes, until its jobs have ended; what counts are the cells of its run."""

    ways = (
        Way("submit", signal.SIGTERM),
        Way("submit", signal.SIGKILL),
        Way("submit", signal.SIGINT),
        Way("rank", signal.SIGKILL),
        Way("mpirun", signal.SIGKILL),
        Way("inner", signal.SIGKILL),
        Way("inner", signal.SIGTERM),
        Way("daemon", signal.SIGKILL),
        Way("collect", signal.SIGKILL),
        Way("collect", signal.SIGTERM),
    )
    number = 8  # cells: two numbers of nodes, two algorithms, two sizes

    def __init__(self, draw: Random, python: Path, place: Path, way: Way):
        super().__init__(draw, python, place, way)
        self.ranks, self.rank = 2, draw.randrange(2)
        place.chmod(0o755)

    def begin(self, timeout: str = "60s") -> list[str]:
        """As `Struck`."""
        measured = ["-a", "native,ring", "--sizes", "8,64K", "--iters", "100", "--no-reference-times"]
        jobs = ["--nodes", "1,2", "--ranks-per-node", "1", "--launches", "1", "--system", "one_machine"]
        return self._on_cluster("submit", *jobs, *measured, "--timeout", timeout, "-o", str(self.folder))

    def _on_cluster(self, *words: str) -> list[str]:
        """The command, and then until no job is left that may run."""
        return cluster().command(["bash", "-c", AND_WAIT, "bash", *self.bench, *words])

    def variables(self) -> dict[str, str]:
        """None: the nodes have their own."""
        return {"VENV": str(Path(self.bench[0]).parents[1])}

    def moment(self) -> tuple[int, float]:
        """As `Struck`; a submission is over before the first cell."""
        return (0, self.draw.uniform(0, BEGIN_S)) if self.way.victim == "submit" else super().moment()

    def has_begun(self) -> bool:
        """As `Struck`."""
        return (self.folder / "run.json").exists()

    def kept(self) -> list[Finished]:
        """As `Struck`."""
        return finished(self.folder)

    def judge_words(self, outcome: Outcome, status: int, lines: list[str], has_kept: bool) -> None:
        """What was struck in a job is told by the files of the jobs; a submission says how it ended, unless killed."""
        said = [*lines, *(line for path in self.folder.glob("jobs/**/*.out") for line in path.read_text().splitlines())]
        if any("Traceback" in line for line in said):
            outcome.faults.append(f"a traceback: {said}")
        asked_to_end = self.way.victim == "submit" and self.way.number is not signal.SIGKILL
        if asked_to_end and status and not any(line.startswith("error: ") for line in lines):
            outcome.faults.append(f"submit, status {status}: {lines[-1:]}")

    def go_on(self, outcome: Outcome, kept: list[Finished], environ: dict[str, str]) -> None:
        """As `Struck`: jobs that were left held are cancelled as a user would, and what is missing submitted again."""
        kept = finished(self.folder)  # jobs went on after one of them was struck
        if kept:
            outcome.lost += len(cells_of(kept) - readable(self.folder))
        held = cluster().run(["squeue", "--noheader", "--format=%i"]).stdout.split()
        if held:
            outcome.label += f", {len(held)} jobs held"
            cluster().run(["scancel", *held])
        if self.has_begun():
            for words, statuses in ((["status"], (0, 2)), (["collect"], (0, 1))):
                self._said(outcome, environ, [*words, str(self.folder)], statuses)
            self.finish(outcome, self._on_cluster("submit", "--resume", "-o", str(self.folder)), environ)
        else:
            self.finish(outcome, self.begin(), environ)
        self._said(outcome, environ, ["collect", str(self.folder)], (0,))
        compare_marks(outcome, kept, finished(self.folder))
        if len(whole := readable(self.folder)) != self.number:
            outcome.faults.append(f"{len(whole)} of {self.number} cells after resuming")

    def _said(self, outcome: Outcome, environ: dict[str, str], words: list[str], statuses: tuple[int, ...]) -> None:
        """Run a command that reads the sweep, on the cluster."""
        command = cluster().command([*self.bench, *words])
        result = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=RESUMED_S, check=False, cwd=self.place
        )
        last = (result.stderr.splitlines() or ["nothing said"])[-1]
        if result.returncode not in statuses or "Traceback" in result.stderr:
            outcome.faults.append(f"{words[0]} with status {result.returncode}: {last}")
