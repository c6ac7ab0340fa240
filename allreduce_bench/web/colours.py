"""How light a colour looks: contrast on light and on dark paper is measured by it (WCAG 2.2, W3C 2023)."""


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, 0 to 1."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
