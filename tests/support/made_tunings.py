"""Runs of which an algorithm of the library is the fastest, and rules made by hand."""

from made_runs import build_run, identified

from allreduce_bench.runs.identified import keep_identified
from allreduce_bench.which.tuning import Rule, Tuning

SIZES = (8, 64, 1024, 8192, 1 << 16, 1 << 20)
NAMES = ("native", "native:default", "native:ring", "native:rabenseifner")
NUMBERS = {"recursive_doubling": 3, "ring": 4, "segmented_ring": 5}  # of Open MPI


def tuned_run(path, gains, ran=(), **options):
    """A run in which the algorithms `gains` take the given share of the default's time at the given sizes."""

    def factor(_, cell):
        of_name = gains.get(cell.competitor, {})
        return of_name.get(cell.size_bytes, 1.0)

    choices = {"algorithms": NAMES, "sizes": SIZES, "ranks": (2,), "launches": 5, **options}
    folder = build_run(path, factor=factor, **choices)
    for ranks in choices["ranks"]:
        keep_identified(folder, identified(ranks, {("native", size): ran for size in SIZES if ran}))
    return path


def halved(name, sizes):
    return {name: dict.fromkeys(sizes, 0.5)}


OTHER_HOST = {"hosts": ["node2"] * 2}


def rule(ranks, low, high, algorithm):
    return Rule(ranks, low, high, algorithm, ("rabenseifner",), 1.3, 1.4, 1.2, 10)


RULES = (
    rule(4, 512, 8192, "recursive_doubling"),
    rule(4, 1 << 20, 1 << 24, "ring"),
    rule(8, 8, 8192, "ring"),
)
TUNING = Tuning(
    "Open MPI 5.0.11", ("results/run",), ("2026-11-23",), ("node1",), "", (2, 4, 8), (8, 512, 8192, 1 << 20), RULES
)
