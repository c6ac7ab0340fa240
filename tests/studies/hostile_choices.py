"""What does `Allreduce(choice=FILE)` do with files that are damaged, or made to run code? 200 of them, over real MPI.

Good choices, machine files and runs are damaged at random, their fields replaced by what does not belong there; others
name code of all kinds, nest deeply, are no files at all. A program of two ranks uses each. One line for each
interpreter: files, those that worked, those refused in a sentence, code that was run, faults. Exit status 1 where code
was run, or there is a fault: any other exception, or ranks that differ.
"""

import argparse
import json
import os
import random
import shutil
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from damaged_runs import OF_A_FILE
from made_runs import build_run
from rank_programs import mpirun

from allreduce_bench.models.machine import bare_machine, write_machine
from allreduce_bench.programs.choices import KIND, VERSION, Choice

EVIL = 'import pathlib\npathlib.Path(__file__).with_name("{name}").touch()\n'
RUN = "was_run"  # the beginning of the names of files that code leaves
FIELDS = tuple(asdict(Choice(2, "1x2", 2, "float32", "sum", "ring", "sendrecv")))
SIZES = (8, 20_000)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**62, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf")),
    *("", "ring", "native", "auto", "sendrecv", "compiled-pipelined", "\n", "\0", "\ud800", "é" * 5000, "page", "../x"),
    *([], ["ring"], {}, {"ring": 1}, [[[[[[]]]]]]),
)


def good_choices() -> dict[str, Any]:
    """What `save` writes."""
    choices = [
        Choice(2, "1x2", 2, "float32", "sum", "recursive_doubling", "sendrecv"),
        Choice(2, "1x2", 5_000, "float32", "sum", "ring", "pipelined", 512, 4),
        Choice(2, "1x2", 100_000, "int64", "sum", "native", "native", placement="page"),
    ]
    return {"kind": KIND, "schema_version": VERSION, "choices": list(map(asdict, choices))}


def good_machine(place: Path) -> dict[str, Any]:
    """A machine file."""
    path = place / "machine"
    write_machine(bare_machine(1e-6, 1e-10), path)
    return json.loads(path.read_text())


def naming_code(place: Path) -> Iterator[bytes]:
    """Choices that name files of code, in every field and way."""
    code = place / "evil.py"
    code.write_text(EVIL.format(name=f"{RUN}_by_path"))
    linked = place / "linked.py"
    linked.symlink_to(code)
    package = place / "package.py"
    package.mkdir()
    (package / "__init__.py").write_text(EVIL.format(name=f"{RUN}_by_package"))
    paths = [str(code), os.path.relpath(code), str(linked), str(package), f"file://{code}", str(code.with_suffix(""))]
    names = [
        "__init__",
        "_folding",
        "os",
        "evil",
        "allreduce_bench.cli",
        "../evil",
        "ring.py",
        "x.py",
        "evil.py\0",
        "~",
    ]
    for name in (*paths, *names):
        content = good_choices()
        for one in content["choices"]:
            one |= {"algorithm": name, "executor": "sendrecv"}
        yield json.dumps(content).encode()
    for path in paths:
        for fields in ({"file": path}, {"file": path, "sha256": "0" * 64}, {"file": path, "algorithm": "evil"}):
            content = good_choices()
            content["choices"][0] |= fields
            yield json.dumps(content).encode()
            content["choices"] = content["choices"][:1]
            yield json.dumps(content).encode()


def with_other_fields(draw: random.Random, place: Path) -> bytes:
    """Good ones of either kind, of which some value is another one."""
    content = draw.choice([good_choices(), good_machine(place)])
    here: Any = content
    while True:
        key = draw.choice([*here] if isinstance(here, dict) else range(len(here)))
        if not (isinstance(here[key], (dict, list)) and here[key]) or draw.random() < 0.15:
            break
        here = here[key]
    here[key] = draw.choice(VALUES)
    return json.dumps(content).encode()


def damaged(draw: random.Random, place: Path) -> bytes:
    """Good ones of either kind, with other bytes."""
    content = json.dumps(draw.choice([good_choices(), good_machine(place)])).encode()
    for damage in draw.choices(OF_A_FILE, k=draw.randint(1, 3)):
        content = damage(draw, content) if content else content
    return content


def odd() -> Iterator[bytes]:
    """What is no choice at all."""
    good = json.dumps(good_choices())
    yield from (b"", b"\0" * 4096, b"\xff\xfe" + good.encode("utf-16-le"), b"\xef\xbb\xbf" + good.encode())
    yield from (b"[" * 100_000, b'{"kind":' * 50_000, b"9" * 100_000, b"nan", b"null", b'"' + b"a" * 2**20 + b'"')
    yield from (good.replace("1x2", "[" * 3000).encode(), json.dumps({"kind": KIND}).encode())
    for other in ("allreduce-bench report", ["allreduce-bench choices"], None, "allreduce-bench machine"):
        yield json.dumps(good_choices() | {"kind": other}).encode()
    for version in (0, 2, 4, 10**300, "2", 2.0, True, [2], None):
        yield json.dumps(good_choices() | {"schema_version": version}).encode()
    yield json.dumps(good_choices() | {"choices": [good_choices()["choices"][0]] * 20_000}).encode()
    yield Path(__file__).read_bytes()


def no_files(draw: random.Random, place: Path, folder: Path) -> None:
    """Links, pipes, sockets, folders and runs with a damage."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to(place / "nothing")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "to_code").symlink_to(place / "evil.py")
    (place / "good").write_text(json.dumps(good_choices()))
    (folder / "to_good").symlink_to(place / "good")
    with socket.socket(socket.AF_UNIX) as listening:
        former = Path.cwd()
        os.chdir(folder)  # the name of a socket is short
        listening.bind("socket")
        os.chdir(former)
    run = build_run(place / "run", sizes=SIZES, ranks=(2,), launches=2).path
    for number in range(12):
        copy = shutil.copytree(run, folder / f"run_{number}")
        files = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size)
        chosen = draw.choice(files)
        chosen.write_bytes(draw.choice(OF_A_FILE)(draw, chosen.read_bytes()))


def make(draw: random.Random, place: Path, count: int) -> Path:
    """The folder with `count` files, or as many as there are of the kinds that are not drawn."""
    folder = place / "files"
    folder.mkdir()
    no_files(draw, place, folder)
    written = [*naming_code(place), *odd()]
    draw.shuffle(written)
    several = count - len(list(folder.iterdir()))
    written = written[: several * 2 // 3]  # a third is drawn
    while len(written) < several:
        written.append(draw.choice([damaged, with_other_fields])(draw, place))
    for number, content in enumerate(written):
        (folder / f"{number:04}").write_bytes(content)
    return folder


def study(python: Path, folder: Path, place: Path) -> int:
    """Use all of them with one launch; a line, and one for each fault. The number of faults."""
    status, words = mpirun(python, 2, "used_choices.py", str(folder), timeout_s=900)
    lines = [line for line in words.splitlines() if line.startswith('{"')]
    found = json.loads(lines[-1]) if not status and lines else {"the program": f"status {status}: {words[-2000:]}"}
    counted = Counter(found.values())
    worked, refused, run = counted["worked"], counted["refused"], len(list(place.rglob(f"{RUN}*")))
    faults = len(found) - worked - refused
    print(
        f"{python.parent.parent.name:12} {len(found)} files: {worked} worked, {refused} refused, {run} executed, "
        f"{faults} faults",
        flush=True,
    )
    for name, outcome in found.items():
        if outcome not in ("worked", "refused"):
            print(f"    {name}: {outcome:.300}")
    return faults + run


def main() -> None:
    """Make the files, and use them on each interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=Path, default=[Path(sys.executable)], metavar="INTERPRETER")
    parser.add_argument("--files", type=int, default=200, help="[200]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = make(random.Random(options.seed), Path(place), options.files)
        sys.exit(1 if sum(study(python.absolute(), folder, Path(place)) for python in options.interpreters) else 0)


if __name__ == "__main__":
    main()
