"""Where messages are drawn on their ways: where they hide the least of boxes and of each other."""

from collections.abc import Sequence

import numpy as np

from .moment import Spot, extent
from .scene import Scene, Way, along

SHARES = np.linspace(0.2, 0.8, 25)  # of a way
LIFTS = np.linspace(-2, 2, 9)  # up from the way, over the height of what is drawn
LIFT_COST, SHARE_COST = 0.1, 0.1  # of leaving the way, of leaving the wished share; hiding all of it costs 1


def clear_spots(scene: Scene, ways: Sequence[Way], wished: float) -> list[Spot]:
    """For each way the spot near the share `wished` of it where its message hides the least of boxes and messages."""
    half = scene.box[0] / 2, scene.box[1] / 2
    taken = [(*place, *half) for places in scene.places for place in places]
    left, right, bottom, top = scene.limits
    centre, room = np.array([left + right, bottom + top]) / 2, np.array([right - left, top - bottom])
    shares, lifts = (grid.ravel() for grid in np.meshgrid(SHARES, LIFTS))
    spots = []
    for way in ways:
        wide, high = extent(scene, way)
        middles = np.tile([along(scene, way, share) for share in SHARES], (len(LIFTS), 1))
        middles[:, 1] += lifts * high
        hidden = _hidden(middles, (wide / 2, high / 2), np.array(taken)) / (wide * high)
        outside = (np.abs(middles - centre) > (room - (wide, high)) / 2).any(axis=1)
        best = np.argmin(hidden + outside + LIFT_COST * np.abs(lifts) + SHARE_COST * np.abs(shares - wished))
        taken.append((*middles[best], wide / 2, high / 2))
        spots.append(Spot(float(shares[best]), float(lifts[best] * high)))
    return spots


def _hidden(middles: np.ndarray, half: tuple[float, float], taken: np.ndarray) -> np.ndarray:
    """The area that what stands at each of `middles` shares with all of `taken`: middles, half widths and heights."""
    first = np.maximum(middles[:, None] - half, taken[:, :2] - taken[:, 2:])
    last = np.minimum(middles[:, None] + half, taken[:, :2] + taken[:, 2:])
    return np.clip(last - first, 0, None).prod(axis=2).sum(axis=1)
