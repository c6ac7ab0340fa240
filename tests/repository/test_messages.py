"""The tables of messages: every code that is used is there with its values, none is idle, and words change on purpose.

Golden files, one a table, hold the words. After a change on purpose: `python tests/repository/test_messages.py`.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest
from places import PACKAGE

from allreduce_bench.messages import MESSAGES
from allreduce_bench.wings import OFFERS, load

GOLDEN = Path(__file__).parents[1] / "data" / "messages"
TABLES = {"core": MESSAGES} | {place.partition(".")[0]: load(place) for place in OFFERS["messages"]}
TEMPLATES = {code: template for table in TABLES.values() for code, template in table.items()}


def test_a_code_stands_in_one_table():
    assert len(TEMPLATES) == sum(map(len, TABLES.values()))


@pytest.mark.parametrize("name", TABLES)
def test_the_words_are_those_of_the_golden_file(name):
    assert json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")) == TABLES[name]


def values_of(template: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@cache
def calls() -> Mapping[str, list[tuple[str, set[str] | None]]]:
    """Code -> where it is said, and the names of the values there; None: they are handed on."""
    found: dict[str, list[tuple[str, set[str] | None]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "messages.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for code, line, names in said_in(tree):
            found.setdefault(code, []).append((f"{path.relative_to(PACKAGE)}:{line}", names))
    return found


def said_in(tree: ast.AST) -> Iterator[tuple[str, int, set[str] | None]]:
    """Each text that is a code, its line, and the names of the values of the call that it opens."""
    opens = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            opens[node.args[0]] = {keyword.arg for keyword in node.keywords}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in TEMPLATES:
            names = opens.get(node)
            yield node.value, node.lineno, None if names is None or None in names else {str(name) for name in names}


def test_every_template_is_said():
    assert sorted(set(TEMPLATES) - set(calls())) == []


OF_THE_ERROR = {"exit_code"}  # no value of the sentence


def test_who_says_a_code_gives_its_values():
    wrong = [
        f"{place}: {code}: {sorted(names)}"
        for code, places in calls().items()
        for place, names in places
        if names is not None and names - OF_THE_ERROR != values_of(TEMPLATES[code])
    ]
    assert wrong == []


def test_every_code_that_is_said_is_in_a_table():
    unknown = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say" and node.args:
                code = node.args[0]
                if isinstance(code, ast.Constant) and code.value not in TEMPLATES:
                    unknown.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {code.value}")
    assert unknown == []


@pytest.mark.parametrize("table", [name for name in TABLES if name != "core"])
def test_a_wing_says_its_own_messages_and_those_of_the_core(table):
    module = import_module(f"{PACKAGE.name}.{table}")
    folder = Path(module.__path__[0])
    others = {code for name, codes in TABLES.items() if name not in ("core", table) for code in codes}
    said = {code for code, places in calls().items() for place, _ in places if place.startswith(f"{folder.name}/")}
    assert said & others == set()


if __name__ == "__main__":
    for name, table in TABLES.items():
        text = json.dumps(table, indent=1, ensure_ascii=False, sort_keys=True)
        (GOLDEN / f"{name}.json").write_text(text + "\n", encoding="utf-8")
