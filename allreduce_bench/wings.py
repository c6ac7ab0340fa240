"""The register of wings: optional folders, each with a module `wing` that declares what it adds.

The core imports no wing. Where one can add something (a command, a schema, a section of the page), the core asks here;
the modules of a wing are imported on demand. A missing folder is left out.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

WINGS = (
    "allreduce_bench.comparison",
    "allreduce_bench.health",
    "allreduce_bench.lab",
    "allreduce_bench.order",
    "allreduce_bench.pages",
    "allreduce_bench.programs",
    "allreduce_bench.stragglers",
    "allreduce_bench.survive",
    "allreduce_bench.training",
    "allreduce_bench.which",
)


class Command(NamedTuple):
    """A command of the command line."""

    group: str  # title under which it is listed
    after: str  # the command that it is listed after; not there: it comes last
    place: str  # "module:name" of the click command, the module relative to the wing
    purpose: str  # in one line


class Wing(NamedTuple):
    """The additions of a wing; places are "module:name", the module relative to the wing."""

    commands: Mapping[str, Command] = {}  # by their names
    offers: Mapping[str, str] = {}  # by names that the core asks for


@cache
def wings() -> Mapping[str, Wing]:
    """Return the installed wings, by the names of their packages."""
    return {name: import_module(f"{name}.wing").WING for name in WINGS if find_spec(name)}


def load(wing: str, place: str) -> Any:
    """Return the object at a place of a wing. Raises ImportError or AttributeError if there is none."""
    module, name = place.split(":")
    return getattr(import_module(f"{wing}.{module}"), name)


def offered(name: str) -> list[Any]:
    """Return what the wings offer under this name, in the order of WINGS."""
    return [load(package, wing.offers[name]) for package, wing in wings().items() if name in wing.offers]
