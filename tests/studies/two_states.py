"""How often are launches said to be on two levels, or one to be apart, that are not, and how often if they are?

On one level: sets of series with heavy tails, by the family of the tail, the number of launches, and how much of the
noise all sizes of a launch share; and real series of Fugaku, cut into blocks of calls that stand for launches. On two:
by the gap, the launches and how many of them are slow. And the verdict on both sets of logs that are known to have two
levels, and one launch apart. Exit status 1 where the verdict on a log is not the known one, or more than a share
ALLOWED of moderately noisy sets (10 % for each size, 5 % shared) is said to be on two levels.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from places import DATA

from allreduce_bench.evaluation.launch_states import find_states

ALLOWED = 0.02
LOGS = {"gke": "levels", "compute_engine": "apart"}  # what is known of them
SIZES = 8.0 * 2.0 ** np.arange(20)
LOW_S = 1e-5 + SIZES * 1e-9
SERIES = 3  # of a set: as of three algorithms in the same launches
FAMILIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {  # of logarithms of times
    "normal": lambda random, shape: random.normal(size=shape),
    "Student's t, 3 degrees": lambda random, shape: random.standard_t(3, shape),
    "exponential": lambda random, shape: random.exponential(size=shape),
    "lognormal": lambda random, shape: random.lognormal(size=shape),
}
MODERATE = (0.05, 0.1)
NOISES = ((0.0, 0.3), MODERATE, (0.3, 0.1), (0.3, 0.01))  # shared by the sizes, and each one's own
LAUNCHES = (4, 5, 7, 10)
GAPS = (1.3, 1.5, 2.0, 3.0, 10.0)
SPREAD = 0.05  # standard deviation of the logarithms of launches on one level: half shared by the sizes, half their own


def medians_of(series: Sequence[np.ndarray]) -> dict[tuple[Hashable, int], dict[str, float]]:
    """Return the cells of series, float64 [launch, size], as `find_states` takes them; NaN: not measured."""
    return {
        ((number,), size): {f"2r-{launch}": float(time_s) for launch, time_s in enumerate(times_s) if time_s == time_s}
        for number, of_series in enumerate(series)
        for size, times_s in enumerate(of_series.T)
    }


def said_of(series: Sequence[np.ndarray]) -> str:
    """`levels` if some series is said to be on two, else `apart`, else nothing."""
    found = {"apart" if states.apart else "levels" for states in find_states(medians_of(series)).values()}
    return max(found, default="")


def of_one_level(family: str, launches: int, shared: float, own: float, random: np.random.Generator) -> list:
    """Series whose logarithms are size + launch + rest, the latter two of one family and scaled so."""
    draw = FAMILIES[family]
    launch = shared * draw(random, (launches, 1))
    rest = (own * draw(random, (launches, len(SIZES))) for _ in range(SERIES))
    return [LOW_S * np.exp(np.clip(launch + of_series, -50, 50)) for of_series in rest]


def made_of_two_levels(launches: int, slow: int, seed: int, gap: float = 3.0) -> np.ndarray:
    """Float64 [launch, size], seconds: the first `slow` launches take `gap` as long in the upper half of the sizes."""
    random, half = np.random.default_rng(seed), len(SIZES) // 2
    noise = SPREAD / np.sqrt(2) * (random.normal(size=(launches, 1)) + random.normal(size=(launches, len(SIZES))))
    times_s = np.tile(LOW_S, (launches, 1))
    times_s[:slow, half:] *= gap
    return times_s * np.exp(noise)


def series_of_logs(cloud: str) -> tuple[list[int], np.ndarray]:
    """Sizes in bytes and float64 [launch, size], seconds: of the five launches of a cloud's logs in tests/data."""
    texts = [path.read_text() for path in sorted((DATA / "logs_two_states").glob(f"{cloud}*.out"))]
    launches = [text for of_file in texts for text in of_file.split("FLUX-RUN START") if "OSU MPI" in text]
    rows = [re.findall(r"^(\d+) +([\d.]+)$", text, re.MULTILINE) for text in launches]
    return [int(size) for size, _ in rows[0]], np.array([[float(time) * 1e-6 for _, time in of] for of in rows])


def series_of_fugaku(launches: int) -> list[np.ndarray]:
    """Each algorithm and allocation: float64 [block of calls, size], seconds."""
    cells_of: dict[tuple[str, str], dict[int, np.ndarray]] = defaultdict(dict)
    for line in (DATA / "pico_fugaku_blocks.txt").read_text().splitlines():
        if not line.startswith("#"):
            allocation, _, name, *times = line.split()
            count, algorithm = name.split("_", 1)
            cells_of[allocation, algorithm][int(count)] = np.array(times, float) * 1e-9
    return [np.column_stack([cells[count][:launches] for count in sorted(cells)]) for cells in cells_of.values()]


def shares_text(said: Sequence[str]) -> str:
    """`levels 0.010, apart 0.200`."""
    return ", ".join(f"{kind} {said.count(kind) / len(said):.3f}" for kind in ("levels", "apart"))


def print_noise(sets: int) -> bool:
    """Whether moderate noise is said to be two levels in at most ALLOWED of the sets."""
    kept = True
    print(f"share of {sets} sets of {SERIES} series of {len(SIZES)} sizes, all on one level, that are said to be other")
    for family in FAMILIES:
        for shared, own in NOISES:
            for launches in LAUNCHES:
                random = np.random.default_rng(1)
                said = [said_of(of_one_level(family, launches, shared, own, random)) for _ in range(sets)]
                is_moderate = family == "normal" and (shared, own) == MODERATE
                kept &= not is_moderate or said.count("levels") <= ALLOWED * sets
                print(f"{f'{family}; {shared:g}, {own:g}; {launches} launches':<50}{shares_text(said)}", flush=True)
    for launches in (5, 10):
        said = [said_of([times_s]) for times_s in series_of_fugaku(launches)]
        print(f"{f'Fugaku, {launches} blocks of 9 calls':<50}{shares_text(said)}", flush=True)
    return kept


def print_levels(sets: int) -> None:
    print(f"\nshare of {sets} series on two levels, {SPREAD:.0%} of spread on each, that are said to be so, by the gap")
    print(f"{'slow launches':<20}" + "".join(f"{gap:>30g}" for gap in GAPS))
    for launches in LAUNCHES:
        for slow in sorted({1, 2, launches // 2, launches - 1}):
            said = ([said_of([made_of_two_levels(launches, slow, seed, gap)]) for seed in range(sets)] for gap in GAPS)
            print(f"{f'{slow} of {launches}':<20}" + "".join(map(str.rjust, map(shares_text, said), [30] * 5)))


def main() -> None:
    """Print all figures; exit status 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=400, help="of each figure [400]")
    options = parser.parse_args()
    kept = print_noise(options.sets)
    print_levels(min(options.sets, 200))
    for cloud, known in LOGS.items():
        said = said_of([series_of_logs(cloud)[1]])
        print(f"{cloud}: {said}")
        kept &= said == known
    if not kept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
