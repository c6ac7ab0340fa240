"""What do all reading commands do of a run folder that was damaged? A thousand folders, each read by each command.

Runs of every kind are damaged as people, disks and archives do: files, whole launches, or the only one are deleted,
cut, swapped between launches and runs, doubled, emptied, replaced by folders and links, or may not be read. Each
command must refuse in one line, or say that something is missing or changed, unless what it prints is what it printed
before, and nothing of the run is lost. Prints what was silent or ended in a traceback; exit status 1 where there is
one.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import damaged_runs
import reading_commands
from click.testing import CliRunner
from made_inspector import Job, write_job
from made_runs import build_run
from made_sweeps import build_sweep, record, submit
from places import DATA
from read_calls import calls_of
from reading_commands import Reading, read

from allreduce_bench.cli import main as command_line
from allreduce_bench.runs import typed_json
from allreduce_bench.runs.competitor import WAYS, competitor
from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.plan import Cut
from allreduce_bench.runs.rows import RunError

NOBODY = 65534
COMMANDS = ("runs", "show", "show csv", "show json", "show nccl", "fit", "compare", "stragglers", "merge")
COMMANDS += ("status", "collect", "report", "choice")
IN_ITS_OUTPUT = {  # commands that say on stdout what is missing, and the words
    "runs": ("unreadable", "/"),
    "status": ("cells done", "damaged"),
    "collect": ("missing cells",),
}
SLOW, SELDOM = ("report", "collect"), 25  # commands that draw figures: of one in so many folders
Damage = Callable[[random.Random, RunFolder, RunFolder], None]  # to the first run, by the second one


class Whole(NamedTuple):
    """A run as it was written, with what is said of it."""

    run: RunFolder
    other: RunFolder  # of the same kind, with other times
    said: dict[str, Reading]
    cells: set[tuple]  # as of `cells_of`


def files_of(run: RunFolder) -> list[Path]:
    """All files of its launches, those in folders of stamps included."""
    return sorted(path for path in run.launches.rglob("*") if path.is_file())


def files_of_launch(run: RunFolder, name: str) -> list[Path]:
    """What begins with the name of the launch, in the folder of the launches."""
    return sorted(run.launches.glob(f"{name}.*"))


def launch_names(run: RunFolder) -> list[str]:
    return sorted(launch.name for launch in run.attempt_numbers())


def remove(path: Path) -> None:
    """A file or a folder."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def without_a_launch(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    for path in files_of_launch(run, draw.choice(launch_names(run))):
        remove(path)


def without_the_last_launch(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    for path in files_of_launch(run, launch_names(run)[-1]):
        remove(path)


def without_all_launches_but_one(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    left = draw.choice(launch_names(run))
    for name in launch_names(run):
        for path in files_of_launch(run, name) if name != left else ():
            remove(path)


def without_a_number_of_ranks(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    ranks = draw.choice(launch_names(run)).partition("r-")[0]
    for path in run.launches.glob(f"{ranks}r-*"):
        remove(path)


def without_any_launch(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    for path in run.launches.iterdir():
        remove(path)


def without_launches(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    shutil.rmtree(run.launches)


def without_a_file(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    draw.choice([run.run_json, *files_of(run)]).unlink()


def without_files(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    for path in draw.sample(files_of(run), min(3, len(files_of(run)))):
        path.unlink()


def changed(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    """Any of the damages to one file: bits, pieces, cuts."""
    path = draw.choice([path for path in (run.run_json, *files_of(run)) if path.stat().st_size])
    damages = (damaged_runs.other_bit, damaged_runs.other_digit, *damaged_runs.OF_A_FILE)
    path.write_bytes(draw.choice(damages)(draw, path.read_bytes()))


def emptied(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    draw.choice([run.run_json, *files_of(run)]).write_bytes(b"")


def swapped_within(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    """Two files of one kind, of two launches where there are two."""
    first = draw.choice(files_of(run))
    alike = [path for path in files_of(run) if path.suffixes[-1:] == first.suffixes[-1:] and path != first]
    second = draw.choice(alike or [run.run_json])
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])


def of_another_run(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    path = draw.choice([run.run_json, *files_of(run)])
    with suppress(FileNotFoundError):
        path.write_bytes((other.path / path.relative_to(run.path)).read_bytes())


def launch_of_another_run(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    for path in files_of_launch(run, draw.choice(launch_names(run))):
        source = other.launches / path.name
        remove(path)
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)


def doubled_attempt(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    """The files of an attempt again, as those of the next one."""
    name = draw.choice(launch_names(run))
    for path in files_of_launch(run, name):
        copy = run.launches / path.name.replace(f"{name}.1", f"{name}.2", 1)
        shutil.copytree(path, copy, dirs_exist_ok=True) if path.is_dir() else shutil.copy(path, copy)


def doubled_launch(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    """The files of a launch in the place of another one, or of one that was not planned."""
    name = draw.choice(launch_names(run))
    ranks, _, number = name.partition("r-")
    new = f"{ranks}r-{draw.choice([int(number) + 1, 7])}"
    for path in files_of_launch(run, name):
        copy = run.launches / path.name.replace(name, new, 1)
        shutil.copytree(path, copy, dirs_exist_ok=True) if path.is_dir() else shutil.copy(path, copy)


def a_folder_instead(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    path = draw.choice([run.run_json, run.launches, *files_of(run)])
    is_folder = path.is_dir()
    remove(path)
    path.write_bytes(b"") if is_folder else path.mkdir()


def a_link_instead(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    path = draw.choice(files_of(run))
    path.unlink()
    path.symlink_to(draw.choice([other.path / path.relative_to(run.path), path, "/dev/zero", "nowhere"]))


def unreadable(draw: random.Random, run: RunFolder, other: RunFolder) -> None:
    draw.choice([run.run_json, run.launches, *files_of(run)]).chmod(0)


DAMAGES: tuple[Damage, ...] = (
    *(without_a_launch, without_a_launch, without_the_last_launch, without_all_launches_but_one),
    *(without_a_number_of_ranks, without_any_launch, without_launches, without_a_file, without_files),
    *(changed, changed, changed, emptied, swapped_within, of_another_run, launch_of_another_run),
    *(doubled_attempt, doubled_launch, a_folder_instead, a_link_instead, unreadable),
)


def build(path: Path, seed: int, **words: Any) -> None:
    """A run whose launches say which command measured them."""
    build_run(path, seed=seed, facts={"command": "allreduce-bench measure"}, **words)


def build_plain(path: Path, seed: int) -> None:
    build(path, seed, sizes=(8, 1024), launches=2, stamps=True)


def build_one(path: Path, seed: int) -> None:
    """Of one launch."""
    build(path, seed, sizes=(8, 1024), ranks=(2,), launches=1)


def build_ways(path: Path, seed: int) -> None:
    choices = {"window": 4, "cuts": (Cut(2, 1 << 16, 1 << 13),)}
    names = ("native", "native@compiled", *(competitor("ring", way) for way in WAYS))
    build(path, seed, algorithms=names, sizes=(1024, 1 << 16), launches=2, choices=choices)


def build_groups(path: Path, seed: int) -> None:
    build(path, seed, sizes=(8, 1024), ranks=(4,), launches=2, choices={"groups": "div:2"})


def build_placement(path: Path, seed: int) -> None:
    build(path, seed, sizes=(1024, 65536), launches=2, choices={"placement": "numpy"})


def build_imported(path: Path, seed: int) -> None:
    """Of two logs."""
    logs = sorted(map(str, (DATA / "logs").glob("osu_v7.4_2ranks_case?.txt")))
    words = ["import", *logs[seed - 1 : seed + 1], "-n", "2", "-o", str(path)]
    result = CliRunner().invoke(command_line, words)
    assert result.exit_code == 0, result.output


def build_inspected(path: Path, seed: int) -> None:
    """Of logs that hold arrivals, of which `stragglers` tells."""
    with tempfile.TemporaryDirectory() as place:
        write_job(Path(place) / "job", Job(steps=20 + seed))
        result = CliRunner().invoke(command_line, ["import", f"{place}/job", "-o", str(path)])
    assert result.exit_code == 0, result.output


def build_jobs(path: Path, seed: int) -> None:
    """What jobs of a cluster have measured."""
    facts = {"command": "allreduce-bench measure"}
    build_sweep(path, ranks=(2, 4), launches=2, sizes=(8, 1024), seed=seed, facts=facts)
    submit(path, {1: "101", 2: "102"})
    for job, only in (("101", "2r"), ("102", "4r")):
        record(path, job, only, end="done", ended="2024-05-01T11:30:00+00:00")


RUNS: dict[str, Callable[[Path, int], None]] = {
    build.__name__.removeprefix("build_"): build
    for build in (
        *(build_plain, build_one, build_ways, build_groups, build_placement),
        *(build_imported, build_inspected, build_jobs),
    )
}


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read all: the command runs as somebody else where the study is root's."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def readings(run: RunFolder, other: RunFolder, place: Path, names: Sequence[str]) -> Iterator[tuple[str, Reading]]:
    """What each command says of the run; those that take two runs are given the other one, too."""
    for name in names:
        with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as output:
            os.chmod(output, 0o777)
            second = other.path if name in reading_commands.OF_TWO else None
            yield name, without_place(read(name, run.path, Path(output), second), output)


def without_place(reading: Reading, output: str) -> Reading:
    """What is said, without the name of the folder that was written to."""
    return reading._replace(out=reading.out.replace(output, "OUTPUT"), err=reading.err.replace(output, "OUTPUT"))


def cells_of(run: RunFolder) -> set[tuple]:
    """The cells that a reader gets of the run, each with its launch; none where it is refused."""
    try:
        marks = {(row["launch"], key_of(row)) for row in run.marks() if row["state"] == "done"}
        return marks & {(row["launch"], key_of(row)) for row in calls_of(run)}
    except (RunError, OSError, ValueError, RuntimeError):
        return set()


def marked_launches(run: RunFolder) -> set[str]:
    """The launches with a file of marks, which is all that a list of runs looks at."""
    return {path.name.partition(".")[0] for path in run.launches.glob("*.cells.csv")} & set(planned_names(run))


def planned_names(run: RunFolder) -> list[str]:
    with suppress(RunError, OSError):
        return [launch.name for launch in run.plan().planned_launches()]
    return []


def judge(name: str, before: Reading, now: Reading, is_lost: bool) -> str:
    """refused, said, same; of no use, where the whole run is refused, too; SILENT; or what is wrong."""
    if fault := reading_commands.fault_of(now):
        return fault
    if before.status == 2:
        return "of no use"
    if now.status == 2:
        return "refused"
    if now.err != before.err and now.err:
        return "said"
    words = IN_ITS_OUTPUT.get(name, ())
    if now.out != before.out:
        return "said" if any(word in now.out for word in words) else "SILENT"
    return "SILENT" if is_lost else "same"


def main() -> None:
    """Damage folders so often, read each by all commands, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=int, default=1000)
    parser.add_argument("--each", type=int, default=len(COMMANDS), help="commands, drawn anew for each folder [all]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--damages", nargs="+", default=[], metavar="NAME", help="such as without_a_launch [all]")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    damages = [damage for damage in DAMAGES if not options.damages or damage.__name__ in options.damages]
    of_command: dict[str, Counter[str]] = {name: Counter() for name in COMMANDS}
    faults: Counter[str] = Counter()
    typed_json.LOOK_AGAIN_S = ()  # nobody replaces a file here
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        wholes = {kind: whole_of(kind, place) for kind in options.runs}
        for number in range(options.folders):
            kind, damage = options.runs[number % len(options.runs)], draw.choice(damages)
            quick = [name for name in COMMANDS if name not in SLOW]
            names = [*draw.sample(quick, min(options.each, len(quick))), *(SLOW if number % SELDOM == 0 else ())]
            for command, outcome in damaged(draw, wholes[kind], damage, place, names):
                is_fault = outcome not in ("refused", "said", "same", "of no use")
                of_command[command]["FAULT" if is_fault else outcome] += 1
                if is_fault:
                    where = f"{command}, {kind}, {damage.__name__}: {outcome[:120]}"
                    faults[where] += 1
                    if faults[where] == 1:
                        print(f"  folder {number}: {where}", flush=True)
    for command, outcomes in of_command.items():
        print(f"{command:12} {outcomes.total():6}  {', '.join(f'{n} {what}' for what, n in sorted(outcomes.items()))}")
    print(f"{options.folders} folders, {faults.total()} faults of {len(faults)} kinds")
    sys.exit(bool(faults))


def whole_of(kind: str, place: Path, names: Sequence[str] = COMMANDS) -> Whole:
    """The run of this kind, another one like it, and what the commands say of it."""
    for name, seed in (("run", 1), ("other", 2)):
        RUNS[kind](place / kind / name, seed)
    run, other = RunFolder(place / kind / "run"), RunFolder(place / kind / "other")
    return Whole(run, other, dict(readings(run, other, place, names)), cells_of(run))


def damaged(
    draw: random.Random, whole: Whole, damage: Damage, place: Path, names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Damage the run, and yield what came of each command; then it is whole again."""
    intact = whole.run.path.with_name("intact")
    shutil.copytree(whole.run.path, intact)
    try:
        marked = marked_launches(whole.run)
        damage(draw, whole.run, whole.other)
        with as_nobody() if damage is unreadable else nullcontext():
            is_lost = not whole.cells <= cells_of(RunFolder(whole.run.path))
            found = dict(readings(whole.run, whole.other, place, names))
        for name, reading in found.items():
            of_it = marked != marked_launches(whole.run) if name == "runs" else is_lost
            yield name, judge(name, whole.said[name], reading, of_it)
    finally:
        shutil.rmtree(whole.run.path)
        intact.rename(whole.run.path)


if __name__ == "__main__":
    main()
