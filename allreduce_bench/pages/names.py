"""How ranks are called in pictures: as MPI does, or as articles about GPUs do."""

RANK_NAMES = {"rank": ("rank ", 0), "GPU-0": ("GPU-", 0), "GPU1": ("GPU", 1)}  # style -> (word, the first number)
STYLES = tuple(RANK_NAMES)


def rank_names(ranks: int, style: str = "rank") -> tuple[str, ...]:
    """`rank 0`, `rank 1`, …; `GPU-0`, …; or `GPU1`, …. Raises KeyError for a style that is not of STYLES."""
    before, first = RANK_NAMES[style]
    return tuple(f"{before}{rank + first}" for rank in range(ranks))


def short_names(ranks: int, style: str = "rank") -> tuple[str, ...]:
    """The same without the word `rank`: what fits into a node of a picture. Raises KeyError."""
    return tuple(name.removeprefix("rank ") for name in rank_names(ranks, style))
