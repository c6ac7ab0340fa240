"""Do mpi4py's own tests pass on communicators that are wrapped, as they do on its own? On each interpreter given.

    mpi4py_tests.py [--ranks 1,2,3,4] [--sdist FILE] INTERPRETER…

Its source distribution of the installed version is downloaded by pip, unless it is named. One line for each interpreter
and number of ranks: tests, those that pass or are skipped without us, those with another outcome on wrapped
communicators, and the calls that our algorithms made there.
Exit status 1 where an outcome is another one.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from rank_programs import mpirun

VERSION = "from importlib.metadata import version; print(version('mpi4py'))"
MODULES = (
    *("test_cco_buf", "test_cco_vec", "test_cco_nb_buf", "test_cco_nb_vec", "test_cco_obj", "test_cco_pr_buf"),
    *("test_msgzero", "test_op", "test_p2p_buf", "test_attributes", "test_subclass", "test_pickle"),
)
LONGEST_S = 600


def downloaded(python: Path, place: Path) -> Path:
    """mpi4py's source distribution of the interpreter's version. Raises SystemExit: it cannot be had."""
    version = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True).stdout.strip()
    words = ["-m", "pip", "download", "--no-binary", "mpi4py", "--no-deps", "--dest", str(place), f"mpi4py=={version}"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if found := sorted(place.glob("mpi4py-*.tar.gz")):
        return found[-1]
    reason = (done.stderr.strip().splitlines() or ["nothing was downloaded"])[-1]
    sys.exit(f"mpi4py {version}: its source distribution cannot be had ({reason}); name one with --sdist")


def folder_of_tests(sdist: Path, place: Path) -> Path:
    """`test` of a source distribution, unpacked."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    return next(place.glob("mpi4py-*/test"))


def outcomes(python: Path, ranks: int, folder: Path, how: str) -> dict:
    """What the ranks found: see tests/ranks/mpi4py_own_tests.py. Raises SystemExit where they failed."""
    options = str(folder), how, *MODULES
    status, words = mpirun(python, ranks, "mpi4py_own_tests.py", *options, timeout_s=LONGEST_S)
    lines = [line for line in words.splitlines() if line.startswith('{"tests"')]
    if status or not lines:
        sys.exit(f"{how} communicators, {ranks} ranks: ended with status {status}: {words[-2000:]}")
    return json.loads(lines[-1])


def differences(python: Path, ranks: int, folder: Path) -> int:
    """The number of tests with another outcome on wrapped communicators; one line, and one for each of them."""
    plain, wrapped = (outcomes(python, ranks, folder, how) for how in ("plain", "wrapped"))
    names = sorted({*plain["tests"], *wrapped["tests"]})
    both = [[kind["tests"].get(name) for kind in (plain, wrapped)] for name in names]
    others = [(name, *found) for name, found in zip(names, both) if found[0] != found[1]]
    passed, skipped = (sum(set(found[0] or []) == {word} for found in both) for word in ("passed", "skipped"))
    print(
        f"{python.parent.parent.name:12} {ranks} ranks: {len(names)} tests, {passed} pass and {skipped} are skipped by "
        f"themselves, {len(others)} have another outcome wrapped; {wrapped['reduced']} calls by our algorithms",
        flush=True,
    )
    for name, former, found in others:
        print(f"    {name}: {former} on its own, {found} wrapped")
    return len(others)


def main() -> None:
    """All interpreters and numbers of ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="+", type=Path, metavar="INTERPRETER")
    parser.add_argument("--ranks", default="1,2,3,4", help="comma-separated [1,2,3,4]")
    parser.add_argument("--sdist", type=Path, help="mpi4py's source distribution [downloaded]")
    options = parser.parse_args()
    others = 0
    for python in options.interpreters:
        with tempfile.TemporaryDirectory() as place:
            folder = folder_of_tests(options.sdist or downloaded(python, Path(place)), Path(place))
            others += sum(differences(python.absolute(), int(ranks), folder) for ranks in options.ranks.split(","))
    sys.exit(1 if others else 0)


if __name__ == "__main__":
    main()
