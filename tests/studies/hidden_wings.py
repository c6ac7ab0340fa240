"""Does the core work without each of the wings? Its tests, in a copy of the project without the wing's folders.

    python tests/studies/hidden_wings.py                    # all wings in turn; an hour each on two cores
    python tests/studies/hidden_wings.py lab pages          # these
    python tests/studies/hidden_wings.py pages --rooms models report

Test files that name the wing or one of its commands are left out, and counted. Prints a line a wing; exit status 1
where a test fails.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from places import wings

from allreduce_bench.cli import PLACES

PROJECT = Path(__file__).parents[2]
WINGS = wings()
# folders of tests that belong to no room
APART = ("browser", "cluster", "repository", "studies", "support", "ranks", "data")
KEPT_OUT = shutil.ignore_patterns(".git", ".venv*", ".axe", "__pycache__", ".*_cache", "results")


def core_rooms() -> list[str]:
    """Return the folders of tests of the core's rooms."""
    folders = sorted(path.name for path in (PROJECT / "tests").iterdir() if path.is_dir() and path.name[0] not in "._")
    return [name for name in folders if name not in (*WINGS, *APART)]


def copy_without(wing: str, place: Path) -> Path:
    """Return a copy of the project in `place` without the folders of a wing."""
    copy = place / "copy"
    shutil.copytree(PROJECT, copy, ignore=KEPT_OUT)
    shutil.rmtree(copy / "allreduce_bench" / wing)
    shutil.rmtree(copy / "tests" / wing, ignore_errors=True)
    return copy


def needs(wing: str, text: str) -> bool:
    """Return whether a test file names the wing or one of its commands."""
    return bool(re.search(rf"allreduce_bench[./]{wing}\b", text)) or any(
        re.search(rf"[\"' ]{command}[\"' ]", text) for command, place in PLACES.items() if place.startswith(f"{wing}.")
    )


def tested(wing: str, rooms: Sequence[str]) -> bool:
    """Run the core's tests without the wing, print what came of it, and return whether all passed."""
    with tempfile.TemporaryDirectory() as place:
        copy = copy_without(wing, Path(place))
        files = [path for room in rooms for path in sorted((copy / "tests" / room).rglob("test_*.py"))]
        chosen = [path for path in files if not needs(wing, path.read_text(encoding="utf-8"))]
        words = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--tb=line", *map(str, chosen)]
        environ = {**os.environ, "PYTHONPATH": str(copy)}
        done = subprocess.run(words, cwd=copy, env=environ, capture_output=True, text=True, check=False)
        last = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()[-200:]]
        print(f"without {wing}: {last[0]}; {len(files) - len(chosen)} of {len(files)} files need it", flush=True)
        for line in done.stdout.splitlines():
            if line.startswith(("FAILED", "ERROR")):
                print(f"    {line}", flush=True)
        return done.returncode == 0


def main() -> int:
    """Test the core without each wing; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wings", nargs="*", metavar="WING", help=f"of {', '.join(WINGS)} [default: all]")
    parser.add_argument(
        "--rooms", nargs="+", default=core_rooms(), metavar="ROOM", help="folders of tests [default: all]"
    )
    options = parser.parse_args()
    if unknown := set(options.wings) - set(WINGS):
        parser.error(f"unknown wing {', '.join(sorted(unknown))}; expected {', '.join(WINGS)}")
    return 0 if all([tested(wing, options.rooms) for wing in options.wings or WINGS]) else 1


if __name__ == "__main__":
    sys.exit(main())
