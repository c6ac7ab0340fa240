"""Limits of the work that a command begins without --no-limit: estimated before, from plans, sizes and cost formulas.

Each limit is about ten minutes of a laptop, or what its disk and its reader can take. What a user's generator does
cannot be estimated: it is ended.
"""

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from math import log2
from os import walk
from os.path import abspath
from pathlib import Path
from types import FrameType

from ..machine.node import cores
from ..message import say
from ..runs.plan import Plan
from ..schedule import Parts
from ..schedule.algorithm import Algorithm, AlgorithmError, Topology
from ..schedule.verify import layouts
from .types import OneLineError

MOST_LAUNCHES, MOST_CELLS, MOST_CALLS = 10_000, 1_000_000, 1_000_000_000  # of a run, in total
MOST_SIZES = 1000  # of a run, also if -b, -e and -f make them
MOST_RANKS_HERE, RANKS_OF_A_CORE = 256, 16  # of a launch on this node
MOST_STEPS = 30_000_000  # proved at 20 us each
MOST_TEXT_NBYTES = 10_000_000
MOST_TIMES = 200_000  # predicted at 0.5 ms each
MOST_LOG_NBYTES = 32_000_000  # a million rows at 0.3 ms each
MOST_FILES = 20_000  # below a folder of logs, of any kind
MOST_RUNS = 1000
GENERATED_S = 5.0  # for the steps of one rank, by a user's generator
LETTERS_OF_TERM, LETTERS_OF_MESSAGE = 6, 60  # of the output of `explain`: `371.1+`, and a line without its contents


def refuse_above(
    what: str, estimate: float, most: float, unit: str, advice: str, no_limit: bool, divisor: float = 1
) -> None:
    """Raise OneLineError if `estimate` exceeds `most`, both printed in `unit`, unless there is no limit."""
    if estimate > most and not no_limit:
        amount, limit = (f"{float(f'{number / divisor:.3g}'):,.0f}" for number in (estimate, most))
        bound = f"the limit is {limit} {unit.split()[0]}"
        raise OneLineError("cli.about_add_no_limit", what=what, amount=amount, unit=unit, bound=bound, advice=advice)


def refuse_long_run(plan: Plan, no_limit: bool) -> None:
    """Raise OneLineError if the launches, cells or calls of a plan are very many."""
    rounds = plan.launches * len(plan.ranks)
    launches = rounds * (1 + len(plan.forced_launches))
    kinds = len(plan.caches) * len(plan.group_kinds) * len(plan.arrivals) * len(plan.placement)
    ways = sum(len(plan.executors_of(name)) for name in plan.algorithms)
    cells = rounds * kinds * len(plan.sizes) * (ways + 2 * plan.floors)
    calls = cells * ((plan.iters or 0) + plan.warmups + plan.back_to_back)
    options = "--launches or --ranks", say("cli.sizes_launches_ranks"), say("cli.iters_warmups_back_back")
    refuse_above("run", launches, MOST_LAUNCHES, "launches", f"reduce {options[0]}", no_limit)
    refuse_above("run", len(plan.sizes), MOST_SIZES, "sizes", "reduce --sizes", no_limit)
    refuse_above("run", cells, MOST_CELLS, say("cli.cells_launches"), f"reduce {options[1]}", no_limit)
    refuse_above("run", calls, MOST_CALLS, say("cli.calls_cells"), f"reduce {options[2]}", no_limit)


def refuse_many_ranks(ranks: int, no_limit: bool) -> None:
    """Raise OneLineError if so many ranks would exhaust this node's memory: each is a Python process."""
    most = max(MOST_RANKS_HERE, RANKS_OF_A_CORE * cores())
    refuse_above(f"run -n {ranks}", ranks, most, say("cli.processes_node"), "start fewer", no_limit)


def refuse_many_proofs(
    algorithms: Mapping[str, Algorithm],
    ranks: Sequence[int],
    counts: Sequence[int],
    segments: Sequence[int],
    ranks_per_node: int | None,
    no_limit: bool,
) -> None:
    """Raise OneLineError if `verify` would enumerate very many steps."""
    if no_limit:
        return
    steps = 0.0
    for size in reversed(ranks):  # largest first
        for algorithm in algorithms.values():
            steps += sum(_steps(algorithm, case) for case in _cases(algorithm, size, counts, segments, ranks_per_node))
        if steps > MOST_STEPS and len(ranks) > 1:
            break  # too many already
    what = (
        f"verify -n {ranks[-1]}"
        if len(ranks) == 1
        else say("cli.verify_rank_counts_up", rank_count=len(ranks), ranks=ranks[-1])
    )
    refuse_above(what, steps, MOST_STEPS, "steps to verify", say("cli.use_fewer_ranks_counts"), no_limit)


def refuse_long_text(algorithm: Algorithm, topology: Topology, count: int, segment: int, no_limit: bool) -> None:
    """Raise OneLineError if `explain` would write very much."""
    if no_limit:
        return
    size = len(topology.node_of)
    what = f"explain {algorithm.name} -n {size}"
    steps, advice = _steps(algorithm, (topology, count, segment)), say("cli.use_fewer_ranks_longer_segment")
    refuse_above(what, steps, MOST_STEPS, "steps to draw", advice, no_limit)
    some = [algorithm.schedule(rank, size, topology, count, segment) for rank in {0, size // 2, size - 1}]
    messages = size * max(map(len, some))
    # each rank receives every part of all others once, as a sum of more and more terms
    nbytes = len(Parts(some, count)) * size**2 / 2 * LETTERS_OF_TERM + messages * LETTERS_OF_MESSAGE
    refuse_above(what, nbytes, MOST_TEXT_NBYTES, "MB of text", advice, no_limit, divisor=1e6)


def refuse_many_times(ranks: Sequence[int], sizes: int, algorithms: int, no_limit: bool) -> None:
    """Raise OneLineError if `predict` would price very many cells."""
    what = say("cli.predict_rank_counts_times", rank_count=len(ranks), sizes=sizes, algorithms=algorithms)
    searched = log2(ranks[-1])  # numbers of ranks searched for crossings
    times = (len(ranks) + searched) * sizes * algorithms
    refuse_above(what, times, MOST_TIMES, "times", "reduce their number", no_limit)


def refuse_long_logs(command: str, paths: Iterable[Path], no_limit: bool) -> None:
    """Raise OneLineError if logs are very long in total; of a folder all files count, of a pipe nothing."""
    nbytes = sum(_log_nbytes(command, path) for path in paths) if not no_limit else 0
    refuse_above(command, nbytes, MOST_LOG_NBYTES, "MB of logs", "shorten them", no_limit, divisor=1e6)


def refuse_absent(logs: Iterable[Path]) -> None:
    """Raise LogError if there is no such log, before anything is loaded that only what reads it needs."""
    from ..importers.lines import read_text  # late: few commands read logs

    for path in logs:
        if not path.exists():
            read_text(path)


def refuse_many_runs(command: str, runs: int, no_limit: bool) -> None:
    """Raise OneLineError for very many folders of runs."""
    refuse_above(command, runs, MOST_RUNS, "runs", "name fewer", no_limit)


def _log_nbytes(command: str, path: Path) -> int:
    """Return the bytes of a log, or of those below a folder. Raises OneLineError for a folder of very many files."""
    if path.is_file():
        return path.stat().st_size
    files = islice((Path(folder, name) for folder, _, names in walk(path) for name in names), MOST_FILES + 1)
    if sum(1 for _ in files) > MOST_FILES:
        raise OneLineError("cli.holds_more_files_name", command=command, path=path, most_files=MOST_FILES)
    from ..importers.reading import files_of_folder  # late: few commands read logs

    return sum(file.stat().st_size for file in files_of_folder(path)) if path.is_dir() else 0


Layout = tuple[Topology, int, int]  # with a count and a segment


def _cases(
    algorithm: Algorithm, size: int, counts: Sequence[int], segments: Sequence[int], ranks_per_node: int | None
) -> Iterable[Layout]:
    """Yield roughly the cases that `verify` proves at so many ranks: a layout counts if it changes the cost."""
    seen = set()
    for topology in layouts(size, ranks_per_node):
        if algorithm.unmet(size, topology) or (cost := _messages(algorithm, (topology, size, size))) in seen:
            continue
        seen.add(cost)
        for count in counts or (size - 1, size, size + 1):
            for segment in segments or ((count or 1, max(1, count // 5)) if algorithm.segmented else (count or 1,)):
                yield topology, count, segment


def _steps(algorithm: Algorithm, case: Layout) -> float:
    """Return an upper bound of the steps of all ranks: none has more than the critical path has messages."""
    return len(case[0].node_of) * _messages(algorithm, case)


def _messages(algorithm: Algorithm, case: Layout) -> float:
    """Return the messages on the critical path. Raises AlgorithmError if a user's cost function fails."""
    topology, count, segment = case
    try:
        return float(algorithm.cost(len(topology.node_of), topology, count, segment).messages)
    except Exception as error:  # a user's may fail in any way
        raise AlgorithmError(
            "cli.cost_failed", algorithm=algorithm.name, name=type(error).__name__, error=error
        ) from error


@contextmanager
def generators_that_end(algorithms: Iterable[Algorithm]) -> Iterator[None]:
    """Raise TimeoutError inside a user's generator that for GENERATED_S neither returns nor fails."""
    files = {abspath(algorithm.file) for algorithm in algorithms if algorithm.file}
    if not files:
        yield
        return
    running: list[FrameType | None] = [None]  # the generator at the last look

    def look(number: int, frame: FrameType | None) -> None:
        found = None
        while frame:
            found = frame if abspath(frame.f_code.co_filename) in files else found
            frame = frame.f_back
        if found and found is running[0]:
            raise TimeoutError(say("cli.generator_without_end", seconds=GENERATED_S))
        running[0] = found

    former = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, GENERATED_S, GENERATED_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
