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

MOST_NAMES, MOST_DOCSTRING_LINES = 37, 10
MOST_MODULES, MOST_LATE_IMPORTS, MOST_QUOTES = 393, 140, 150
OPEN = ("algorithms", "importers/tools", "report/figures")  # grow by a module for each that is added
FOUR_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){3}")

SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_the_top_floor_holds_few_names():
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    assert len(names) <= MOST_NAMES, sorted(names)


def test_there_are_few_modules():
    assert len([path for path in SOURCES if relative(path.parent) not in OPEN]) <= MOST_MODULES


def late_imports(tree: ast.AST) -> list[ast.AST]:
    """The imports inside functions, those of an inner function once."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {node for function in functions for node in ast.walk(function)}
    return [node for node in found if isinstance(node, ast.Import | ast.ImportFrom)]


def test_few_imports_stand_inside_functions():
    assert len(late_imports(ast.parse("import a\ndef f():\n    import b\n    def g():\n        import c, d"))) == 2
    assert sum(len(late_imports(parsed(path))) for path in SOURCES) <= MOST_LATE_IMPORTS


def quotes(assertion: ast.Assert) -> bool:
    """Whether it holds four words in a row, whatever for: words belong to messages and their golden files."""
    texts = (node.value for node in ast.walk(assertion.test) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and FOUR_WORDS.search(text) for text in texts)


def test_few_asserts_quote_a_phrase():
    codes, words = ast.parse("assert said('x.y', path=1)\nassert 'this is a phrase' in text").body
    assert (
        isinstance(codes, ast.Assert)
        and isinstance(words, ast.Assert)
        and (quotes(codes), quotes(words)) == (False, True)
    )
    trees = [parsed(path) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    asserts = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert sum(map(quotes, asserts)) < MOST_QUOTES


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
    assert all_imports()["cli.show"] >= {"cli.types", "report.page", "runs.folder", "slurm.sweep"}
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
