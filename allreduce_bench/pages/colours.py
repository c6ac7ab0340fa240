"""The colours of blocks: the same in a page, a PNG and a GIF, on light and on dark paper."""

from colorsys import hls_to_rgb
from functools import cache

LUMINANCE = 0.165  # 4.8 against white letters on it, 3 and more against white paper and against near-black paper
SATURATION = 0.62


@cache
def colour_of(index: int, of: int) -> str:
    """`#1a6fb0`: the colour of block `index` of `of`; white letters on it have a contrast of more than 4.5.

    The hues go once round the circle. All colours are equally bright (relative luminance of WCAG 2.2), so that they
    stand out alike on light and on dark paper.
    """
    hue = (0.58 + index / max(of, 1)) % 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        is_dark = luminance(_hex(hue, middle)) < LUMINANCE
        low, high = (middle, high) if is_dark else (low, middle)
    return _hex(hue, low)


def luminance(colour: str) -> float:
    """The relative luminance of `#rrggbb`, 0 to 1 (WCAG 2.2, W3C 2023)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _hex(hue: float, lightness: float) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in hls_to_rgb(hue, lightness, SATURATION))
