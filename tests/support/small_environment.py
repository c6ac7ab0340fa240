"""A folder that looks like a Python environment."""

import sys
from pathlib import Path

from allreduce_bench.launching.staging import PACKAGE, PackedEnvironment

SITE = Path("lib/site-packages")


def small_environment(folder: Path) -> PackedEnvironment:
    """A folder that looks like an environment into which this package was installed editable."""
    site = folder / SITE
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (site / "numpy-1.0.dist-info").mkdir(parents=True)
    (site / "numpy.py").write_text("found = True\n")
    (site / PACKAGE.name).mkdir()
    (site / PACKAGE.name / "old.py").write_text("an installed copy that nobody uses\n")
    (site / f"__editable__.{PACKAGE.name}-0.1.0.pth").write_text(str(PACKAGE.parent))
    (site / "easy-install.pth").write_text(f"/elsewhere/mine\n{PACKAGE.parent}\n")
    return PackedEnvironment(folder, Path("bin/python"), SITE / PACKAGE.name)
