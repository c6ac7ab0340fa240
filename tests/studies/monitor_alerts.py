"""How many alerts does a job without a slow rank give, and how soon is one found, where noise is not well behaved?

Made arrivals of steps of 1 s with 5 % of noise: correlated from step to step (0.3 to 0.95), with the tails of Student's
t of 3, of ranks that differ by 3 % for good, with stalls (a checkpoint of 5 s on rank 0 every 100 steps, a loader that
delays all ranks by 1 s every 50 steps, ranks that wait 3 s twice in 0.2 % of their steps), and of ranks that drift by
5 % each, within about 1000 steps. Printed are the alerts a day, slow ranks or two groups, with the limit that 95 of 100
such counts are below; and in how many jobs a rank that becomes 12 % slower after BEFORE steps is told within WATCHED.
The exit status is 1 where more than one alert a day is found. An hour of one core, most of it with 512 ranks.

python tests/studies/monitor_alerts.py [--days 3] [--ranks 8 64 512] [--jobs 20]
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from statistics import median

import numpy as np

from allreduce_bench.stragglers.step_alarm import RECOVERED, SLOW, Alert, StepAlarm

NOISE, SPIKES, SPIKE, SLOWER_BY = 0.05, 0.01, 2.0, 0.12
BEFORE, WATCHED, DAY, HOUR = 1000, 600, 86_400, 3600
DRIFT_STEPS = 1000


@dataclass
class Noise:
    """How the work of ranks varies."""

    lag: float = 0.6
    has_tails: bool = False
    unlike: float = 0.0
    stalls: bool = False
    drifts: float = 0.0

    def work(self, ranks: int, steps: int, seed: int) -> Iterator[np.ndarray]:
        """Float64 [step, rank], seconds, in parts of an hour or less."""
        random = np.random.default_rng(seed)
        state, drift = np.zeros(ranks), random.standard_normal(ranks)
        scale, keep = np.sqrt(1 - self.lag**2), np.exp(-1 / DRIFT_STEPS)
        offsets = np.exp(self.unlike * random.standard_normal(ranks))
        for first in range(0, steps, HOUR):
            shape = min(HOUR, steps - first), ranks
            fresh = random.standard_t(3, shape) / np.sqrt(3) if self.has_tails else random.standard_normal(shape)
            shares = np.empty(shape)
            for step, values in enumerate(scale * fresh):
                state = self.lag * state + values
                if self.drifts:
                    drift = keep * drift + np.sqrt(1 - keep**2) * random.standard_normal(ranks)
                shares[step] = 1 + NOISE * state + self.drifts * drift
            shares = np.maximum(shares, 0.1) * offsets
            shares[random.random(shape) < SPIKES] += SPIKE
            yield self._stalled(shares, random) if self.stalls else shares

    def _stalled(self, shares: np.ndarray, random: np.random.Generator) -> np.ndarray:
        begins = random.random(shares.shape) < 0.002
        shares[begins] += 3.0
        shares[1:][begins[:-1]] += 3.0
        shares[99::100, 0] += 5.0
        shares[49::50] += 1.0
        return shares


NOISES = {
    "lag 0.3": Noise(0.3),
    "lag 0.6": Noise(0.6),
    "lag 0.9": Noise(0.9),
    "lag 0.95": Noise(0.95),
    "heavy tails": Noise(has_tails=True),
    "unlike ranks": Noise(unlike=0.03),
    "stalls": Noise(stalls=True),
    "drift": Noise(drifts=0.05),
}


def alerts_of_day(noise: Noise, ranks: int, steps: int, seed: int) -> list[Alert]:
    """Of one job without a slow rank."""
    alarm = StepAlarm(ranks, range(ranks))
    parts = (alarm.update(work_s, work_s.max(axis=1)) for work_s in noise.work(ranks, steps, seed))
    return [alert for part in parts for alert in part if alert.kind != RECOVERED]


def steps_until_told(noise: Noise, ranks: int, seed: int) -> int | None:
    """Of a rank that becomes slower; None: it is not told."""
    work_s = np.concatenate([*noise.work(ranks, BEFORE + WATCHED, seed)])
    who = seed % ranks
    work_s[BEFORE:, who] *= 1 + SLOWER_BY
    alerts = StepAlarm(ranks, range(ranks)).update(work_s, work_s.max(axis=1))
    told = [alert.step - BEFORE for alert in alerts if (alert.kind, alert.rank) == (SLOW, who)]
    return next((steps for steps in told if steps > 0), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--days", type=float, default=3.0, help="of each noise and number of ranks")
    parser.add_argument("--jobs", type=int, default=20, help="with a rank that becomes slow")
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=[*NOISES])
    given = parser.parse_args()
    is_kept = True
    for ranks in given.ranks:
        for name in given.noises:
            days = [min(1.0, given.days - day) for day in range(int(np.ceil(given.days)))]
            alerts = [
                alert
                for seed, day in enumerate(days)
                for alert in alerts_of_day(NOISES[name], ranks, round(day * DAY), seed)
            ]
            waits = [steps_until_told(NOISES[name], ranks, 10_000 + seed) for seed in range(given.jobs)]
            found = [steps for steps in waits if steps is not None]
            limit = f" (95 % limit {-log(0.05) / given.days:.2g})" if not alerts else ""
            print(
                f"{ranks:>4} ranks, {name:<12}: {len(alerts) / given.days:.2g} alerts a day{limit} "
                f"of {given.days:g} days; "
                f"{SLOWER_BY:.0%} slower: told in {len(found)} of {given.jobs} jobs"
                + (f", after {median(found):.0f} steps" if found else ""),
                flush=True,
            )
            is_kept &= len(alerts) <= given.days
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
