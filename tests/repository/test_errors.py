"""Errors are pickled between ranks: each is made again of its sentence, and has its attributes."""

import ast
import pickle

from places import PACKAGE

from allreduce_bench.cli.types import OneLineError

ERRORS = {"Exception", "ValueError", "TypeError", "RuntimeError", "OSError", "ClickException"}
NEVER_SENT = {"Refusal"}  # of a schedule: caught where it is proved


def classes_of_errors():
    """Each class of an error in the package, with the place where it stands."""
    classes = [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    names, before = set(ERRORS), 0
    while before < len(names):
        before = len(names)
        names |= {node.name for _, node in classes if names & {ast.unparse(base).split(".")[-1] for base in node.bases}}
    return [(place, node) for place, node in classes if node.name in names]


def test_an_error_is_made_of_its_sentence():
    """Attributes beside it have defaults: a copy is made of the sentence alone, and then gets them."""
    found = classes_of_errors()
    wrong = [
        f"{place}: {node.name}"
        for place, node in found
        if node.name not in NEVER_SENT
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        if len(method.args.args) - len(method.args.defaults) > 2 or None in method.args.kw_defaults
    ]
    assert len(found) > 20 and wrong == []


def test_a_copy_has_the_sentence_and_the_attributes():
    error = OneLineError("not accepted: a\nb", exit_code=1)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is OneLineError and str(again) == str(error) and again.exit_code == 1
