"""What `make ratios` asks: one row for each ratio, with its goal on each MPI."""

from typing import NamedTuple

KIB, MIB = 1 << 10, 1 << 20
OPEN_MPI, MPICH = "Open MPI", "MPICH"
PYTHON, COMPILED = ("sendrecv", "pipelined"), ("compiled", "compiled-pipelined")
CUTS = (256 * KIB, MIB, 2 * MIB, 4 * MIB)  # bytes: segments that pipelined executors try
WINDOWS = (2, 4)  # messages posted ahead


class Goal(NamedTuple):
    """Between what the ratio shall lie."""

    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        """`>= 1.8`, `<= 1.05`, `0.95 to 1.05`."""
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return f">= {self.low:g}" if self.high is None else f"<= {self.high:g}"

    def met(self, ratio: float) -> bool:
        """Whether the ratio lies there."""
        return (self.low is None or ratio >= self.low) and (self.high is None or ratio <= self.high)


class Row(NamedTuple):
    """One ratio: of the time of `rival` over that of the best of `ours`, or with `inverse` the other way round."""

    what: str
    ranks: int
    nbytes: int
    ours: tuple[str, ...]  # rivals as tests/ranks/rivals.py names them
    rival: str
    goals: dict[str, Goal]  # MPI -> goal
    inverse: bool = False
    definition: str = "max"  # or osu
    upper: bool = False  # the upper end of the interval has to meet the goal, not the median


class LabRow(NamedTuple):
    """One ratio on virtual hosts: a share of a limit, or with `rival` its time over that of `algorithm`."""

    what: str
    algorithm: str
    goals: dict[str, Goal]
    share: str = "of_limit"  # or of_own_limit: columns of summary.csv
    rival: str = ""


def both(goal: Goal) -> dict[str, Goal]:
    """The same goal on each MPI."""
    return {OPEN_MPI: goal, MPICH: goal}


def ways(algorithms: tuple[str, ...], executors: tuple[str, ...], nbytes: int) -> tuple[str, ...]:
    """The algorithms by each of the executors, pipelined ones at CUTS below the length of the vector."""
    found: list[str] = []
    for name in algorithms:
        for executor in executors:
            if "pipelined" not in executor:
                found.append(f"{name}/{executor}")
            else:
                cuts = [cut for cut in CUTS if cut < nbytes]
                found += [f"{name}/{executor}/{cut // 4}/{window}" for cut in cuts for window in WINDOWS]
    return tuple(found)


def best(ranks: int, nbytes: int, size: str, goal: float) -> Row:
    """The best of ours against default native."""
    algorithms = ("ring",) if nbytes >= MIB else ("ring", "recursive_doubling")
    ours = ways(algorithms, PYTHON + COMPILED, nbytes)
    return Row(
        f"best of ours against native, {size}, {ranks} ranks", ranks, nbytes, ours, "native/native", both(Goal(goal))
    )


def against_osu(ranks: int, nbytes: int, size: str) -> Row:
    """The compiled loop of native against the loop of OSU's osu_allreduce in C."""
    what, goals = f"native of the compiled loop against a C loop, {size}, {ranks} ranks", both(Goal(0.95, 1.05))
    return Row(what, ranks, nbytes, ("native/compiled",), "osu_loop", goals, inverse=True, definition="osu")


SMALL = {  # compiled?
    True: ("recursive_doubling/compiled", "recursive_doubling/compiled-pipelined/1/1"),
    False: ("recursive_doubling/sendrecv", "recursive_doubling/pipelined/1/1"),
}
ROWS = (
    best(2, 16 * MIB, "16 MiB", 1.8),
    best(4, 16 * MIB, "16 MiB", 1.6),
    best(2, 64 * KIB, "64 KiB", 2.0),
    best(2, 256 * KIB, "256 KiB", 2.0),
    Row(
        "recursive doubling against native, both compiled, 4 B, 2 ranks",
        2,
        4,
        SMALL[True],
        "native/compiled",
        {OPEN_MPI: Goal(high=1.05), MPICH: Goal(high=1.8)},
        inverse=True,
    ),
    Row(
        "recursive doubling, compiled, against a C loop of MPI_Sendrecv, 4 B, 2 ranks",
        2,
        4,
        SMALL[True][:1],
        "pair_loop",
        both(Goal(high=1.15)),
        inverse=True,
        definition="osu",
    ),
    Row(
        "recursive doubling against native, both from Python, 4 B, 2 ranks",
        2,
        4,
        SMALL[False],
        "native/native",
        {OPEN_MPI: Goal(high=1.5), MPICH: Goal(high=1.7)},
        inverse=True,
    ),
    *(
        against_osu(ranks, nbytes, size)
        for ranks in (2, 4)
        for nbytes, size in ((4, "4 B"), (4 * KIB, "4 KiB"), (256 * KIB, "256 KiB"), (16 * MIB, "16 MiB"))
    ),
    *(
        Row(
            f"prepared ring against a plain mpi4py loop, {size}, {ranks} ranks",
            ranks,
            nbytes,
            ("ring/sendrecv",),
            "plain_ring",
            both(Goal(high=1.05)),
            inverse=True,
            upper=True,
        )
        for ranks, nbytes, size in ((2, 4, "4 B"), (2, 16 * MIB, "16 MiB"), (4, 16 * MIB, "16 MiB"))
    ),
)
LAB = "4 virtual hosts, 100 Mbit/s, 8 MiB"
LAB_ROWS = (
    LabRow(f"ring, share of the wire's limit, {LAB}", "ring", {MPICH: Goal(0.97), OPEN_MPI: Goal(0.95)}),
    LabRow(f"two_tree, share of its own limit, {LAB}", "two_tree", both(Goal(0.92)), share="of_own_limit"),
    LabRow(f"ring against native, {LAB}", "ring", both(Goal(1.8)), rival="native"),
)
