"""The file of a system: what the jobs there need, such as partition, modules, launcher and variables."""

import configparser
import re
import site
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import environ
from pathlib import Path

from ..runs.files import read_given_text
from ..units import unknown_word
from .script import ScriptError, directive_lines, export_lines, module_lines
from .times import parse_limit

LONGEST_FILE = 2**20  # bytes
FOLDER = "allreduce-bench"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]*")
SITE = ("modules", "launcher", "launcher_args", "interface", "ranks_per_node", "venv", "leave_out")
SECTIONS = ("sbatch", "site", "variables")
SUBMITS = ("job-name", "nodes", "ntasks", "ntasks-per-node", "array", "output", "dependency")


class SystemFileError(ValueError):
    """An unknown system, or a file that does not describe one."""


@dataclass(frozen=True)
class System:
    """The settings of jobs on one system; empty: as any job has it."""

    name: str
    path: Path
    sbatch: Mapping[str, str | None] = field(default_factory=dict)  # None: left out
    modules: tuple[str, ...] = ()
    launcher: str = ""
    launcher_args: str = ""
    interface: str = ""
    ranks_per_node: int | None = None
    venv: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # exported before the run

    @property
    def limit_s(self) -> float | None:
        """Time limit of a job; None: not set. Raises ValueError."""
        return parse_limit(limit) if (limit := self.sbatch.get("time")) else None


def known_systems() -> dict[str, Path]:
    """Return the files of all systems found, by name; of duplicates the one in the first place."""
    path_of: dict[str, Path] = {}
    for place in _places():
        for path in sorted(place.glob("*.cfg")):
            if NAME.fullmatch(path.stem) and path.stem not in path_of and _is_system(path):
                path_of[path.stem] = path
    return path_of


def find_system(name: str) -> System:
    """Return the system with this name, or in the file with this path (with a / or .cfg in it).

    Raises SystemFileError: unknown, or no description of a system; OSError.
    """
    if not name.isprintable():
        raise SystemFileError(f"system {name!r}: expected a name, or the path of a .cfg file")
    if "/" in name or name.endswith(".cfg"):
        return read_system(Path(name).expanduser())
    for place in _places() if NAME.fullmatch(name) else ():
        if (path := place / f"{name}.cfg").is_file():
            return read_system(path)
    sentence = unknown_word("system", name, known_systems())
    raise SystemFileError(f"{sentence}; looked for its .cfg file in {', '.join(map(str, _places()))}")


def read_system(path: Path) -> System:
    """Read the system that a file describes. Raises SystemFileError, naming the error in it; OSError."""
    parser = configparser.ConfigParser(interpolation=None, default_section="", delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # variables have capitals
    try:
        parser.read_string(read_given_text(path, LONGEST_FILE), source=str(path))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise SystemFileError(f"{path}: {' '.join(str(error).split())}") from error
    sections = {name: dict(parser[name]) for name in parser.sections()}
    said, options = sections.get("site", {}), sections.get("sbatch", {})
    for kind, unknown in (("section", set(sections) - set(SECTIONS)), ("key", set(said) - set(SITE))):
        if unknown:
            valid = SITE if kind == "key" else (f"[{name}]" for name in SECTIONS)
            raise SystemFileError(f"{path}: unknown {kind} {min(unknown)!r}; valid: {', '.join(valid)}")
    if of_submit := [name for name in options if name in SUBMITS]:
        advice = "set ranks_per_node in [site]" if of_submit[0] == "ntasks-per-node" else "leave it out"
        raise SystemFileError(f"{path}: [sbatch] {of_submit[0]}: every job sets its own; {advice}")
    if (ranks := said.get("ranks_per_node", "")) and not re.fullmatch(r"[1-9]\d{0,5}", ranks):
        raise SystemFileError(f"{path}: ranks_per_node {ranks!r}: expected a number of 1 or more, or nothing")
    system = System(
        name=path.stem,
        path=path,
        sbatch={**options, **dict.fromkeys(_split_words(said.get("leave_out", "")))},
        modules=_split_words(said.get("modules", "")),
        ranks_per_node=int(ranks) if ranks else None,
        venv=str(Path(venv).expanduser()) if (venv := said.get("venv", "")) else "",
        variables=sections.get("variables", {}),
        **{name: said.get(name, "") for name in ("launcher", "launcher_args", "interface")},
    )
    _check_values(system)
    return system


def _check_values(system: System) -> None:
    """Raise SystemFileError for a value that no script can hold: here the file is known."""
    try:
        directive_lines(system.sbatch)
        module_lines(system.modules)
        export_lines(system.variables)
    except ScriptError as error:
        raise SystemFileError(f"{system.path}: {error}") from error
    try:
        _ = system.limit_s
    except ValueError as error:
        raise SystemFileError(f"{system.path}: [sbatch] time: {error}") from error


def _places() -> Iterator[Path]:
    """Yield the places of system files, in search order: the working folder, the user's, those that are shipped."""
    yield from (Path("jobs") / "systems", Path("."))
    own = environ.get("XDG_CONFIG_HOME", "")
    yield (Path(own) if own else Path.home() / ".config") / FOLDER / "systems"
    yield Path(__file__).parents[2] / "jobs" / "systems"  # in a checkout
    for data in (sysconfig.get_path("data"), site.getuserbase()):
        yield Path(data) / "share" / FOLDER / "jobs" / "systems"


def _is_system(path: Path) -> bool:
    """Return whether the file describes a system: in the working folder other programs have .cfg files, too."""
    try:
        read_system(path)
    except (SystemFileError, OSError):
        return False
    return True


def _split_words(text: str) -> tuple[str, ...]:
    """Return the words of `a, b`, also over several lines."""
    return tuple(word for word in re.split(r"[\s,]+", text) if word)
