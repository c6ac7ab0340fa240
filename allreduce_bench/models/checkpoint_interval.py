"""How often to write a checkpoint, from what one costs and how often something fails."""

from math import sqrt


def young_s(save_s: float, mean_time_to_failure_s: float) -> float:
    """Return the seconds between two checkpoints, to first order (Young, Commun. ACM 17(9), 1974)."""
    return sqrt(2 * save_s * mean_time_to_failure_s)


def daly_s(save_s: float, mean_time_to_failure_s: float) -> float:
    """Return the same for any ratio of the two times (Daly, Future Gener. Comput. Syst. 22(3), 2006, equation 37)."""
    if save_s >= 2 * mean_time_to_failure_s:
        return mean_time_to_failure_s
    ratio = save_s / (2 * mean_time_to_failure_s)
    return young_s(save_s, mean_time_to_failure_s) * (1 + sqrt(ratio) / 3 + ratio / 9) - save_s


def share_lost(interval_s: float, save_s: float, recovery_s: float, mean_time_to_failure_s: float) -> float:
    """Return the share of time that checkpoints, repeated work and recoveries take, to first order; at most 1."""
    return min(1.0, save_s / (interval_s + save_s) + (interval_s / 2 + recovery_s) / mean_time_to_failure_s)
