"""The training programs of `analysis/`: losses as of training alone, to rounding, and a slowed rank that is named."""

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from measured_runs import with_package
from places import ANALYSIS

from allreduce_bench.launching.find import find_launcher, mpirun_command
from allreduce_bench.machine import OPEN_MPI
from allreduce_bench.runs.start import Start

RANKS = (1, 2, 4)
ROUNDING = 1e-12  # as in the programs, which say why
WITH_TORCH = [python for python in interpreters() if list(python.parent.parent.glob("lib/python*/site-packages/torch"))]
WENT_ON = r"^40 steps, 2 ranks at the end; .*\ntraining alone gives these losses to "
needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
needs_torch = pytest.mark.skipif(not WITH_TORCH, reason="no interpreter here has an MPI and torch")
over_mpi = pytest.mark.parametrize("python", dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
over_torch = pytest.mark.parametrize("python", WITH_TORCH, ids=lambda path: path.parent.parent.name)


@lru_cache
def trained(python: Path, program: str, ranks: int, *words: str) -> tuple[float, str]:
    """The loss of the last step, and what the program said on stderr."""
    command = [str(python), "-m", "allreduce_bench", "exec", "-n", str(ranks), "--", str(python), program, *words]
    done = subprocess.run(
        command, cwd=ANALYSIS, env=with_package(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = rf"ranks: {ranks}; loss (.*) in the first step, (.*) in the last one\ntraining alone gives .* to (.*)\n"
    first, last, difference = map(float, re.fullmatch(said, done.stdout).groups())
    assert difference <= ROUNDING and 0 < last < first, done.stdout
    return last, done.stderr


@needs_mpi
@over_mpi
@pytest.mark.parametrize("ranks", (1, pytest.param(2, marks=pytest.mark.slow), 3))
def test_losses_are_those_of_training_alone(python, ranks):
    in_turn(ranks, python)
    loss, _ = trained(python, "train_numpy.py", ranks)
    assert loss == pytest.approx(trained(python, "train_numpy.py", 1)[0], rel=ROUNDING) and loss < 0.1


@pytest.mark.slow  # in make test, `stragglers/test_step_monitor.py` has slowed ranks that are named
@needs_mpi
@over_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_slowed_rank_is_named(python, ranks):
    in_turn(RANKS.index(ranks) - 1, python)
    refuse_other_names(trained(python, "train_numpy.py", ranks, "--slow", "1", "--steps", "1000")[1])


def refuse_other_names(said: str) -> None:
    """Assert that rank 1 was called slow, and none but it."""
    named = re.findall(r"^StepMonitor: step \d+: rank (\d+) is \d+ % slower than the others", said, re.MULTILINE)
    assert named == ["1"], said


@pytest.mark.slow
@needs_torch
@over_torch
@pytest.mark.parametrize("ranks", RANKS)
def test_losses_with_the_hook_are_those_of_training_alone(python, ranks):
    loss, _ = trained(python, "train_torch.py", ranks)
    assert loss == pytest.approx(trained(python, "train_torch.py", 1)[0], rel=ROUNDING) and loss < 0.1


@pytest.mark.slow
@needs_torch
@over_torch
def test_the_slowed_rank_is_named_in_torch(python):
    refuse_other_names(trained(python, "train_torch.py", 2, "--slow", "1", "--steps", "1000")[1])


@needs_mpi
@over_mpi
@pytest.mark.parametrize(
    "before, words, said",
    [
        ((), ("--lose", "0@5"), "--lose: expected a folder of checkpoints"),
        (("-m", "allreduce_bench", "exec", "-n", "2", "--"), ("--slow", "2"), "--slow: expected a rank below 2"),
        ((), ("--steps", "0"), "--steps and --every: expected 1 or more"),
    ],
)
def test_what_cannot_be_trained_is_refused(python, before, words, said):
    in_turn(1, python)
    command = [*([str(python), *before] if before else []), str(python), "train_numpy.py", *words]
    done = subprocess.run(command, cwd=ANALYSIS, env=with_package(), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"error: {said}" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not interpreters() or not find_launcher().library.startswith(OPEN_MPI), reason="needs ULFM")
def test_a_training_goes_on_by_ulfm_from_the_same_step():
    program = [sys.executable, "train_ulfm.py", "--lose", "0@20", "--steps", "40"]
    command = mpirun_command(find_launcher(), 3, Start(launcher_args="--with-ft ulfm"), program)
    done = subprocess.run(
        command, cwd=ANALYSIS, env=with_package(), capture_output=True, text=True, timeout=600, check=False
    )
    assert re.search(WENT_ON, done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "3 ranks" in done.stderr and "0; 2 go on" in done.stderr
