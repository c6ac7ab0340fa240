"""Where a page stands, and which runs it is about.

A default name (`default_page`) never replaces a page about other runs. A page about one run is in its folder, one
about several runs in the working folder: beside the runs its folder of figures would be taken for one of them. Each
page names its runs in its head, by fingerprints of their run.json, which never changes.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from errno import EEXIST
from itertools import chain, count
from pathlib import Path

from ..runs.files import open_kept, read_kept
from ..runs.folder import RunFolder

HEAD_NBYTES = 1 << 16  # of a page: searched for its runs
NAMED_RUNS = re.compile(rb'<meta name="runs" content="([0-9a-f ]*)">')


def default_page(folders: Sequence[RunFolder]) -> Path:
    """Return the default path of the page about `folders`: `report.html`, or the first free `report-2.html`, ...

    It is in the folder of a single run, or in the working folder for several. A name is free if there is no file, or a
    page about the same runs; in the folder of a single run also if a file does not name its runs. Raises OSError: a
    run.json, or the file at such a name, cannot be read.
    """
    runs, place = fingerprints(folders), folders[0].path if len(folders) == 1 else Path()
    free = {None, runs, ""} if len(folders) == 1 else {None, runs}
    names = chain(["report.html"], (f"report-{number}.html" for number in count(2)))
    return next(place / name for name in names if _runs_of_page(place / name) in free)


def fingerprints(folders: Sequence[RunFolder]) -> str:
    """Return the fingerprints in the head of a page about `folders`: a word for each run, sorted. Raises OSError."""
    return " ".join(sorted(hashlib.sha256(read_kept(folder.run_json)).hexdigest()[:16] for folder in folders))


def _runs_of_page(path: Path) -> str | None:
    """Return the fingerprints that a page names, possibly none; None if there is no file. Raises OSError."""
    if not os.path.lexists(path):
        return None
    with open_kept(path) as file:
        named = NAMED_RUNS.search(file.read(HEAD_NBYTES))
    return named[1].decode() if named else ""


def refuse_no_folder(path: Path) -> None:
    """Raise OSError if `path` is a link, which could lead anywhere, or a file."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OSError(
            EEXIST, "no folder; the figures need a folder of this name, so name the page otherwise", str(path)
        )
