"""The contrast of two colours, as people see it."""

from allreduce_bench.web.colours import luminance


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours `#rrggbb`, 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)
