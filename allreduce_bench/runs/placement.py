"""Where vectors lie, as `--placement` says it: at pages, where numpy puts them, or a number of bytes apart."""

from collections.abc import Sequence

from ..machine import PAGE_NBYTES
from .schema import NUMPY, PAGE

EXPECTED = f"expected page, numpy, or a difference in bytes below {PAGE_NBYTES}, such as 16"


def parse_placements(text: str) -> tuple[str, ...]:
    """The placements of `page,numpy,16`, each once. Raises ValueError for what is none."""
    words = [word.strip() for word in text.split(",")]
    if unknown := [word for word in words if word not in (PAGE, NUMPY) and not (word.isascii() and word.isdigit())]:
        raise ValueError(f"'{unknown[0]}' is no placement; {EXPECTED}")
    names = [word if word in (PAGE, NUMPY) else word.lstrip("0") or "0" for word in words]
    if too_far := [name for name in names if name.isdigit() and (len(name) > 4 or int(name) >= PAGE_NBYTES)]:
        raise ValueError(f"a difference of {too_far[0]} bytes is a page or more; {EXPECTED}")
    return tuple(dict.fromkeys(names))


def is_placement(word: str) -> bool:
    """Whether it is one, written as `parse_placements` gives it."""
    try:
        return parse_placements(word) == (word,)
    except ValueError:
        return False


def refuse_odd_differences(placements: Sequence[str], itemsize: int) -> None:
    """Raises ValueError for a difference at which elements of `itemsize` bytes would not be aligned."""
    if odd := [name for name in placements if name.isdigit() and int(name) % itemsize]:
        raise ValueError(
            f"--placement {odd[0]}: elements of {itemsize} bytes would not be aligned; use a multiple of {itemsize}"
        )
