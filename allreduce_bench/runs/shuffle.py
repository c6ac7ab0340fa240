"""The generator of numbers that orders the cells of a plan and draws random floats."""

import numpy as np


def splitmix64(start: int, places: np.ndarray) -> np.ndarray:
    """The numbers at `places`, int64, of the generator that begins at `start`: uint64 [place]."""
    bits = np.uint64(start) + (places + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
