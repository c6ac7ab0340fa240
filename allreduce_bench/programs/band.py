"""When the times of a settled choice leave their own band. Pure: times in, yes or no out.

A rank's own time holds its waiting for ranks that come later. The last one to come waits for nobody: the least of the
times of one call over all ranks is free of that, and the ranks need to exchange it only once a window. Of a window of
short calls only the last ones are timed: to read a clock would be seen.
"""

import numpy as np

# Calls of a window, of calls shorter than so many seconds: looking costs them 1 %
WINDOWS = ((1e-5, 1024), (1e-4, 256), (1e-3, 64))
TIMED = 16  # calls of a window: its last ones; of longer calls all
# Of the median, up or down: half the width of the band at least and at most. Twice the time is always outside
FACTOR, MOST_FACTOR = 1.5, 1.8
PATIENCE, MOST_PATIENCE = 2, 16  # windows in a row outside of it


class Band:
    """The band of one choice whose calls take about `call_s`; its first window says where the band lies.

    `patience`: after so many windows outside of the band the choice is to be tried anew.
    """

    def __init__(self, call_s: float, patience: int = PATIENCE):
        self.window = next((calls for limit_s, calls in WINDOWS if call_s < limit_s), TIMED)
        self.untimed = self.window - TIMED  # calls at the beginning of a window
        self.patience = patience
        self.typical_s = call_s  # of the last window
        self.limits_s: tuple[float, float] | None = None  # seconds; None: the first window is not over
        self._taken: list[float] = []
        self._outside = 0  # windows in a row

    @property
    def most_calls(self) -> int:
        """Within so many calls after a change it is noticed: the window in which it happens may hide it."""
        return (self.patience + 1) * self.window

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a timed call on this rank, seconds; at the end of a window its times [call]."""
        self._taken.append(time_s)
        if len(self._taken) < TIMED:
            return None
        times, self._taken = np.array(self._taken), []
        return times

    def is_left(self, times: np.ndarray) -> bool:
        """Whether the choice is to be tried anew, by the least times over all ranks of a window, seconds [call]."""
        ordered = sorted(times.tolist())  # quicker than numpy for so few
        low, typical, high = (ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3))
        self.typical_s = typical
        if self.limits_s is None:
            spread = high / low if low > 0 else 1.0
            factor = min(max(FACTOR, spread**2), MOST_FACTOR)
            self.limits_s = typical / factor, typical * factor
            return False
        is_inside = self.limits_s[0] <= typical <= self.limits_s[1]
        self._outside = 0 if is_inside else self._outside + 1
        return self._outside >= self.patience
