"""MPI_T, the tools interface of MPI: what the loaded library lets be read and written about itself.

Control variables are its settings, performance variables its counters. They are reached by ctypes in the library that
mpi4py is linked with; its handles are pointers (Open MPI) or integers (MPICH, Intel MPI).

A written setting acts on the communicators that are made afterwards (Open MPI: also on those that its han makes
below them at their first call), or on the next call of all (MPICH). `forced` therefore restores it at its end only.
Intel MPI 2021.18 takes what is written without an error, and goes on as it was started: `forced` refuses it.

Texts cannot be trusted where handles are integers: MPICH 5.0.2 and Intel MPI return the default of a text variable,
whatever the environment says. `Variable.shows_value` tells, and `forced` refuses them.
"""

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ctypes import byref
from functools import cache
from typing import Any, NamedTuple

from mpi4py import MPI

from ..machine import INTEL, Reading
from ..machine.mpi import library_name
from ..units import format_ranges, nearest

Value = int | float | str

NAME_LETTERS, TEXT_LETTERS = 512, 8192
C_TYPES: Mapping[str, Any] = {  # the types that MPI_T allows, and the logical one that Open MPI adds
    "INT": ctypes.c_int,
    "UNSIGNED": ctypes.c_uint,
    "UNSIGNED_LONG": ctypes.c_ulong,
    "UNSIGNED_LONG_LONG": ctypes.c_ulonglong,
    "COUNT": ctypes.c_longlong,
    "DOUBLE": ctypes.c_double,
    "C_BOOL": ctypes.c_bool,
    "CHAR": ctypes.c_char,
}
CHOICE = re.compile(r"^\s*(\w+)\s+- ", re.MULTILINE)  # a line of MPICH's descriptions: name of a value, what it does
ALIAS = re.compile(r"@Alias:# (\w+)")  # in Intel MPI's descriptions: the name by which its users set it


class NoControl(RuntimeError):
    """This MPI library has no MPI_T, no such variable in it, or does not let it be set to this value now."""


class CallFailed(NoControl):
    """A call of MPI_T failed; `why` is what the library says."""

    def __init__(self, sentence: str, why: str = ""):
        super().__init__(sentence)
        self.why = why


class Variable(NamedTuple):
    """A control or a performance variable."""

    number: int
    name: str
    c_type: Any
    meanings: Mapping[int, str]  # of its values, as far as the library tells
    description: str

    @property
    def is_text(self) -> bool:
        """Whether its values are texts."""
        return self.c_type is ctypes.c_char

    @property
    def shows_value(self) -> bool:
        """Whether reading tells its present value, see the module's docstring."""
        return not self.is_text or MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_void_p)

    def value_of(self, given: Value) -> Value:
        """Return a value given by its meaning, as a number, or as such a text. Raises NoControl.

        MPICH accepts a number without a meaning, and fails an assertion at its next call.
        """
        if self.is_text:
            return str(given)
        named: dict[Value, Value] = {meaning: value for value, meaning in self.meanings.items()}
        try:
            value = named[given] if given in named else self._number(given)
        except ValueError:
            value = None
        if value is None or (named and value not in self.meanings):
            expected = ", ".join(map(str, named)) or "a number"
            raise NoControl(f"{self.name}: expected {expected}, found {given!r}")
        return value

    def _number(self, given: Value) -> Value:
        if self.c_type is ctypes.c_double:
            return float(given)
        return int(given, 0) if isinstance(given, str) else int(given)


class Control:
    """The MPI_T of this process, between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self._module = ctypes.CDLL(
            MPI.__file__
        )  # loaded already; the search goes on in the libraries it is linked with

    def __enter__(self) -> "Control":
        """Start MPI_T, which counts its starts. Raises NoControl."""
        # Open MPI sets the thread level of MPI itself to the one asked for here
        self._call("init_thread", MPI.Query_thread(), byref(ctypes.c_int()))
        return self

    def __exit__(self, *_: object) -> None:
        self._call("finalize")

    def names(self) -> Mapping[str, int]:
        """Return all control variables, as name -> index."""
        return {name: index for index in range(self._number("cvar")) if (name := self._described(index)[0])}

    def variable(self, name: str) -> Variable:
        """Return a control variable. Raises NoControl."""
        index = ctypes.c_int()
        try:
            self._call("cvar_get_index", name.encode(), byref(index))
        except NoControl:
            names = self.names()
            index.value = names.get(name, -1)
            if index.value < 0:
                near = nearest(name, names)
                near = f"; {near}" if near else ""
                raise NoControl(f"no variable {name} in {_library()}{near}") from None
        _, c_type, meanings, description = self._described(index.value)
        return Variable(index.value, name, c_type, meanings, description)

    def set_by_users_as(self, name: str) -> str | None:
        """Return the variable that users set by this other name, as I_MPI_ADJUST_ALLREDUCE; None: there is none."""
        for index in range(self._number("cvar")):
            variable, _, _, description = self._described(index)
            if name in ALIAS.findall(description):
                return variable
        return None

    def read(self, name: str) -> Value:
        """Return the value of a control variable. Raises NoControl."""
        variable = self.variable(name)
        with self._handle(variable) as (handle, count):
            buffer = _buffer(variable, count)
            self._call("cvar_read", handle, buffer)
        return buffer.value.decode(errors="replace") if variable.is_text else buffer[0]

    def write(self, name: str, value: Value) -> None:
        """Set a control variable in this process. Raises NoControl."""
        variable = self.variable(name)
        with self._handle(variable) as (handle, count):
            buffer = _buffer(variable, count)
            if variable.is_text:
                buffer.value = str(value).encode()
            else:
                buffer[0] = value
            try:
                self._call("cvar_write", handle, buffer)
            except CallFailed as error:
                raise NoControl(f"{name} of {_library()} cannot be set to {value} now: {error.why}") from None

    @contextmanager
    def counters(self, comm: MPI.Comm, names: list[str]) -> Iterator[Callable[[], list[list[int]]]]:
        """Yield a function that reads performance variables of `comm`: for each name its whole numbers.

        Raises NoControl if there is no such variable.
        """
        session, handles, known = ctypes.c_void_p(), [], self._performance_names()
        missing = [name for name in names if name not in known]
        for name in missing:
            raise NoControl(f"no variable {name} in {_library()}")
        self._call("pvar_session_create", byref(session))
        try:
            for name in names:
                handle, count = ctypes.c_void_p(), ctypes.c_int()
                of_comm = ctypes.c_void_p(MPI._addressof(comm))
                self._call("pvar_handle_alloc", session, known[name], of_comm, byref(handle), byref(count))
                handles.append((handle, (ctypes.c_uint64 * count.value)()))
                self._module.MPI_T_pvar_start(session, handle)  # refused for those that always count

            def read() -> list[list[int]]:
                for handle, buffer in handles:
                    self._call("pvar_read", session, handle, buffer)
                return [list(buffer) for _, buffer in handles]

            yield read
        finally:
            for handle, _ in handles:
                self._module.MPI_T_pvar_handle_free(session, byref(handle))
            self._module.MPI_T_pvar_session_free(byref(session))

    def _performance_names(self) -> dict[str, int]:
        found = {}
        for index in range(self._number("pvar")):
            name, length = ctypes.create_string_buffer(NAME_LETTERS), ctypes.c_int(NAME_LETTERS)
            numbers, pointers, none = [ctypes.c_int() for _ in range(6)], [ctypes.c_void_p() for _ in range(2)], None
            verbosity, kind, *rest = map(byref, numbers)
            described = (none, byref(ctypes.c_int()), *rest)  # without a description
            arguments = (index, name, byref(length), verbosity, kind, *map(byref, pointers), *described)
            with suppress(NoControl):  # of a component that was closed
                self._call("pvar_get_info", *arguments)
                found[name.value.decode()] = index
        return found

    def _described(self, index: int) -> tuple[str, Any, Mapping[int, str], str]:
        """Return name, C type, meanings of values and description; no name: it has none any more."""
        name, text = ctypes.create_string_buffer(NAME_LETTERS), ctypes.create_string_buffer(TEXT_LETTERS)
        name_length, text_length = ctypes.c_int(NAME_LETTERS), ctypes.c_int(TEXT_LETTERS)
        verbosity, bind, scope = (ctypes.c_int() for _ in range(3))
        datatype, values = ctypes.c_void_p(), ctypes.c_void_p()
        ends = (text, byref(text_length), byref(bind), byref(scope))
        try:
            self._call(
                "cvar_get_info",
                index,
                name,
                byref(name_length),
                byref(verbosity),
                byref(datatype),
                byref(values),
                *ends,
            )
        except NoControl:  # of a component that was closed
            return "", ctypes.c_int, {}, ""
        description = text.value.decode(errors="replace")
        meanings = self._meanings(values) if values.value else dict(enumerate(CHOICE.findall(description)))
        return name.value.decode(), _c_type(datatype.value or 0), meanings, description

    def _meanings(self, values: ctypes.c_void_p) -> dict[int, str]:
        count, name, length = ctypes.c_int(), ctypes.create_string_buffer(NAME_LETTERS), ctypes.c_int(NAME_LETTERS)
        self._call("enum_get_info", values, byref(count), name, byref(length))
        found = {}
        for item in range(count.value):
            value, length = ctypes.c_int(), ctypes.c_int(NAME_LETTERS)
            self._call("enum_get_item", values, item, byref(value), name, byref(length))
            found[value.value] = name.value.decode()
        return found

    def _number(self, kind: str) -> int:
        count = ctypes.c_int()
        self._call(f"{kind}_get_num", byref(count))
        return count.value

    @contextmanager
    def _handle(self, variable: Variable) -> Iterator[tuple[ctypes.c_void_p, int]]:
        handle, count = ctypes.c_void_p(), ctypes.c_int()
        self._call("cvar_handle_alloc", variable.number, None, byref(handle), byref(count))
        try:
            yield handle, count.value
        finally:
            self._call("cvar_handle_free", byref(handle))

    def _call(self, name: str, *arguments: object) -> None:
        """Call an MPI_T function. Raises NoControl."""
        try:
            function = getattr(self._module, f"MPI_T_{name}")
        except AttributeError:
            raise NoControl(
                f"{_library()} has no MPI_T_{name}, so its settings can neither be read nor changed from inside"
            ) from None
        if code := function(*arguments):
            why = MPI.Get_error_string(code)
            raise CallFailed(f"MPI_T_{name} of {_library()} failed: {why}", why)


def read_back(names: list[str]) -> dict[str, Reading]:
    """Return what this rank's library says of its variables, named as users set them. Raises NoControl: no MPI_T."""
    with Control() as control:
        return {name: _reading(control, name) for name in names}


def _reading(control: Control, name: str) -> Reading:
    try:
        variable = control.variable(name)
    except NoControl:
        other = control.set_by_users_as(name)
        if other is None:
            return Reading(known=False)
        variable = control.variable(other)
    if not variable.shows_value:
        return Reading(known=True)
    value = control.read(variable.name)
    return Reading(True, value, variable.meanings.get(value, "") if isinstance(value, int) else "")


@contextmanager
def forced(comm: MPI.Comm, settings: Mapping[str, Value]) -> Iterator[MPI.Comm]:
    """Yield a duplicate of `comm`, on which the library works with these values of its control variables.

    All ranks of `comm` enter, with the same settings. Raises NoControl on all of them where one cannot write a value,
    or reads another one back. At the end the former values are restored, and the duplicate is freed, but not where the
    body fails: that rank would wait for the others.
    """
    with Control() as control:
        former: dict[str, Value] = {}
        try:
            _together(comm, _written(control, settings, former))
            made = comm.Dup()
            yield made
            made.Free()
        finally:
            for name, value in former.items():
                control.write(name, value)


def _written(control: Control, settings: Mapping[str, Value], former: dict[str, Value]) -> NoControl | None:
    """Write the settings of this rank, and collect what was there; return what went wrong, None: nothing."""
    try:
        for name, value in settings.items():
            variable = control.variable(name)
            if not variable.shows_value or _library().startswith(INTEL):
                return NoControl(
                    f"{name} of {_library()} is not set inside a launch, where it may have no effect; set it before "
                    "the start"
                )
            asked = variable.value_of(value)
            before = control.read(name)
            control.write(name, asked)
            former[name] = before
            if (found := control.read(name)) != asked:
                return NoControl(f"{name} was set to {value}, but reads {found}")
    except NoControl as error:
        return error
    return None


def _together(comm: MPI.Comm, error: NoControl | None) -> None:
    """Wait for all ranks. Raises NoControl on all of them if one has an error."""
    errors = comm.allgather(error)
    comm.Barrier()
    first = next((error for error in errors if error), None)
    if first:
        ranks = [rank for rank, error in enumerate(errors) if error]
        on = "" if len(ranks) == len(errors) else f"rank {format_ranges(ranks)}: "
        raise NoControl(f"{on}{first}") if on else first


def _buffer(variable: Variable, count: int) -> Any:
    return ctypes.create_string_buffer(max(count, 1)) if variable.is_text else (variable.c_type * max(count, 1))()


@cache
def _library() -> str:
    return library_name(MPI.Get_library_version())


@cache
def _c_type(handle: int) -> Any:
    """Return the C type of a datatype's handle; int if MPI_T allows no such type."""
    for name, c_type in C_TYPES.items():
        datatype = getattr(MPI, name)
        own = ctypes.c_void_p if MPI._sizeof(datatype) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_uint32
        if own.from_address(MPI._addressof(datatype)).value == handle:
            return c_type
    return ctypes.c_int
