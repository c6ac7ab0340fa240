"""What `make ratios` asks: one row for each ratio, with its goal on each MPI."""

from typing import NamedTuple

from allreduce_bench.runs.library_algorithms import NAMES

KIB, MIB = 1 << 10, 1 << 20
OPEN_MPI, MPICH, INTEL = "Open MPI", "MPICH", "Intel MPI"
PYTHON, COMPILED = ("sendrecv", "pipelined"), ("compiled", "compiled-pipelined")
CUTS = (256 * KIB, MIB, 2 * MIB, 4 * MIB)  # bytes: segments that pipelined executors try
WINDOWS = (2, 4)  # messages posted ahead
TOLD = tuple(f"{name}/compiled" for name in NAMES)  # those that a library does not have are absent there
SIZES = {"4 KiB": 4 * KIB, "16 KiB": 16 * KIB, "64 KiB": 64 * KIB, "256 KiB": 256 * KIB}
SIZES |= {"1 MiB": MIB, "4 MiB": 4 * MIB, "16 MiB": 16 * MIB}
PEER_SIZES = {"4 B": 4, **{size: size_bytes for size, size_bytes in SIZES.items() if size not in ("16 KiB", "4 MiB")}}


class Goal(NamedTuple):
    """Between what the ratio shall lie; without ends it is shown only."""

    low: float | None = None
    high: float | None = None
    of: str = ""  # empty: the ratio; `interval`: both its ends; `upper end`: of the interval
    reaches: float | None = None  # what the lower end of the interval shall not exceed
    holds: float | None = None  # what shall lie in the interval
    aim: bool = False  # wished for, not demanded

    @property
    def words(self) -> str:
        """`>= 1.8`, `<= 1.05 (upper end), reaches 1`, `0.95 to 1.05 (interval)`, `aim >= 1.8`, or nothing."""
        words = ""
        if self.low is not None and self.high is not None:
            words = f"{self.low:g} to {self.high:g}"
        elif self.low is not None or self.high is not None:
            words = f">= {self.low:g}" if self.high is None else f"<= {self.high:g}"
        words = f"aim {words}" if self.aim else f"{words} ({self.of})" if self.of and words else words
        reaches = "" if self.reaches is None else f"reaches {self.reaches:g}"
        return ", ".join(filter(None, (words, reaches, "" if self.holds is None else f"interval holds {self.holds:g}")))

    def met(self, ratio: float, low: float | None = None, high: float | None = None) -> bool | None:
        """Whether the ratio or its interval lies there; None: no goal. Without an interval the ratio is it."""
        if self.aim or not self.words:
            return None
        lower, upper = ratio if low is None else low, ratio if high is None else high
        least, most = {"": (ratio, ratio), "interval": (lower, upper), "upper end": (upper, upper)}[self.of]
        return (
            (self.low is None or least >= self.low)
            and (self.high is None or most <= self.high)
            and (self.reaches is None or lower <= self.reaches)
            and (self.holds is None or lower <= self.holds <= upper)
        )


SHOWN = Goal()
HOLDS_ONE = Goal(holds=1.0)
AIM = Goal(1.8, aim=True)
NO_SLOWER = Goal(1.0, aim=True)


class Row(NamedTuple):
    """One ratio: of the time of the best of `theirs` over that of `ours`, or with `inverse` the other way round."""

    what: str
    ranks: int
    size_bytes: int
    ours: tuple[str, ...]  # rivals as tests/ranks/rivals.py names them
    theirs: tuple[str, ...]
    goals: dict[str, Goal]  # MPI -> goal
    inverse: bool = False
    definition: str = "max"  # or osu


class PeerRow(NamedTuple):
    """One ratio: ours over theirs, of one size in the launches of `ratio_peers`."""

    what: str
    ranks: int
    size_bytes: int
    goal: Goal


class LabRow(NamedTuple):
    """One ratio on virtual hosts: a share of a limit, or with `rival` its time over that of `algorithm`, or inverse."""

    what: str
    algorithm: str
    goals: dict[str, Goal]
    share: str = "of_limit"  # or of_own_limit: columns of summary.csv
    rival: str = ""
    inverse: bool = False


class Series(NamedTuple):
    """Rows of several sizes."""

    what: str
    rows: tuple[Row, ...]

    @property
    def together(self) -> tuple[str, str]:
        """The ratios that its rows make together."""
        return f"{self.what}, geometric mean of sizes", f"{self.what}, worst size"


def everywhere(goal: Goal, intel: Goal | None = None) -> dict[str, Goal]:
    """The same goal on each MPI, but perhaps on Intel MPI."""
    return {OPEN_MPI: goal, MPICH: goal, INTEL: goal if intel is None else intel}


def ways(algorithms: tuple[str, ...], executors: tuple[str, ...], size_bytes: int) -> tuple[str, ...]:
    """The algorithms by each of the executors; pipelined ones at CUTS below the vector's length, else at a quarter."""
    found: list[str] = []
    for name in algorithms:
        for executor in executors:
            if "pipelined" not in executor:
                found.append(f"{name}/{executor}")
            else:
                cuts = [cut for cut in CUTS if cut < size_bytes] or [size_bytes // 4] * (size_bytes >= 256 * KIB)
                found += [f"{name}/{executor}/{cut // 4}/{window}" for cut in cuts for window in WINDOWS]
    return tuple(found)


def ours_at(size_bytes: int) -> tuple[str, ...]:
    """What of ours may be the fastest at a size, by every executor."""
    algorithms = ("ring",) if size_bytes > MIB else ("ring", "recursive_doubling")
    return ways(algorithms, PYTHON + COMPILED, size_bytes)


def best(ranks: int, size_bytes: int, size: str) -> Row:
    """The best of ours against default native."""
    is_demanded = ranks == 2 and size_bytes == 64 * KIB
    goals = everywhere(Goal(1.8), AIM) if is_demanded else everywhere(AIM)
    what = f"best of ours against native, {size}, {ranks} ranks"
    return Row(what, ranks, size_bytes, ours_at(size_bytes), ("native/native",), goals)


def against_told(ranks: int, size_bytes: int, size: str) -> Row:
    """The best of ours against the best algorithm that the library can be told to take."""
    what = f"best of ours against the best native:..., {size}, {ranks} ranks"
    return Row(what, ranks, size_bytes, ours_at(size_bytes), TOLD, everywhere(NO_SLOWER))


def rings(ranks: int, size_bytes: int, size: str) -> Row:
    """Our ring against the library's own, both called from compiled code."""
    goals = everywhere(Goal(high=1.05, of="upper end"))
    what, ours = f"ring against native:ring, {size}, {ranks} ranks", ways(("ring",), COMPILED, size_bytes)
    return Row(what, ranks, size_bytes, ours, ("native:ring/compiled",), goals, inverse=True)


def against_gloo(size_bytes: int, size: str) -> Row:
    """The best of ours against Gloo in the memory of one node."""
    goals = everywhere(Goal(4.0 if size_bytes <= MIB else 2.0))
    return Row(f"best of ours against Gloo, {size}, 4 ranks", 4, size_bytes, ours_at(size_bytes), ("gloo",), goals)


def against_peer(ranks: int, size_bytes: int, size: str) -> PeerRow:
    """Native of the compiled loop against the program of others."""
    goal = Goal(0.95, 1.05, "interval") if ranks == 2 else HOLDS_ONE
    return PeerRow(f"native of the compiled loop against {{peer}}, {size}, {ranks} ranks", ranks, size_bytes, goal)


LONG = [(size_bytes, size) for size, size_bytes in SIZES.items() if size_bytes >= 256 * KIB]
SMALL = {  # compiled?
    True: ("recursive_doubling/compiled", "recursive_doubling/compiled-pipelined/1/1"),
    False: ("recursive_doubling/sendrecv", "recursive_doubling/pipelined/1/1"),
}
SERIES = tuple(  # rows of several sizes, which have a mean and a worst one together
    Series(
        f"{what}, 4 KiB to 16 MiB, {ranks} ranks",
        tuple(row(ranks, size_bytes, size) for size, size_bytes in SIZES.items()),
    )
    for what, row in (("best of ours against native", best), ("best of ours against the best native:...", against_told))
    for ranks in (2, 4)
)
PEER_ROWS = tuple(against_peer(ranks, size_bytes, size) for ranks in (2, 4) for size, size_bytes in PEER_SIZES.items())
ROWS = (
    Row(
        "recursive doubling, compiled, against OSU's C loop, 4 B, 2 ranks",
        2,
        4,
        SMALL[True],
        ("osu_loop",),
        {OPEN_MPI: Goal(high=1.05, of="upper end", reaches=1.0), MPICH: SHOWN, INTEL: SHOWN},
        inverse=True,
        definition="osu",
    ),
    Row(
        "recursive doubling against native, both compiled, 4 B, 2 ranks",
        2,
        4,
        SMALL[True],
        ("native/compiled",),
        {OPEN_MPI: Goal(high=1.05), MPICH: Goal(high=1.8), INTEL: SHOWN},
        inverse=True,
    ),
    Row(
        "recursive doubling, compiled, against a C loop of MPI_Sendrecv, 4 B, 2 ranks",
        2,
        4,
        SMALL[True][:1],
        ("pair_loop",),
        everywhere(Goal(high=1.15)),
        inverse=True,
        definition="osu",
    ),
    Row(
        "recursive doubling against native, both from Python, 4 B, 2 ranks",
        2,
        4,
        SMALL[False],
        ("native/native",),
        {OPEN_MPI: Goal(high=1.5), MPICH: Goal(high=1.7), INTEL: SHOWN},
        inverse=True,
    ),
    *(
        Row(
            f"prepared ring against a plain mpi4py loop, {size}, {ranks} ranks",
            ranks,
            size_bytes,
            ("ring/sendrecv",),
            ("plain_ring",),
            everywhere(Goal(high=1.05, of="upper end")),
            inverse=True,
        )
        for ranks, size_bytes, size in ((2, 4, "4 B"), (2, 16 * MIB, "16 MiB"), (4, 16 * MIB, "16 MiB"))
    ),
    *(rings(ranks, *row) for ranks in (2, 4) for row in LONG),
    *(
        against_gloo(size_bytes, size)
        for size, size_bytes in {"4 B": 4, **SIZES}.items()
        if size not in ("256 KiB", "4 MiB")
    ),
)
LAB = "4 virtual hosts, 100 Mbit/s, 8 MiB"
LAB_ROWS = (
    LabRow(f"ring, share of the wire's limit, {LAB}", "ring", {MPICH: Goal(0.97), OPEN_MPI: Goal(0.95), INTEL: SHOWN}),
    LabRow(f"two_tree, share of its own limit, {LAB}", "two_tree", everywhere(Goal(0.92), SHOWN), share="of_own_limit"),
    LabRow(f"ring against native, {LAB}", "ring", everywhere(Goal(1.8), SHOWN), rival="native"),
    LabRow(
        f"ring's time over Gloo's, {LAB}",
        "ring",
        everywhere(Goal(high=1.05, of="upper end")),
        rival="gloo",
        inverse=True,
    ),
)
