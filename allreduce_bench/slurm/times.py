"""Times as Slurm writes and reads them: 10:00, 2:03:04, 1-02:03:04."""

import re
from math import ceil

from ..units import parse_duration

LONGEST_LIMIT_S = 366 * 86400.0
FORMS = (
    r"(?P<m>\d+)(?::(?P<s>\d+))?",
    r"(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)",
    r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+)(?::(?P<s>\d+))?)?",
)
LENGTHS_S = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def seconds(text: str) -> float | None:
    """Parse a duration as Slurm prints it, or as sbatch takes it (30, 2-12); None for UNLIMITED and other words."""
    match = next(filter(None, (re.fullmatch(form, text.strip(), re.ASCII) for form in FORMS)), None)
    return (
        float(sum(LENGTHS_S[unit] * int(number or 0) for unit, number in match.groupdict().items())) if match else None
    )


def parse_limit(text: str) -> float:
    """Parse a time limit as sbatch takes it (30, 1:30:00, 2-12), or with units (90m, 2h); seconds, in whole minutes.

    Raises ValueError.
    """
    try:
        limit_s = seconds(text)
        limit_s = parse_duration(text) if limit_s is None else limit_s
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s <= LONGEST_LIMIT_S:
        raise ValueError(f"'{text}' is not a time limit; expected minutes, such as 30, or such as 1:30:00, 2-12 or 90m")
    return ceil(limit_s / 60) * 60.0


def duration(time_s: float) -> str:
    """Format a duration, the inverse of `seconds`: 1-02:03:04, 2:03:04 or 3:04."""
    minutes, rest = divmod(max(0, round(time_s)), 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days}-{hours:02}:{minutes % 60:02}:{rest:02}"
    return f"{hours}:{minutes % 60:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
