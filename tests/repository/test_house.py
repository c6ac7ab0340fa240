"""The house itself: every room has its place, every wing is in the table, nothing goes round in circles.

A room is a folder right below the package, with all that stands below it: its subpackages are parts of it, not rooms.
The modules of the top floor are rooms of one module each.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from places import PACKAGE, ROOT, wings

from allreduce_bench.cli import PLACES
from allreduce_bench.wings import OFFERS, load

MOST_DOCSTRING_LINES = 10

SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


OFFERED = [place for places in OFFERS.values() for place in places]


def test_every_wing_is_in_the_table():
    folders = {place.partition(".")[0] for place in [*OFFERED, *PLACES.values()]}
    assert folders == {*wings(), "cli"}


@pytest.mark.parametrize("place", [*OFFERED, *PLACES.values()])
def test_what_the_table_names_is_there(place):
    found = load(place)
    assert isinstance(found, click.Command) == (place in PLACES.values())


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_in_few_lines_what_it_is(room):
    docstring = ast.get_docstring(parsed(room / "__init__.py"))
    assert docstring and len(docstring.splitlines()) <= MOST_DOCSTRING_LINES


OTHERS = {"browser", "cluster", "data", "ranks", "repository", "studies", "support"}  # folders of tests of no room


def test_tests_mirror_the_rooms():
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders - OTHERS == {room.name for room in ROOMS}


def module_name(path: Path) -> str:
    """`runs.plan`; of a package's own code `runs`; of the whole package the empty name."""
    return re.sub(r"(^|\.)__init__$", "", relative(path).removesuffix(".py").replace("/", "."))


MODULES = {module_name(path): path for path in SOURCES}


def runtime_imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """The `from … import` statements, late ones in functions included, those for type checkers alone left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield node
        yield from runtime_imports(node)


def imported_modules(name: str) -> set[str]:
    """The modules of this package that module `name` imports; a name that is no module counts as its module's."""
    path, modules = MODULES[name], set()
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in runtime_imports(parsed(path)):
        if node.level:
            above = [part for part in package if part][: len(package) - node.level + 1]
            source = ".".join([*above, *filter(None, [node.module])])
        elif (node.module or "").startswith(PACKAGE.name):
            source = (node.module or "").removeprefix(PACKAGE.name).lstrip(".")
        else:
            continue
        for alias in node.names:
            inner = f"{source}.{alias.name}".lstrip(".")
            modules.add(inner if inner in MODULES else source)
    return modules - {name}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """What is left when everything is taken away, again and again, that imports nothing that is left: the circles."""
    left = dict(edges)
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


@cache
def all_imports() -> dict[str, set[str]]:
    """Of every module the modules that it imports."""
    return {name: imported_modules(name) for name in MODULES}


def test_imports_are_found():
    assert {"runs.plan", "runs.folder"} <= all_imports()["runs.recorder"]
    assert all_imports()["cli.report"] >= {"cli.types", "report.page", "cli.kept_runs", "slurm.sweep"}
    assert set().union(*all_imports().values()) <= MODULES.keys()


def test_no_modules_import_each_other_in_a_circle():
    assert circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]
    assert circle(all_imports()) == []


def test_no_rooms_import_each_other_in_a_circle():
    rooms: dict[str, set[str]] = {}
    for name, targets in all_imports().items():
        room = name.partition(".")[0]
        rooms.setdefault(room, set()).update({target.partition(".")[0] for target in targets} - {room})
    assert circle(rooms) == []
