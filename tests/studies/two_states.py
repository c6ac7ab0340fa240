"""How often are launches said to be in two states that are in one, and how often is it found where they are in two?

False alarms: sets of series that have one mode and heavy tails, by the family of the tail, the number of launches, and
how much of the noise all sizes of a launch share; and real series of LUMI and Fugaku, cut into blocks of calls that
stand for launches. Some of these are on two levels, as all their calls show without any test: they are counted apart,
since to say so is no false alarm. Members that change: as many launches are slow at each size, but drawn anew, which is
no state. Hits: by the gap, the launches and how many of them are slow; and one launch that takes one time at nine
sizes, by the spread of the others. And the verdict on both sets of logs that are known to have two states. Where
nothing is said, the 95 % upper limit stands. Exit status 1 where a rate of false alarms is above ALARM, or of members
that change above COINCIDENCE, by more than chance explains, or a verdict on the logs is not the known one.
"""

import argparse
import re
from collections import defaultdict

import numpy as np
from places import DATA

from allreduce_bench.evaluation.launch_states import (
    ALARM,
    COINCIDENCE,
    CONSTANT_DELAY,
    CONSTANT_RATIO,
    CONSTANT_TIME,
    FAMILIES,
    TwoStates,
    two_states,
)

GAP_KINDS = (CONSTANT_TIME, CONSTANT_DELAY, CONSTANT_RATIO)
STATES = {"gke": "3 of 5", "compute_engine": "4 of 5"}  # logs of two states: how often the slow one was met
SIZES = 8.0 * 2.0 ** np.arange(20)
LOW_S = 1e-5 + SIZES * 1e-9
SERIES = 3  # of a set: as of three algorithms in the same launches
NOISES = ((0.0, 0.3), (0.1, 0.1), (0.3, 0.1), (0.3, 0.01), (1.0, 0.001))  # shared by the sizes, and each one's own
LAUNCHES = (5, 7, 10)
GAPS = (1.3, 1.5, 2.0, 3.0, 10.0)
SPREAD = 0.05  # standard deviation of the logarithms of launches in one state: half shared by the sizes, half their own


def set_of_one_state(
    family: str, launches: int, shared: float, own: float, random: np.random.Generator
) -> list[np.ndarray]:
    """Series whose logarithms are size + launch + rest, the latter two of one family and scaled so."""
    draw = FAMILIES[family]
    launch = shared * draw(random, (launches, 1))
    rest = (own * draw(random, (launches, len(SIZES))) for _ in range(SERIES))
    return [LOW_S * np.exp(np.clip(launch + of_series, -50, 50)) for of_series in rest]


def false_alarms(family: str, launches: int, shared: float, own: float, sets: int, seed: int) -> int:
    """How many of `sets` are said to have two states."""
    random = np.random.default_rng(seed)
    return sum(is_alarm(set_of_one_state(family, launches, shared, own, random)) for _ in range(sets))


def is_alarm(series: list[np.ndarray]) -> bool:
    """Whether some series is said to be in two states."""
    return any(isinstance(found, TwoStates) for found in two_states(series))


def made_of_two_states(kind: str, launches: int, slow: int, spread: float, seed: int, gap: float = 3.0) -> np.ndarray:
    """Float64 [launch, size], seconds: the first `slow` launches are slow in the upper half of the sizes.

    There they take as `kind` says: `gap` times as long, all as long as so at the largest size, or longer by `gap` times
    the time of the median size.
    """
    random, half = np.random.default_rng(seed), len(SIZES) // 2
    noise = spread / np.sqrt(2) * (random.normal(size=(launches, 1)) + random.normal(size=(launches, len(SIZES))))
    low_s = LOW_S[half:]
    high_s = {
        CONSTANT_TIME: np.full(half, gap * low_s[-1]),
        CONSTANT_DELAY: low_s + gap * np.median(low_s),
        CONSTANT_RATIO: gap * low_s,
    }[kind]
    times_s = np.tile(LOW_S, (launches, 1))
    times_s[:slow, half:] = high_s
    return times_s * np.exp(noise)


def series_of_logs(cloud: str) -> tuple[list[int], np.ndarray]:
    """Sizes in bytes and float64 [launch, size], seconds: of the five launches of a cloud's logs in tests/data."""
    texts = [path.read_text() for path in sorted((DATA / "logs_two_states").glob(f"{cloud}*.out"))]
    launches = [text for of_file in texts for text in of_file.split("FLUX-RUN START") if "OSU MPI" in text]
    rows = [re.findall(r"^(\d+) +([\d.]+)$", text, re.MULTILINE) for text in launches]
    return [int(size) for size, _ in rows[0]], np.array([[float(time) * 1e-6 for _, time in of] for of in rows])


def is_on_one_level(times_s: np.ndarray) -> bool:
    """Whether below a tenth of the calls, or of the blocks, of a series take twice as long as its first quartile."""
    return float(np.mean(times_s > 2 * np.percentile(times_s, 25))) < 0.1


def series_of_lumi(calls: int, launches: int) -> list[tuple[np.ndarray, bool]]:
    """Every stretch of so many calls of every series, cut into blocks: float64 [block, 1], seconds; if on one level."""
    stretches = []
    for line in (DATA / "pico_lumi_series.txt").read_text().splitlines():
        if not line.startswith("#"):
            times_s = np.array(line.split()[3:], float) * 1e-9
            for first in range(0, len(times_s) - calls + 1, calls):
                blocks = times_s[first : first + calls].reshape(launches, -1)
                stretches.append((np.median(blocks, axis=1)[:, None], is_on_one_level(times_s)))
    return stretches


def series_of_fugaku(launches: int) -> list[tuple[np.ndarray, bool]]:
    """Each algorithm and allocation: float64 [block of calls, size], seconds; whether all sizes are on one level."""
    cells_of: dict[tuple[str, str], dict[int, np.ndarray]] = defaultdict(dict)
    for line in (DATA / "pico_fugaku_blocks.txt").read_text().splitlines():
        if not line.startswith("#"):
            allocation, _, name, *times = line.split()
            count, algorithm = name.split("_", 1)
            cells_of[allocation, algorithm][int(count)] = np.array(times, float) * 1e-9
    return [
        (
            np.column_stack([cells[count][:launches] for count in sorted(cells)]),
            all(map(is_on_one_level, cells.values())),
        )
        for cells in cells_of.values()
    ]


def print_alarms(sets: int) -> bool:
    """Whether no rate is above ALARM by more than chance explains (three standard errors)."""
    kept, most = True, sets * ALARM + 3 * (sets * ALARM) ** 0.5
    print(f"share of {sets} sets of {SERIES} series of {len(SIZES)} sizes, all in one state, said to be in two")
    print(f"{'tail; noise shared, own':<40}" + "".join(f"{f'{launches} launches':>14}" for launches in LAUNCHES))
    for family in FAMILIES:
        for shared, own in NOISES:
            alarms = [false_alarms(family, launches, shared, own, sets, seed=1) for launches in LAUNCHES]
            kept &= max(alarms) <= most
            shares = "".join(f"{share_text(number, sets):>14}" for number in alarms)
            print(f"{f'{family}; {shared:g}, {own:g}':<40}{shares}", flush=True)
    for label, series in {
        "LUMI, 5 blocks of 400 calls": series_of_lumi(2000, 5),
        "LUMI, 10 blocks of 200 calls": series_of_lumi(2000, 10),
        "LUMI, 5 blocks of 20 calls": series_of_lumi(100, 5),
        "LUMI, 10 blocks of 10 calls": series_of_lumi(100, 10),
        "Fugaku, 5 blocks of 9 calls": series_of_fugaku(5),
        "Fugaku, 10 blocks of 9 calls": series_of_fugaku(10),
    }.items():
        alarms = [is_alarm([times_s]) for times_s, one_level in series if one_level]
        hits = [is_alarm([times_s]) for times_s, one_level in series if not one_level]
        kept &= sum(alarms) <= ALARM * len(alarms)
        limit = "" if sum(alarms) else f" ({share_text(0, len(alarms))})"
        print(
            f"{label}: {sum(alarms)} of {len(alarms)}{limit} on one level, {sum(hits)} of {len(hits)} on two",
            flush=True,
        )
    return kept


def share_text(number: int, of: int) -> str:
    """`0.0150`; of none its 95 % upper limit, `<0.0149`."""
    return f"{number / of:.4f}" if number else f"<{1 - 0.05 ** (1 / of):.4f}"


def of_changing_members(launches: int, slow: int, seed: int, gap: float = 3.0) -> np.ndarray:
    """Float64 [launch, size], seconds: at each size other launches take `gap` times as long."""
    random = np.random.default_rng(seed)
    times_s = LOW_S * np.exp(SPREAD * random.normal(size=(launches, len(SIZES))))
    for size in range(len(SIZES)):
        times_s[random.permutation(launches)[:slow], size] *= gap
    return times_s


def of_one_time(launches: int, spread: float, seed: int) -> np.ndarray:
    """The same with one launch that takes 9.75 ms at nine sizes, over which the others grow fivefold."""
    random = np.random.default_rng(seed)
    times_s = np.geomspace(4e-4, 2e-3, 9) * np.exp(spread * random.normal(size=(launches, 9)))
    times_s[0] = 9.75e-3 * np.exp(0.005 * random.normal(size=9))
    return times_s


def print_changing(sets: int) -> bool:
    """Whether members that change are said to be a state no more often than COINCIDENCE."""
    kept, most = True, sets * COINCIDENCE + 3 * (sets * COINCIDENCE) ** 0.5
    print(f"\nshare of {sets} series in which other launches are slow at each size, that are said to be in two states")
    for launches in LAUNCHES:
        for slow in (1, launches // 2):
            alarms = sum(is_alarm([of_changing_members(launches, slow, seed)]) for seed in range(sets))
            kept &= alarms <= most
            print(f"{f'{slow} of {launches}':<40}{share_text(alarms, sets):>14}", flush=True)
    return kept


def print_hits(sets: int) -> None:
    print(f"\nshare of {sets} series of two states, {SPREAD:.0%} of spread within each, that are found, by the gap")
    print(f"{'slow launches':<40}" + "".join(f"{gap:>8g}" for gap in GAPS))
    for launches in LAUNCHES:
        for slow in sorted({1, 2, launches // 2, launches - 1}):
            shares = [
                sum(
                    is_alarm([made_of_two_states(CONSTANT_RATIO, launches, slow, SPREAD, seed, gap)])
                    for seed in range(sets)
                )
                / sets
                for gap in GAPS
            ]
            print(f"{f'{slow} of {launches}':<40}" + "".join(f"{share:8.3f}" for share in shares), flush=True)
    spreads = (0.02, 0.1, 0.3)
    shown = ", ".join(f"{spread:.0%}" for spread in spreads)
    print(f"\none launch of five that takes one time at nine sizes, by the spread of the others: {shown}")
    found = (sum(is_alarm([of_one_time(5, spread, seed)]) for seed in range(sets)) / sets for spread in spreads)
    print("".join(f"{share:8.3f}" for share in found))
    print(f"\nkind of the gap that is named where it is 3 at first, {SPREAD:.0%} of spread, 2 of 5 launches slow")
    for kind in GAP_KINDS:
        found = [two_states([made_of_two_states(kind, 5, 2, SPREAD, seed)])[0] for seed in range(sets)]
        named = [each.gap for each in found if isinstance(each, TwoStates)]
        print(f"{kind}: " + ", ".join(f"{name} {named.count(name) / sets:.1%}" for name in sorted(set(named))))


def print_logs() -> bool:
    """Whether the verdict on each is the known one."""
    kept = True
    print()
    for cloud, slow in STATES.items():
        sizes, times_s = series_of_logs(cloud)
        (found,) = two_states([times_s])
        if not isinstance(found, TwoStates):
            print(f"{cloud}: {found}")
            kept = False
            continue
        at = np.flatnonzero(found.differs)
        met = {f"{number} of {len(times_s)}" for number in found.slow[:, at].sum(axis=0)}
        kept &= met == {slow} and found.gap == CONSTANT_TIME
        print(
            f"{cloud}: two states at {sizes[at[0]]} to {sizes[at[-1]]} bytes, {len(at)} sizes: slow {', '.join(met)}; "
            f"{found.low_s[at].min() * 1e3:.2f} to {found.low_s[at].max() * 1e3:.2f} ms and "
            f"{found.high_s[at].min() * 1e3:.2f} to {found.high_s[at].max() * 1e3:.2f} ms; {found.gap}"
        )
    return kept


def main() -> None:
    """Print all figures; exit status 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="of each figure [1000]")
    options = parser.parse_args()
    kept = print_alarms(options.sets)
    kept &= print_changing(min(options.sets, 200))
    print_hits(min(options.sets, 200))
    if not print_logs() or not kept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
