"""A machine as its models: what `fit` found, in a file that `predict` reads; or bare, from alpha and beta alone."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms import builtin
from ..runs.atomic_write import write_whole
from .forms import Form, meanings
from .model import Errors, Model, Parameter, Part

KIND, MACHINE_VERSION = "allreduce-bench machine", 1


class MachineError(ValueError):
    """A file that is no machine file, or one without what is asked of it, in words."""


@dataclass(frozen=True)
class Machine:
    """Models of series, and where they are from."""

    models: tuple[Model, ...]
    program: str = ""
    created: str = ""
    runs: tuple[dict[str, Any], ...] = ()  # run, mpi, hosts, ranks, nodes: what was fitted
    bare: bool = False  # nothing was measured: alpha and beta were given
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"kind": KIND, "schema_version": MACHINE_VERSION, **asdict(self)}


class Prices(NamedTuple):
    """What a message and a byte of it cost, in seconds."""

    alpha_s: float
    beta_s_per_byte: float


def bare_machine(
    alpha_s: float, beta_s_per_byte: float, gamma_s_per_byte: float = 0.0, within: Prices | None = None
) -> Machine:
    """Every built-in algorithm at these prices, with others within nodes if there are; none of it was measured."""
    given = Prices(alpha_s, beta_s_per_byte)
    links = {"": given} if within is None else {"within": within, "between": given}
    prices = [(name, link, value) for link, price in links.items() for name, value in price._asdict().items()]
    prices.append(("gamma_s_per_byte", "", gamma_s_per_byte))
    parameters = tuple(Parameter(name, link, 0.0, value, None, None, True) for name, link, value in prices)
    form = Form(reduced=True, levels=len(links))
    parts = {name: (Part(name, form, parameters),) for name in builtin()}
    return Machine(tuple(Model(name, part) for name, part in parts.items()), bare=True)


def write_machine(machine: Machine, path: Path) -> None:
    """Write `machine` as JSON; missing parent folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(machine.to_json(), indent=1, allow_nan=False) + "\n")


def read_machine(path: Path) -> Machine:
    """The machine that `write_machine` wrote. Raises MachineError: absent, no machine file, or of another schema."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineError(
            f"{path}: {error.strerror}; expected a machine file, as 'allreduce-bench fit' writes it"
        ) from error
    except ValueError as error:
        raise MachineError(f"{path}: no JSON: {error}; expected a machine file, as 'fit' writes it") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise MachineError(f"{path}: no machine file; expected one that 'allreduce-bench fit' wrote")
    if content.get("schema_version") != MACHINE_VERSION:
        found = content.get("schema_version")
        raise MachineError(f"{path}: of schema {found}; this program reads {MACHINE_VERSION}: fit the runs anew")
    try:
        models = tuple(map(_model, content["models"]))
        runs, notes = tuple(dict(run) for run in content["runs"]), tuple(map(str, content["notes"]))
        return Machine(models, str(content["program"]), str(content["created"]), runs, bool(content["bare"]), notes)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MachineError(f"{path}: damaged: {type(error).__name__}: {error}; fit the runs anew") from error


def _model(values: dict[str, Any]) -> Model:
    known = {one.name for one in fields(Model)}
    if set(values) != known:
        raise ValueError(f"a model has other fields: {', '.join(sorted(set(values) ^ known))}")
    _refuse_odd(values)
    lists = {name: tuple(values[name]) for name in ("ranks", "nbytes", "notes")}
    errors = {name: {key: Errors(*of) for key, of in values[name].items()} for name in ("errors", "plain_errors")}
    return Model(**{**values, **lists, **errors, "parts": tuple(map(_part, values["parts"]))})


def _refuse_odd(values: dict[str, Any]) -> None:
    """Raises ValueError for a field of a model that holds something else than it should."""
    for name in ("algorithm", "run", "executor", "cache", "dtype", "op"):
        if not isinstance(values[name], str):
            raise ValueError(f"{name} is {values[name]!r:.40}, expected text")
    for name in ("ranks", "nbytes", "itemsize", "segment"):
        known = values[name] if isinstance(values[name], list) else [values[name] or 1]  # a segment may be None
        if not all(isinstance(one, int) and one > 0 for one in known):
            raise ValueError(f"{name} is {values[name]!r:.40}, expected whole numbers above 0")
    for name in ("ranks_per_node", "reach_log"):
        _number(name, values[name] or 0)  # both may be None
    _number("reach_log_per_doubling", values["reach_log_per_doubling"])
    if not values["parts"]:
        raise ValueError("a model has no parts")


def _part(values: Sequence) -> Part:
    priced_as, form, parameters, contention = values
    call, reduced, levels, knots, contended = form
    if priced_as not in builtin():
        raise ValueError(f"it is priced as '{priced_as}', which is no algorithm of this version")
    shape = Form(call, reduced, levels, tuple(_number("a knot", knot) for knot in knots), contended)
    found = tuple(Parameter(*parameter) for parameter in parameters)
    if [one[:3] for one in found] != meanings(shape):
        raise ValueError(f"its parameters are not those of {shape.name}")
    for one in found:
        _number(one.name, one.value)
    return Part(priced_as, shape, found, _number("contention", contention))


def _number(name: str, value: Any) -> float:
    """A finite number of 0 or more. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} is {value!r:.40}, expected a number of 0 or more")
    return float(value)
