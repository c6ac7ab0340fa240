"""When the times of a settled choice leave their own band. Pure: times in, yes or no out.

A rank's own time holds its waiting for ranks that come later. The last one to come waits for nobody: the least of the
times of one call over all ranks is free of that, and the ranks need to exchange it only once a window. Of a window of
short calls only the last ones are timed: to read a clock would be seen.
"""

import numpy as np

WINDOW, SHORT_WINDOW = 64, 16  # calls; the short one for calls of LONG_S, beside which an exchange costs nothing
TIMED = 16  # calls of a window: its last ones
LONG_S = 1e-3
FACTOR, MOST_FACTOR = 1.5, 4.0  # of the median, up or down: half the width of the band at least and at most
PATIENCE, MOST_PATIENCE = 2, 16  # windows in a row outside of it


class Band:
    """The band of one choice whose calls take about `call_s`; its first window says where the band lies.

    `patience`: after so many windows outside of the band the choice is to be tried anew.
    """

    def __init__(self, call_s: float, patience: int = PATIENCE):
        self.window = WINDOW if call_s < LONG_S else SHORT_WINDOW
        self.untimed = self.window - TIMED  # calls at the beginning of a window
        self.patience = patience
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
        low, typical, high = np.quantile(times, [0.25, 0.5, 0.75])
        if self.limits_s is None:
            spread = float(high / low) if low > 0 else 1.0
            factor = min(max(FACTOR, spread**2), MOST_FACTOR)
            self.limits_s = float(typical) / factor, float(typical) * factor
            return False
        is_inside = self.limits_s[0] <= typical <= self.limits_s[1]
        self._outside = 0 if is_inside else self._outside + 1
        return self._outside >= self.patience
