"""How heavy is a page of `explain`, how soon is it there, and does it move smoothly? Frame times in Chromium.

python tests/studies/pages.py [--seconds 4]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from browser import program, running_browser
from browser_page import Page
from click.testing import CliRunner

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main as cli

MOST_NBYTES, MOST_PAINT_MS = 400_000, 1000
SLOW_MS = 50  # of a frame: a third of the rate that screens have


def told(page: Page, path: Path, seconds: float) -> tuple[float, list[float]]:
    """First paint and frame times (ms) of a page that plays."""
    paint_ms = page.open(path).first_paint_ms()
    page.click("#play")
    return paint_ms, sorted(page.frame_times_ms(seconds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each page plays")
    given = parser.parse_args()
    kept = True
    print("algorithm             ranks   bytes  first paint (ms)  frames: median   P95   longest (ms)")
    with tempfile.TemporaryDirectory() as folder, running_browser(program() or sys.exit("no browser")) as browser:
        page = Page(browser)
        for name in builtin():
            for ranks in (16, 32):
                path = Path(folder) / f"{name}{ranks}.html"
                CliRunner().invoke(cli, ["explain", name, "-n", str(ranks), "-o", str(path)], catch_exceptions=False)
                size_bytes = path.stat().st_size
                paint_ms, frames = told(page, path, given.seconds)
                median, late, longest = (frames[int(share * (len(frames) - 1))] for share in (0.5, 0.95, 1))
                print(
                    f"{name:<22}{ranks:>5}{size_bytes:>8}{paint_ms:>18.0f}{median:>16.1f}{late:>6.1f}{longest:>10.1f}"
                )
                kept &= (size_bytes <= MOST_NBYTES or ranks > 16) and paint_ms < MOST_PAINT_MS and median < SLOW_MS
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
