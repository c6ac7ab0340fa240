"""Pictures of a run: they take frames and return Figures that belong to no window, or None: nothing to draw."""

from .fitted import fitted
from .looks import styles
from .scaling import over_ranks, some_sizes
from .sizes import FLOORS, bandwidth, latency, speedup
from .winners import choice_map, winner_map, winners

__all__ = [
    "FLOORS",
    "bandwidth",
    "choice_map",
    "fitted",
    "latency",
    "over_ranks",
    "some_sizes",
    "speedup",
    "styles",
    "winner_map",
    "winners",
]
