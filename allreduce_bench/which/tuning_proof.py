"""Proof of a tuning: what runs with its files and without, and whether it is faster, at sizes it was not made from.

What runs is seen as `which` sees it: at the sizes of each rule and beside them, on its number of ranks, one less, one
more and twice as many, and with each rank alone on MPI_COMM_SELF. Then the default and the files take turns in launches
of `run --against`; a rule that is slower in any round by HARMLESS, not faster in the medians by GAIN, or without times,
is dropped.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isqrt
from pathlib import Path
from typing import NamedTuple

from ..evaluation.grade import NOT_RELIABLE
from ..evaluation.rounds import FEWEST_ROUNDS, ratios_by_round
from ..evaluation.settable import IN_EACH_ROUND
from ..evaluation.summary import summarise
from ..evaluation.summary_row import time_of
from ..identifying.evidence import is_asked
from ..identifying.launch import Findings, Launches, ProbeFailed
from ..identifying.look import Asked
from ..launching.find import mpirun_command
from ..launching.launcher import Launcher
from ..report.grade_sentence import reasons_words
from ..runs.competitor import NATIVE
from ..runs.folder import RunFolder
from ..runs.identified import NO, YES
from ..runs.start import Start
from ..units import in_ranks
from .effects import OTHER, SAME, effect, names_words
from .tuning import Rule, TuneError, Tuning, algorithm_at, rules_at, told_words
from .tuning_files import LOADING

GAIN = IN_EACH_ROUND  # how many times as fast as the default the files are in the medians, at the least
HARMLESS = 1.10  # how many times as long as the default the files may take in any round
MOST_REASONS = 2  # why times are not reliable
MOST_TIMED = 3  # sizes of a rule
STEP = 8  # bytes: sizes are multiples of it
TIMEOUT_S = 120.0
ALONE = (
    "import numpy as n; from mpi4py import MPI as m; a = n.ones({count}, 'f'); b = n.zeros_like(a); "
    "m.COMM_SELF.Allreduce(a, b); assert (a == b).all()"
)
ACTS, DOES_NOT_ACT, ANYWAY = "acts", "DOES NOT ACT", "runs without the file, too"
UNCHANGED, CHANGED, UNKNOWN = "unchanged", "CHANGED", "cannot tell"


class Seen(NamedTuple):
    """What runs on so many ranks at one size."""

    ranks: int
    size_bytes: int
    told: str  # by the tuning; empty: the library's own choice
    with_files: tuple[str, ...]
    without: tuple[str, ...]
    words: str  # one of ACTS to UNKNOWN, as above

    @property
    def is_wrong(self) -> bool:
        """Return whether a rule does not act, or acts where there is none."""
        return self.words in (DOES_NOT_ACT, CHANGED)

    @property
    def ran(self) -> str:
        """Return what ran with the files, and without them where that is another one."""
        words = names_words(self.with_files)
        return words if self.with_files == self.without else f"{words}; without: {names_words(self.without)}"


class Alternated(NamedTuple):
    """Default and files in turn at one size of one rule."""

    rule: Rule
    size_bytes: int
    default_s: float
    files_s: float
    ratios: tuple[float, ...]  # default over files, of each round

    @property
    def gain(self) -> float:
        """How many times as fast the files are in the medians."""
        return self.default_s / self.files_s

    @property
    def worst(self) -> float:
        """How many times as fast they are in the worst round."""
        return min(self.ratios)


def is_faster(rule: Rule, turns: Sequence[Alternated]) -> bool:
    """Return whether turns of a rule show the files faster by GAIN, and not slower by HARMLESS in any round."""
    of_rule = [one for one in turns if one.rule == rule]
    return bool(of_rule) and all(one.worst * HARMLESS >= 1 and one.gain >= GAIN for one in of_rule)


def sizes_to_time(rule: Rule, sizes: Sequence[int]) -> list[int]:
    """Return sizes of a rule, bytes, between those that it was made from; its own where none lies between."""
    own = sorted({rule.low_bytes, rule.high_bytes, *(one for one in sizes if rule.low_bytes < one < rule.high_bytes)})
    between = [isqrt(low * high) // STEP * STEP for low, high in pairwise(own)]
    found = [size for size, low in zip(between, own) if size > low] or own
    return found[:: -(-len(found) // MOST_TIMED)]


def look_at_rules(
    tuning: Tuning, variables: Mapping[str, str], launcher: Launcher, tell: Callable[[str], object]
) -> list[Seen]:
    """Return what runs with the files and without. Raises ProbeFailed: a launch showed nothing."""
    counts = sorted({rule.ranks for rule in tuning.rules})
    found: list[Seen] = []
    for ranks in sorted({near for one in counts for near in (one - 1, one, one + 1, 2 * one) if near > 1}):
        tell(f"looking at what runs on {in_ranks([ranks])}")
        sizes = _sizes_to_look_at(tuning, ranks)
        with_files, without = (_look(launcher, ranks, sizes, more) for more in (variables, {}))
        found += compare_places(tuning, ranks, sizes, with_files, without)
    _call_alone(tuning, variables, launcher)
    return found


def _sizes_to_look_at(tuning: Tuning, ranks: int) -> list[int]:
    """Return the sizes of the rules of these ranks, or of all where there are none, those to be timed included."""
    rules = [*rules_at(tuning, ranks)]
    timed = [size for rule in rules for size in sizes_to_time(rule, tuning.sizes)]
    beside = [size for rule in rules for size in (max(STEP, rule.low_bytes - STEP), rule.high_bytes + STEP)]
    ends = [size for rule in rules or tuning.rules for size in (rule.low_bytes, rule.high_bytes)]
    return sorted({*ends, *timed, *beside})


def _look(launcher: Launcher, ranks: int, sizes: Sequence[int], variables: Mapping[str, str]) -> Findings:
    launches = Launches(launcher, ranks, Start(variables=_settings(variables)), TIMEOUT_S)
    return launches.find(Asked(sizes), {**_bare_environ(), **variables}, launches.command)


def _bare_environ() -> dict[str, str]:
    """Return the environment of launches without what loads files of rules, this one or others."""
    return {name: value for name, value in os.environ.items() if name not in LOADING}


def refuse_told(tuning: Tuning) -> None:
    """Raise TuneError if this environment tells the library something about all-reduce that the runs' did not."""
    told = told_words(_bare_environ(), tuning.library)
    if told != tuning.told:
        was = f"with {tuning.told}" if tuning.told else "without it"
        raise TuneError(f"{told or 'nothing'} is set here, beside the file; the runs were made {was}: do as they did")


def _settings(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in variables.items())


def compare_places(
    tuning: Tuning, ranks: int, sizes: Sequence[int], with_files: Findings, without: Findings
) -> Iterator[Seen]:
    """Yield what runs at each size on so many ranks, of two launches."""
    sides = [{size: one.answers[size].names for size in sizes} for one in (with_files, without)]
    changes = effect(*sides)
    for size in sizes:
        told = algorithm_at(tuning, ranks, size)
        if told:
            words = _told_words(is_asked(with_files.answers[size], told), changes.at[size].kind)
        else:
            words = {SAME: UNCHANGED, OTHER: CHANGED}.get(changes.at[size].kind, UNKNOWN)
        yield Seen(ranks, size, told, sides[0][size], sides[1][size], words)


def _told_words(state: str, kind: str) -> str:
    """Return whether a rule acts: what runs is, or may be, the algorithm, and it is another one without the files."""
    if state == NO:
        return DOES_NOT_ACT
    if kind == OTHER:
        return ACTS
    return ANYWAY if state == YES and kind == SAME else UNKNOWN


def _call_alone(tuning: Tuning, variables: Mapping[str, str], launcher: Launcher) -> None:
    """Call on MPI_COMM_SELF with the files. Raises ProbeFailed."""
    program = [sys.executable, "-c", ALONE.format(count=max(tuning.sizes) // 4)]
    command = mpirun_command(launcher, 2, Start(variables=_settings(variables)), program)
    environ = {**_bare_environ(), **variables}
    try:
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ProbeFailed(f"an all-reduce on MPI_COMM_SELF does not end within {TIMEOUT_S:g} s") from None
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"])[0]
        raise ProbeFailed(f"an all-reduce on MPI_COMM_SELF fails with these files: {last}")


def alternate(
    tuning: Tuning, ranks: int, variables: Mapping[str, str], folder: Path, wait_idle_s: float | None
) -> tuple[list[Alternated], str]:
    """Measure default and files in turn on so many ranks, into a new folder of runs; wait for an idle machine before.

    The second value says why they prove nothing; empty: they do. Raises RunError.
    """
    sizes = {size: rule for rule in rules_at(tuning, ranks) for size in sizes_to_time(rule, tuning.sizes)}
    against = " ".join(f"-x {shlex.quote(setting)}" for setting in _settings(variables))
    words = ["run", "-n", str(ranks), "-a", NATIVE, "--sizes", ",".join(map(str, sizes))]
    words += ["--launches", str(FEWEST_ROUNDS), "--identify", "never", "-o", str(folder), "--against", against]
    words += ["--wait-idle", f"{wait_idle_s:g}s"] if wait_idle_s is not None else []
    program = [sys.executable, "-m", "allreduce_bench", *words]
    ended = subprocess.run(program, stdout=subprocess.DEVNULL, env=_bare_environ(), check=False)
    if ended.returncode:
        return [], f"the launches of default and files failed: allreduce-bench {shlex.join(words)}"
    of_runs = [[row for row in summarise(RunFolder(folder / name)) if row["time_s"]] for name in "ab"]
    doubtful = [row["grading"] for rows in of_runs for row in rows if row["grade"] == NOT_RELIABLE]
    default, files = ({row["size_bytes"]: row for row in rows} for rows in of_runs)
    turns = [
        Alternated(
            rule,
            size,
            time_of(default[size]),
            time_of(files[size]),
            tuple(ratios_by_round(default[size]["launch_medians"], files[size]["launch_medians"]).values()),
        )
        for size, rule in sizes.items()
        if size in default and size in files
    ]
    if doubtful:
        reasons = reasons_words(doubtful[0], MOST_REASONS)
        return turns, f"these times are not reliable: {reasons}"
    return turns, ""
