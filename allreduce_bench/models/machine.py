"""Machine as a set of models: from `fit`, in a file that `predict` reads; or bare, from alpha and beta alone."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms import builtin, is_builtin
from ..runs.files import nearest_name, read_given_text, write_atomically
from ..runs.typed_json import read_as
from ..units import printable
from .alpha_beta import BETWEEN, GAMMA, WITHIN, Parameter
from .model import Model

KIND, MACHINE_VERSION = "allreduce-bench machine", 5
LONGEST_FILE = 16 * 2**20  # bytes, for hundreds of series
NUMBERS = re.compile(r"\[[\s\d.,e+-]+\]")  # a list of them


class MachineError(ValueError):
    """Error: the file is no machine file, or lacks what is asked of it."""


@dataclass(frozen=True)
class Machine:
    """Models of series, and their origin."""

    models: tuple[Model, ...]
    program: str = ""  # program and version that made the file; empty: not known
    created: str = ""  # ISO 8601; empty: not known
    runs: tuple[dict[str, Any], ...] = ()  # what was fitted
    bare: bool = False  # True: nothing was measured, prices were given
    notes: tuple[str, ...] = field(default=())  # what could not be fitted, and gamma, in sentences

    @property
    def is_of_one_node(self) -> bool:
        """Return whether cells were measured, and none of them over several nodes."""
        cells = [cell for model in self.models for cell in model.cells]
        return bool(cells) and all(cell.nodes == 1 for cell in cells)

    def to_json(self) -> dict[str, Any]:
        """Return the machine as JSON values."""
        return {"kind": KIND, "schema_version": MACHINE_VERSION, **asdict(self)}


class Prices(NamedTuple):
    """Cost of a message and of a byte, in seconds."""

    alpha_s: float
    beta_s_per_byte: float


def bare_machine(
    alpha_s: float, beta_s_per_byte: float, gamma_s_per_byte: float = 0.0, within: Prices | None = None
) -> Machine:
    """Return every built-in algorithm at these prices, optionally with others within nodes; nothing is measured."""
    given = Prices(alpha_s, beta_s_per_byte)
    links = {"": given} if within is None else {WITHIN: within, BETWEEN: given}
    prices = [Parameter(name, link, value) for link, price in links.items() for name, value in price._asdict().items()]
    parameters = (*prices, Parameter(GAMMA, "", gamma_s_per_byte))
    return Machine(tuple(Model(name, name, parameters) for name in builtin()), bare=True)


def add_algorithms(machine: Machine, names: Iterable[str]) -> Machine:
    """Return a bare machine with those algorithms of `names` that have parameters.

    Another machine is returned as it is. Raises AlgorithmError.
    """
    known = {model.algorithm for model in machine.models}
    added = [name for name in names if machine.bare and name not in known and is_builtin(name)]
    models = [replace(machine.models[0], competitor=name, priced_as=name) for name in added]  # all have the same prices
    return replace(machine, models=(*machine.models, *models))


def write_machine(machine: Machine, path: Path) -> None:
    """Write `machine` as JSON, a line a list of numbers. Raises OSError."""
    text = json.dumps(machine.to_json(), indent=1, allow_nan=False)
    write_atomically(path, NUMBERS.sub(lambda found: f"[{' '.join(found.group()[1:-1].split())}]", text) + "\n")


def is_machine_file(path: Path) -> bool:
    """Return whether the file begins as `write_machine` has it, whatever follows. Raises OSError."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return KIND.encode() in file.read(100)


def read_machine(path: Path) -> Machine:
    """Read a file of `write_machine`. Raises MachineError if it is absent, no machine file, or of another schema."""
    try:
        content = _printable(json.loads(read_given_text(path, LONGEST_FILE)))
    except OSError as error:
        raise MachineError(
            f"{path}: {error.strerror}; {nearest_name(path)}expected a machine file, as 'allreduce-bench fit' writes it"
        ) from error
    except (ValueError, RecursionError) as error:
        raise MachineError(f"{path}: not JSON; expected a machine file, as 'fit' writes it") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise MachineError(f"{path}: not a machine file; expected the output of 'allreduce-bench fit'")
    if (version := content.get("schema_version")) != MACHINE_VERSION:
        raise MachineError(
            f"{path}: of schema {version!r:.40}; this program reads {MACHINE_VERSION}: fit the runs again"
        )
    try:
        fields = {name: value for name, value in content.items() if name not in ("kind", "schema_version")}
        return read_as(Machine, fields, exact=True)
    except ValueError as error:
        raise MachineError(f"{path}: damaged: {error}; fit the runs again") from error


def _printable(value: Any) -> Any:
    """Return JSON values without letters that would steer a terminal."""
    if isinstance(value, list):
        return [_printable(one) for one in value]
    if isinstance(value, dict):
        return {name: _printable(one) for name, one in value.items()}
    return printable(value) if isinstance(value, str) else value
