"""The calls of a run as rows of text, for tests that look at single ones."""

from collections.abc import Iterator

from allreduce_bench.runs.folder import KEY, RunFolder


def calls_of(folder: RunFolder) -> Iterator[dict[str, str]]:
    """The columns of CALLS of each call of finished cells, with launch, attempt, ranks and the key of the cell."""
    for mark, blocks in folder.calls():
        of_cell = {name: mark[name] for name in ("launch", "attempt", "ranks", *KEY)}
        for block in blocks:
            yield from ({**of_cell, **dict(zip(block, fields))} for fields in zip(*block.values()))
