"""The band of a settled choice: quiet on noise, left within the stated calls."""

import numpy as np
import pytest

from allreduce_bench.programs.settling import MOST_BAND_FACTOR, TIMED_CALLS, WINDOWS, Band

WINDOW = WINDOWS[1][1]  # of short calls


def calls_until_left(band: Band, times) -> int | None:
    """The number of the call after which the band is left; None: never."""
    for number, time_s in enumerate(times, start=1):
        if (number - 1) % band.window < band.untimed:
            continue
        window = band.take(time_s)
        if window is not None and band.is_left(window):
            return number
    return None


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("at", [WINDOW, WINDOW + 1, 2 * WINDOW - 1, 5 * WINDOW + 20])
def test_a_change_is_noticed_within_the_stated_calls(factor, at):
    band = Band(3e-5)
    times = np.where(np.arange(at + 2 * band.most_calls) < at, 1e-5, factor * 1e-5)
    assert at < calls_until_left(band, times) <= at + band.most_calls


def test_noise_and_a_passing_disturbance_are_no_change():
    times = np.random.default_rng(1).lognormal(-11, 0.3, 40 * WINDOW)
    times[5 * WINDOW : 6 * WINDOW] *= 10
    assert calls_until_left(Band(3e-5), times) is None


def test_wide_times_have_a_wide_band_in_which_twice_the_time_is_outside():
    times = np.tile([0.7e-5, 1.3e-5], 3 * WINDOW)
    times[3 * WINDOW :] *= 0.95 * MOST_BAND_FACTOR
    assert calls_until_left(Band(3e-5), times) is None
    times[3 * WINDOW :] *= 2 / (0.95 * MOST_BAND_FACTOR)
    assert calls_until_left(Band(3e-5), times) == 5 * WINDOW


def test_long_calls_are_looked_at_sooner_and_a_trial_in_vain_makes_patient():
    assert Band(0.1).most_calls == 3 * TIMED_CALLS
    assert [Band(call_s).window for call_s in (9e-6, 9e-5, 9e-4, 9e-3)] == [1024, 256, 64, TIMED_CALLS]
    assert Band(3e-5, patience=8).most_calls == 9 * WINDOW
