"""Typed reading of parsed JSON, validated by annotations, with refusals in words; JSON files with a checksum.

Annotations may be text, bool, int, float, `X | None`, `tuple[X, ...]`, `dict[str, X]`, dataclasses, named tuples (also
written as lists), and `Annotated[X, rule]` with rules such as `at_least(1)`. A kept file ends with its checksum.
"""

import json
import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from errno import ENOENT, ESTALE
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ..units import printable
from .files import phrase, read_kept
from .rows import LARGEST, RunError
from .schema import checksum

JSON_END = '"\n}\n'  # of a JSON file, after its checksum
MOST_ITEMS = 1_000_000  # of a list
LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # pauses before rereading a replaced file
SCALARS: dict[type, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
Kind = TypeVar("Kind")
_short = reprlib.Repr()  # three levels deep, so that no file makes it recurse
_short.maxlevel, _short.maxstring, _short.maxother = 3, 60, 60


class JsonError(ValueError):
    """The place in the JSON, the value there, what was expected; one printable line."""

    def __str__(self) -> str:
        return printable(super().__str__())


def refusal(value: Any, expected: str) -> JsonError:
    """Return the error for a value that is not `expected`."""
    return JsonError(f"found {_short.repr(value):.60}, expected {expected}")


class Rule:
    """A constraint: called, it returns the value, or raises JsonError."""

    def __init__(
        self, holds: Callable[[Any], bool], expected: str, words: tuple[str, ...] = (), least: float | None = None
    ):
        """Store the test; `expected` describes it in words. `words` are all valid values, `least` the least number."""
        self.holds, self.expected, self.words, self.least = holds, expected, words, least

    def __call__(self, value: Any) -> Any:
        if not self.holds(value):
            raise refusal(value, self.expected)
        return value


def at_least(least: float, most: float = LARGEST) -> Rule:
    """Return the rule that a number is from `least` to `most`."""
    limit = f" and at most {most:,.0f}" if most < LARGEST else ""
    return Rule(lambda value: least <= value <= most, f"{least:g} or more{limit}", least=least)


def one_of(*choices: str) -> Rule:
    """Return the rule that a text is one of `choices`."""
    expected = " or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))
    return Rule(lambda value: value in choices, expected, words=choices)


not_empty = Rule(bool, "at least one")
Natural = Annotated[int, at_least(0)]
Positive = Annotated[int, at_least(1)]
NotNegative = Annotated[float, at_least(0)]


def read_as(kind: type[Kind], value: Any, exact: bool = False) -> Kind:
    """Return the parsed JSON `value` as `kind`.

    Objects may lack fields with a default, as those written before a field was added do. Unknown fields are ignored,
    in `exact` objects refused. Raises JsonError, or the ValueError of the outermost object itself.
    """
    return _read(kind, value, exact)


def _read(hint: Any, value: Any, exact: bool) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = _read(arguments[0], value, exact)
        for rule in arguments[1:]:
            value = rule(value)
        return value
    if origin in (UnionType, Union):
        return None if value is None else _read(arguments[0], value, exact)
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) > MOST_ITEMS:
            raise refusal(value, "a list")
        return tuple(_read(arguments[0], item, exact) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise refusal(value, "an object")
        return {name: _read_field(name, arguments[1], item, exact) for name, item in value.items()}
    if hint in SCALARS:
        return _read_scalar(hint, value)
    return value if hint is Any else _read_object(hint, value, exact)


def _read_scalar(kind: type, value: Any) -> Any:
    """Read a scalar: an int is a float, too; true is no number, nor is what is not finite. A class of texts is text."""
    if type(value) is not kind and not (kind is float and type(value) is int or kind is str and isinstance(value, str)):
        raise refusal(value, SCALARS[kind])
    if isinstance(value, int | float) and not -LARGEST < value < LARGEST:
        raise refusal(value, f"{SCALARS[kind]} of a magnitude below 2**63")
    return value


def _read_object(kind: Any, value: Any, exact: bool) -> Any:
    hints = _hints(kind)
    all_names, required_names = _field_names(kind)
    if isinstance(value, list | tuple) and not is_dataclass(kind) and len(value) <= len(all_names):
        value, exact = dict(zip(all_names, value)), False
    if not isinstance(value, dict):
        raise refusal(value, f"an object with {', '.join(required_names or all_names)}")
    if missing := sorted(set(required_names) - set(value)):
        raise JsonError(f"missing: {', '.join(missing)}")
    if exact and (unknown := sorted(set(value) - set(all_names))):
        raise JsonError(f"unknown to this version: {', '.join(unknown):.60}")
    return kind(**{name: _read_field(name, hints[name], value[name], exact) for name in all_names if name in value})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _field_names(kind: Any) -> tuple[list[str], list[str]]:
    """Return all fields of a dataclass or a named tuple, and those without a default; what is drawn anew is none."""
    if is_dataclass(kind):
        without = [each for each in fields(kind) if each.default is MISSING]
        required = [each.name for each in without if not isinstance(each.default_factory, type)]
        return [each.name for each in fields(kind)], required
    return list(kind._fields), [name for name in kind._fields if name not in kind._field_defaults]


def _read_field(name: str, hint: Any, value: Any, exact: bool) -> Any:
    try:
        return _read(hint, value, exact)
    except ValueError as error:
        raise JsonError(f"{name:.60}: {error}") from error


def checked_json(values: Mapping[str, Any]) -> bytes:
    """Return a JSON file whose last key, crc32, is the CRC-32 of all bytes before its value."""
    others = {name: value for name, value in values.items() if name != "crc32"}
    head = json.dumps({**others, "crc32": ""}, indent=1).removesuffix('"\n}')
    return f"{head}{checksum(head.encode())}{JSON_END}".encode()


def is_json_whole(content: bytes) -> bool:
    """Return whether a file is as `checked_json` made it."""
    head, end = content[: -len(JSON_END) - 8], content[-len(JSON_END) - 8 :]
    return head.endswith(b'"crc32": "') and end == f"{checksum(head)}{JSON_END}".encode()


def read_json(path: Path) -> dict:
    """Return the object in a JSON file, verified if it holds a checksum. Raises RunError."""
    try:
        return read_object(path)
    except (FileNotFoundError, RunError) as error:
        raise RunError(f"{path}: damaged: {phrase(error)}; restore it or measure again") from error
    except OSError as error:
        raise RunError(f"{path}: {phrase(error)}") from error


def read_object(path: Path) -> dict:
    """Return the object, as `read_json`. Raises OSError, and RunError without the path."""
    content = _read_patiently(path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(f"it is {'cut off or no JSON' if content else 'empty'}; expected a JSON object") from error
    if not isinstance(value, dict):
        raise RunError("it is other JSON; expected a JSON object")
    if "crc32" in value and not is_json_whole(content):
        raise RunError("its checksum does not match: the file was changed")
    return value


def _read_patiently(path: Path) -> bytes:
    """Read a whole file, retrying: one replaced by another node may be gone under its old handle."""
    for pause_s in LOOK_AGAIN_S:
        try:
            return read_kept(path)
        except OSError as error:
            if error.errno not in (ESTALE, ENOENT):
                raise
        time.sleep(pause_s)
    return read_kept(path)
