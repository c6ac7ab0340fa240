"""Does a new package print and write what an old one did, command by command? For changes that keep what it does.

    python tests/studies/old_against_new.py OLD NEW                       # two checkouts; six minutes
    python tests/studies/old_against_new.py OLD NEW --only '^fit|^show'

Each command of `old_against_new_commands.py` is started over the old and over the new checkout, in two fresh folders
with the same files, which the old one made. Compared are exit status, stdout, stderr and the bytes of the files that
are new or changed, but for paths, times of today, processes and commits; of pictures also, where they differ, their
size is said. Prints each command with its exit status, `same` or `differs` with a difference; exit status 1 where one
differs.
"""

import argparse
import difflib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from old_against_new_commands import Command, commands

STUDIES = Path(__file__).resolve().parent
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")  # root obeys modes, too
TIMEOUT_S = 180
MOST_LINES, MOST_LETTERS = 16, 180  # of a difference
ALWAYS = ("bin", "results")  # of the inputs; others where they are named


class Side(NamedTuple):
    """A checkout under test."""

    tree: Path
    root: Path  # below which its commands have their folders
    masks: tuple[tuple[re.Pattern[str], str], ...]


class Outcome(NamedTuple):
    """What a command left, masked."""

    status: int
    parts: dict[str, str]  # stdout, stderr, and each file that is new or changed


def side_of(tree: Path, root: Path) -> Side:
    """A side whose commands have their folders below `root`."""
    masks = [(re.escape(str(root)), "PLACE"), (re.escape(str(tree)), "TREE")]
    git = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    if commit:
        masks.append((rf"\b{commit[:7]}[0-9a-f]*\b", "COMMIT"))
    now = datetime.now(timezone.utc)
    days = "|".join(f"{now + timedelta(days=number):%Y-%m-%d}" for number in (-1, 0, 1))
    masks.append((rf"(?:{days})(?:[T _]\d\d:?\d\d(?::?\d\d(?:\.\d+)?)?)?(?: ?UTC|Z|[+-]\d\d:\d\d)?", "NOW"))
    masks += [(r"\b(pid|process)([ =:]+)\d+", r"\1\2N"), (r"\bprterun-[\w.-]+-\d+@", "LAUNCHER@")]
    masks += [(r'"id": "[0-9a-f]{16}"', '"id": "ID"'), (r'crc32": "[0-9a-f]{8}"', 'crc32": "SUM"')]  # of new runs
    masks.append((r",[0-9a-f]{8},[0-9a-f]{8}(?=\r?\n)", ",SUM,SUM"))  # of their cells: a chain from the id
    return Side(tree, root, tuple((re.compile(pattern), name) for pattern, name in masks))


def environment(side: Side, place: Path, common: Path) -> dict[str, str]:
    """The variables of a command in `place`: none of a job, and no colours or widths of this terminal."""
    ours = ("SLURM_", "ALLREDUCE_BENCH_", "OMPI_", "PMI_", "MPLCONFIG", "NO_COLOR", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    bin_folders = [str(place / "bin"), str(Path(sys.executable).parent), kept.get("PATH", "")]
    return kept | {
        "PYTHONPATH": str(side.tree),
        "PYTHONPYCACHEPREFIX": str(common / "compiled"),  # nothing is written to the checkouts
        "MPLCONFIGDIR": str(common / "matplotlib"),
        "XDG_CONFIG_HOME": str(place / "config"),
        "PATH": os.pathsep.join(bin_folders),
        "TMPDIR": str(common),  # not below the place, whose files are compared
        "COLUMNS": "100",
        "LINES": "40",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def make_inputs(side: Side, inputs: Path, common: Path) -> None:
    """Fill the folder, by the helpers of this checkout."""
    inputs.mkdir()
    variables = environment(side, inputs, common)
    variables["PYTHONPATH"] += os.pathsep + str(side.tree / "tests" / "support")
    subprocess.run([sys.executable, str(STUDIES / "old_against_new_inputs.py"), str(inputs)], env=variables, check=True)


def needed(inputs: Path, command: Command) -> Iterator[str]:
    """The inputs that a command names; of runs each alone, unless it names their folder."""
    for path in sorted(inputs.iterdir()):
        named = any(re.match(rf"{re.escape(path.name)}(/|$)", word) for word in command.words)
        if path.name == "runs" and "runs" not in command.words[1:]:
            yield from (name for run in path.iterdir() if (name := f"runs/{run.name}") in command.words)
        elif named or path.name in ALWAYS:
            yield path.name


def fill(place: Path, inputs: Path, command: Command) -> None:
    """Copy what the command needs; what is in `sealed` may not be read, and nothing written to `locked`."""
    place.mkdir(parents=True)
    for name in needed(inputs, command):
        target = place / name
        target.parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (inputs / name).is_dir() else shutil.copy2
        copy(inputs / name, target)
    for path in (place / "sealed").rglob("*"):
        if path.is_file():
            path.chmod(0)
    (place / "locked").mkdir(mode=0o555)


def files_of(place: Path) -> dict[str, bytes]:
    """The files below the folder that can be read, and the folders, which end in a slash."""
    found = {}
    for path in place.rglob("*"):
        if path.is_dir():
            found[f"{path.relative_to(place)}/"] = b""
        elif path.is_file() and path.stat().st_mode & stat.S_IRUSR:
            found[str(path.relative_to(place))] = path.read_bytes()
    return found


def told(content: bytes) -> str:
    """The content of a file as text; of what is none, what it is and a sum of it."""
    if content.startswith(b"\x89PNG"):
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        return f"picture of {width} x {height}, {len(content)} bytes, hash {hash(content):x}"
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes, hash {hash(content):x}"


def masked(text: str, side: Side) -> str:
    """The text without what differs by side and moment."""
    for pattern, name in side.masks:
        text = pattern.sub(name, text)
    return text


def shape_of(text: str, pattern: str) -> str:
    """What the pattern finds, each once."""
    return "\n".join(sorted(set(re.findall(pattern, text))))


def outcome_of(side: Side, command: Command, inputs: Path, common: Path) -> Outcome:
    """What the command does over this side, in a fresh folder."""
    place = side.root / "place"
    fill(place, inputs, command)
    before = files_of(place)
    prefix = UNPRIVILEGED if command.obeys_modes and os.getuid() == 0 else ()
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-m", "allreduce_bench", *command.words],
            cwd=place,
            env=environment(side, place, common),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, out, err = -1, b"", b"it does not end\n"
    after = files_of(place)
    shutil.rmtree(place)
    if command.compared:
        names = "\n".join(sorted(name for name in after if name not in before))
        return Outcome(status, {"stdout": shape_of(out.decode(), command.compared), "files": names})
    written = {name: content for name, content in after.items() if before.get(name) != content}
    parts = {"stdout": out, "stderr": err, **written, **{f"{name} is gone": b"" for name in before.keys() - after}}
    return Outcome(status, {masked(name, side): masked(told(content), side) for name, content in parts.items()})


def difference(old: Outcome, new: Outcome) -> list[str]:
    """Lines that say what differs; none: nothing."""
    lines = [] if old.status == new.status else [f"exit status {old.status}, then {new.status}"]
    for name in sorted({*old.parts, *new.parts}):
        sides = [outcome.parts.get(name) for outcome in (old, new)]
        if None in sides:
            lines.append(f"{name}: only written by the {'old' if sides[1] is None else 'new'} one")
        elif sides[0] != sides[1]:
            texts = [(text or "").splitlines() for text in sides]
            found = list(difflib.unified_diff(*texts, f"old {name}", f"new {name}", n=0, lineterm=""))
            lines += found or [f"{name}: other ends of lines"]
    return lines


def tell(command: Command, outcome: Outcome, lines: Sequence[str]) -> None:
    """Print what came of a command."""
    print(f"{'differs' if lines else 'same':8} {outcome.status:3}  {command.line}", flush=True)
    for line in lines[:MOST_LINES]:
        print(f"    {_around_the_change(line)}")
    if len(lines) > MOST_LINES:
        print(f"    and {len(lines) - MOST_LINES} lines more", flush=True)


def _around_the_change(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]} ... ({len(line)} letters)"


def main() -> None:
    """Compare all commands, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the checkout whose outputs are right")
    parser.add_argument("new", type=Path, help="the checkout that is asked about")
    parser.add_argument("--only", default="", metavar="PATTERN", help="commands in which this regular expression is")
    options = parser.parse_args()
    chosen = [command for command in commands() if re.search(options.only, command.line)]
    number_different, statuses = 0, Counter[int]()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as both:
        top = Path(folder).resolve()
        trees = {"old": options.old.resolve(), "new": options.new.resolve()}
        sides = [side_of(tree, top / name) for name, tree in trees.items()]
        make_inputs(sides[0], top / "inputs", top)
        for command in chosen:
            jobs = [both.submit(outcome_of, side, command, top / "inputs", top) for side in sides]
            old, new = (job.result() for job in jobs)
            lines = difference(old, new)
            tell(command, old, lines)
            number_different += bool(lines)
            statuses[old.status] += 1
    ended = ", ".join(f"{number} with {status}" for status, number in sorted(statuses.items()))
    print(f"exit status of the old one: {ended}")
    print(f"{len(chosen)} commands, {number_different} differ")
    sys.exit(1 if number_different else 0)


if __name__ == "__main__":
    main()
