"""Units that people read and write: sizes in KiB/MiB/GiB (1024), durations, microseconds, GB/s (10^9)."""

import re
from collections.abc import Iterable
from math import floor, log10

SUFFIXES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MAX_RANKS = 1_000_000
LONGEST_S = 1e9  # 30 years
PER_INCH = {"mm": 25.4, "cm": 2.54, "in": 1.0}
WIDTHS = 40, 400  # mm: least and largest width of a figure on paper


def nearest(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Return `did you mean sum?` for the words of `known` most like `word`; empty if none or more than two are."""
    from difflib import SequenceMatcher  # late: only a mistake needs it

    likeness = {name: SequenceMatcher(None, _bare(word, prefix), _bare(name, prefix)).ratio() for name in known}
    most = max(likeness.values(), default=0.0)
    near = [name for name, ratio in likeness.items() if ratio == most > 0.65]
    return f"did you mean {' or '.join(near)}?" if 0 < len(near) <= 2 else ""


def _bare(word: str, prefix: str) -> str:
    return word[:80].lower().removeprefix(prefix)


def unknown_word(kind: str, word: str, known: Iterable[str], all_known: str = "") -> str:
    """Format `unknown op 'summ'; did you mean sum? known: sum, avg, …` for a `word` that is not in `known`.

    `all_known` says where all known words are shown; it replaces their list.
    """
    known = list(known)
    parts = [nearest(word, known), all_known or f"known: {', '.join(known)}"]
    return f"unknown {kind} '{escaped(word)}'; {' '.join(filter(None, parts))}"


def parse_size(text: str) -> int:
    """Parse `8`, `4K`, `16MiB`, `1.5G` to bytes. Raises ValueError."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size_bytes = float(match[1]) * SUFFIXES[match[2].upper()] if match else 0.5
    if size_bytes != int(size_bytes):
        raise ValueError(
            f"'{text}' is not a size; expected bytes with an optional K, M or G (1024), such as 8, 4K or 16M"
        )
    return int(size_bytes)


def short_size(size_bytes: int) -> str:
    """Format as `16M`, the inverse of `parse_size` for sizes of few digits."""
    shift = next(shift for shift in (30, 20, 10, 0) if size_bytes % (1 << shift) == 0)
    return f"{size_bytes >> shift}{dict(zip((30, 20, 10, 0), 'GMK '))[shift]}".strip()


def parse_duration(text: str) -> float:
    """Parse `90`, `90s`, `2m`, `2min`, `1h`, `1m30s`, `500ms` to seconds. Raises ValueError."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(us|ms|sec|s|min|m|h|)", text.strip())
    if not parts or "".join(a + b for a, b in parts) != re.sub(r"\s", "", text):
        raise ValueError(
            f"'{text}' is not a duration; expected seconds or a number with ms, s, m or h, such as 90s or 2m"
        )
    duration_s = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if duration_s > LONGEST_S:
        raise ValueError(f"'{text[:40]}' is longer than {LONGEST_S:.0e} s; expected such as 90s or 2h")
    return duration_s


def parse_width(text: str) -> float:
    """Parse the width of a figure on paper, `84mm`, `8.4cm`, `3.3in`, to inches. Raises ValueError."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,9})?)\s*(mm|cm|in)", text.strip(), re.IGNORECASE)
    width = float(match[1]) / PER_INCH[match[2].lower()] if match else 0.0
    low, high = WIDTHS
    if not low <= width * PER_INCH["mm"] <= high:
        raise ValueError(
            f"'{text[:40]}' is not a width of a figure; expected {low}mm to {high}mm, with its unit, such as 84mm, "
            "8.4cm or 3.3in"
        )
    return width


def parse_price(text: str) -> float:
    """Parse the price of a message or byte to seconds: `5us`, `0.08ns`, or `8e-11`. Raises ValueError, for 0 too."""
    match = re.fullmatch(
        r"(\d*\.?\d+(?:e[-+]?\d{1,3})?)\s*(ns|us|ms|s|)",
        text.strip().replace("µ", "u").replace("μ", "u"),
        re.IGNORECASE,
    )
    price = float(match[1]) * {"ns": 1e-9, **SECONDS}[match[2].lower()] if match else 0.0
    if not 0 < price < float("inf"):
        raise ValueError(f"'{text}' is not a price; expected seconds above 0, such as 5us, 0.08ns or 8e-11")
    return price


def parse_rate(text: str) -> float:
    """Parse `200Gbit`, `100mbit/s`, `12.5GB/s` to bytes/s: powers of 1000, as links are sold. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(bit|bps|B)(?:/s)?", text.strip(), re.IGNORECASE)
    if not match or float(match[1]) == 0:
        number = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])?", text.strip(), re.IGNORECASE)
        expected = "a value above 0 with its unit, such as 200Gbit, 100Mbit/s or 12.5GB/s"
        if number and float(number[1]) > 0:
            expected = " or ".join(f"{number[1]}{(number[2] or 'G').upper()}{unit}" for unit in ("bit", "B/s"))
        raise ValueError(f"'{text}' is not a rate; expected {expected}")
    in_bits = match[3] != "B"
    return float(match[1]) * 1000 ** ("KMGT".index(match[2].upper()) + 1) / (8 if in_bits else 1)


def parse_rates(text: str) -> tuple[float, ...]:
    """Parse `100mbit,50mbit` to bytes/s each. Raises ValueError."""
    return tuple(map(parse_rate, text.split(",")))


def parse_share(text: str, most: float = 1.0) -> float:
    """Parse `3%` or `0.03` to 0.03. Raises ValueError unless it lies between 0 and `most`, both excluded."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < share < most:
        raise ValueError(f"'{text}' is not a share; expected more than 0% and less than {most:.0%}, such as 3% or 0.03")
    return share


def parse_counts(text: str, counted: str = "rank") -> list[int]:
    """Parse `2,4,8`, `1-8` or `1-4,8` to ascending integers; `counted` names what they count. Raises ValueError."""
    counts: set[int] = set()
    named = 0
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word)
        if not match:
            raise ValueError(f"'{text}' is not a list of whole numbers; expected a list such as 4, 2,4,8 or 1-8")
        first, last = int(match[1]), int(match[2] or match[1])
        if first < 1:
            raise ValueError(f"'{text}': at least 1 {counted} is needed, found {first}")
        if last < first:
            raise ValueError(f"'{text}': the range {first}-{last} is empty; put the smaller number first")
        if last > MAX_RANKS:
            raise ValueError(f"'{text}': {last} is more than {MAX_RANKS}")
        named += last + 1 - first
        if named > MAX_RANKS:
            raise ValueError(f"'{text[:40]}...': names more than {MAX_RANKS} numbers")
        counts.update(range(first, last + 1))
    return sorted(counts)


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return first and last number of each run of consecutive ones: (0, 3) and (8, 8) for 0, 1, 2, 3, 8."""
    ends: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ends and number == ends[-1][1] + 1:
            ends[-1] = ends[-1][0], number
        else:
            ends.append((number, number))
    return ends


def format_ranges(numbers: Iterable[int]) -> str:
    """Format `0-3,8` for 0, 1, 2, 3, 8, as lists of cores and ranks are written."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans(numbers))


def in_ranks(counts: Iterable[int]) -> str:
    """Format `1 rank`, `2 ranks`, `2, 4, 8 ranks`."""
    ordered = sorted(set(counts))
    return ", ".join(map(str, ordered)) + (" rank" if ordered == [1] else " ranks")


def counted(number: int, noun: str) -> str:
    """Format `1 launch`, `2 launches`."""
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def format_size(size_bytes: float) -> str:
    """Format `128 KiB` for 131072: four significant digits; below 1 KiB bytes."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size_bytes >= factor:
            number = size_bytes / factor
            return f"{number:.0f} {unit}" if number >= 1000 else f"{number:.4g} {unit}"
    return f"{size_bytes:.0f} B"


def format_time(time_s: float) -> str:
    """Format a time with three digits and its unit: `9.80 us`, `2.15 ms`, `1.10 s`."""
    unit, factor = next((u, f) for u, f in (("us", 1e6), ("ms", 1e3), ("s", 1.0)) if time_s * f < 999.5 or u == "s")
    return f"{three_digits(time_s * factor)} {unit}"


def format_long_time(time_s: float) -> str:
    """Format a time that may be long: `1.20 ms`, `14.4 s`, `12.0 min`, `24.0 h`."""
    for unit, unit_s in (("h", 3600), ("min", 60)):
        if time_s >= unit_s:
            return f"{three_digits(time_s / unit_s)} {unit}"
    return format_time(time_s)


def format_duration(seconds: float) -> str:
    """Format `1:05` for 65 seconds."""
    minutes, rest_s = divmod(round(seconds), 60)
    return f"{minutes}:{rest_s:02d}"


def format_rate(bytes_per_s: float) -> str:
    """Format `200 Gbit/s` for 25e9 bytes/s."""
    bits = bytes_per_s * 8
    unit, factor = next((u, f) for u, f in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)) if bits >= f or f == 1e3)
    return f"{bits / factor:.4g} {unit}"


def format_bandwidth(bytes_per_s: float) -> str:
    """Format three significant digits: `12.4 MB/s` for 12.4e6 bytes/s."""
    units = {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1.0}
    unit = next((name for name, factor in units.items() if bytes_per_s >= 0.9995 * factor), "B/s")
    return f"{three_digits(bytes_per_s / units[unit])} {unit}"


def three_digits(value: float) -> str:
    """Format three significant digits without an exponent, whole above 100: `0.954`, `27.0`, `19598`."""
    return significant(value, 3)


def significant(value: float, digits: int) -> str:
    """Format so many significant digits without an exponent; whole if there are more before the point."""
    if value <= 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")  # first, since 9.996 rounds to one digit more before the point
    return f"{value:.{max(0, digits - 1 - floor(log10(rounded)))}f}"


def as_printed(time_s: float, digits: int = 3) -> float:
    """Return a time in microseconds as tables print it, in so many digits; seconds in.

    Ratios printed beside such times are made of them, so that dividing two printed times gives the printed ratio.
    """
    return float(significant(time_s * 1e6, digits))


def printable(text: str) -> str:
    """Return the text with a `?` for each letter that would begin a line in a file or steer a terminal."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def escaped(text: str) -> str:
    """Return the text with the escapes of Python for letters that are not printable, such as a line end."""
    return text if text.isprintable() else "".join(x if x.isprintable() else ascii(x)[1:-1] for x in text)


def shell_word(text: object) -> str:
    """Return a path or a value as one word of a command to be typed: quoted, and no option if it begins with a dash."""
    from shlex import quote  # late: no rank needs it

    word = str(text)
    return quote(f"./{word}" if word.startswith("-") else word)


def few(words: Iterable[object], most: int, comma: str = ", ", more: str = " and {more} more") -> str:
    """Join the first `most` words, and say how many were left out: `a, b and 12 more`; `more` says that."""
    every = list(map(str, words))
    return comma.join(every[:most]) + (more.format(more=len(every) - most) if len(every) > most else "")


def algbw(size_bytes: float, time_s: float) -> float:
    """Return the algorithm bandwidth in bytes/s: n/t (nccl-tests, PERFORMANCE.md)."""
    return size_bytes / time_s


def busbw(size_bytes: float, time_s: float, ranks: int) -> float:
    """Return the bus bandwidth in bytes/s: n/t * 2(p-1)/p (nccl-tests, PERFORMANCE.md)."""
    return size_bytes / time_s * 2 * (ranks - 1) / ranks
