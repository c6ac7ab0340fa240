"""How large is the house? Lines of code without blanks, comments and docstrings, modules, tests, options, words.

The numbers are those of the working tree that this file lies in. Words are those of documents that are not made.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import click

from allreduce_bench.cli import PLACES
from allreduce_bench.cli import main as commands

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
WINGS = ("comparison", "health", "lab", "order", "pages", "programs", "stragglers", "survive", "training", "which")


def main() -> None:
    """Print the table."""
    package, tests = ROOT / "allreduce_bench", ROOT / "tests"
    rooms = sorted(path for path in package.iterdir() if any(path.rglob("*.py")) and path.is_dir())
    print(f"{'':24}{'modules':>8}{'lines of code':>15}")
    for name, folder in [("allreduce_bench", package), ("tests", tests), *((f"  {one.name}", one) for one in rooms)]:
        modules = list(folder.rglob("*.py"))
        print(f"{name:24}{len(modules):8,}{sum(map(code_lines, modules)):15,}")
    of_wings = sum(code_lines(path) for name in WINGS for path in (package / name).rglob("*.py"))
    print(f"{'wings':24}{'':8}{of_wings:15,}")
    print(f"test functions: {sum(1 for path in tests.rglob('test_*.py') for _ in test_functions(path)):,}")
    counts = {name: len(options_of(name)) for name in PLACES}
    print(
        f"options: {sum(counts.values())} of {len(counts)} commands; "
        + ", ".join(f"{k} {v}" for k, v in counts.items())
    )
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    print(f"words: {sum(len(path.read_text(encoding='utf-8').split()) for path in documents):,} in README and docs")


def code_lines(path: Path) -> int:
    """Return the lines of a module that are no blank, no comment and no docstring."""
    text = path.read_text(encoding="utf-8")
    first = [node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED) and node.body]
    docstrings = {
        line
        for one in first
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return sum(bool(line) and not line.startswith("#") and number not in docstrings for number, line in lines)


def test_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the test functions of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node


def options_of(name: str) -> list[click.Parameter]:
    """Return the options of a command, --help aside; of a group those of its commands, too."""
    command = commands.get_command(click.Context(commands), name)
    below = command.commands.values() if isinstance(command, click.Group) else []
    return [one for each in [command, *below] for one in each.params if isinstance(one, click.Option)]


if __name__ == "__main__":
    main()
