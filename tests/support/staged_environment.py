"""A small environment, unpacked as for ranks on a node."""

from pathlib import Path

from small_environment import small_environment

from allreduce_bench.launching.staging import Stage, archive_of


def staged(folder: Path, parent: Path) -> Stage:
    """A small environment in `folder`, unpacked below `parent`."""
    environment = small_environment(folder / "environment")
    return Stage(parent, archive_of(environment, folder / "store"), environment)
