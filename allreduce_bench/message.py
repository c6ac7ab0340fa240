"""Messages to people as values: a code and its values, which a table of templates turns into a sentence.

The core's table is `messages`; each wing offers one of its own as `messages`. Tables are loaded when a sentence is
made: ranks keep and send codes, and the process that started them prints the words.
"""

from functools import cache
from importlib import import_module
from typing import Any


def template_of(code: str) -> str:
    """Return the template of a code. Raises KeyError for a code that is in no table."""
    table = _core()
    return table[code] if code in table else _wings()[code]


def say(code: str, /, **values: object) -> str:
    """Return the sentence of a code with its values. Raises KeyError where the code or a value is missing."""
    return template_of(code).format(**values)


class Refused(Exception):
    """An error whose sentence is a code with values."""

    def __init__(self, code: str, /, **values: Any):
        super().__init__(code, values)
        self.code, self.values = code, values

    def __str__(self) -> str:
        return say(self.code, **self.values)

    def __reduce__(self) -> tuple[Any, ...]:  # else copies and pickles would be made of `args` alone
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[Refused], args: tuple, state: dict[str, Any]) -> Refused:
    """Return a copied error."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class BadValue(Refused, ValueError):
    """An argument, a text or a file that makes no sense."""


class BadType(Refused, TypeError):
    """An argument of another type than is expected."""


@cache
def _core() -> dict[str, str]:
    return import_module(".messages", __package__).MESSAGES


@cache
def _wings() -> dict[str, str]:
    from .wings import load_offers  # late: ranks say only words of the core

    return {code: template for table in load_offers("messages") for code, template in table.items()}
