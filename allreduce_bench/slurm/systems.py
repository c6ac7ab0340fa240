"""The location of the job templates, and the settings of a system to run them: small files such as generic.cfg."""

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
from .template import LONGEST_FILE, ScriptError, check_values

FOLDER = "allreduce-bench"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]*")
SITE = ("modules", "launcher", "launcher_args", "interface", "ranks_per_node", "stage", "venv", "leave_out")
SECTIONS = {"sbatch": "any option of sbatch by its long name", "site": ", ".join(SITE), "variables": "any variable"}
SUBMITS = ("job-name", "nodes", "ntasks", "ntasks-per-node", "array", "output", "dependency")


class SystemFileError(ValueError):
    """Error: no such system, or a file that does not describe one."""


@dataclass(frozen=True)
class System:
    """What jobs on one system need; empty: the template's own default."""

    name: str
    path: Path
    sbatch: Mapping[str, str | None] = field(default_factory=dict)  # None leaves out the template's
    modules: tuple[str, ...] = ()
    launcher: str = ""
    launcher_args: str = ""
    interface: str = ""
    ranks_per_node: int | None = None
    stage: str = ""
    venv: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # exported before the run


def jobs_folder() -> Path:
    """The folder of the shipped templates, in the checkout or installed. Raises SystemFileError where it is missing."""
    places = [Path(__file__).parents[2] / "jobs"]
    installed = [sysconfig.get_path("data"), site.getuserbase()]
    places += [Path(data) / "share" / FOLDER / "jobs" for data in installed]
    folder = next((place for place in places if (place / "sweep.sbatch").is_file()), None)
    if not folder:
        raise SystemFileError(f"no sweep.sbatch found in {', '.join(map(str, places))}; reinstall the package")
    return folder


def known_systems() -> dict[str, Path]:
    """The files of all systems that are found, by name; of two with the same name the one in the place named first."""
    path_of: dict[str, Path] = {}
    for place in _places():
        for path in sorted(place.glob("*.cfg")):
            if NAME.fullmatch(path.stem) and path.stem not in path_of and _is_system(path):
                path_of[path.stem] = path
    return path_of


def find_system(name: str) -> System:
    """The system with this name, or in the file with this path (with a / or .cfg in it).

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
    """The system that a file describes. Raises SystemFileError, naming what is wrong in it; OSError."""
    parser = configparser.ConfigParser(interpolation=None, default_section="", delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # variables have capitals
    try:
        parser.read_string(read_given_text(path, LONGEST_FILE), source=str(path))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise SystemFileError(f"{path}: {' '.join(str(error).split())}") from error
    sections = {name: dict(parser[name]) for name in parser.sections()}
    site_values = sections.get("site", {})
    for kind, unknown in (("section", set(sections) - set(SECTIONS)), ("key", set(site_values) - set(SITE))):
        if unknown:
            valid = SITE if kind == "key" else (f"[{name}]" for name in SECTIONS)
            raise SystemFileError(f"{path}: unknown {kind} {min(unknown)!r}; valid: {', '.join(valid)}")
    modules, variables = _split_words(site_values.get("modules", "")), sections.get("variables", {})
    directives = _directives(path, sections.get("sbatch", {}), _split_words(site_values.get("leave_out", "")))
    try:
        check_values(directives, modules, variables)  # here, where their file is known
    except ScriptError as error:
        raise SystemFileError(f"{path}: {error}") from error
    return System(
        name=path.stem,
        path=path,
        sbatch=directives,
        modules=modules,
        ranks_per_node=_ranks_per_node(path, site_values.get("ranks_per_node", "")),
        venv=str(Path(venv).expanduser()) if (venv := site_values.get("venv", "")) else "",
        variables=variables,
        **{name: site_values.get(name, "") for name in ("launcher", "launcher_args", "interface", "stage")},
    )


def _places() -> Iterator[Path]:
    """Where the file of a system may lie, in the order of asking."""
    yield from (Path("jobs") / "systems", Path("."))
    own = environ.get("XDG_CONFIG_HOME", "")
    yield (Path(own) if own else Path.home() / ".config") / FOLDER / "systems"
    yield jobs_folder() / "systems"


def _is_system(path: Path) -> bool:
    """Whether the file describes a system: in the working folder other programs have .cfg files, too."""
    try:
        read_system(path)
    except (SystemFileError, OSError):
        return False
    return True


def _directives(path: Path, options: Mapping[str, str], left_out: tuple[str, ...]) -> dict[str, str | None]:
    if of_submit := [name for name in options if name in SUBMITS]:
        advice = "set ranks_per_node in [site]" if of_submit[0] == "ntasks-per-node" else "leave it out"
        raise SystemFileError(f"{path}: [sbatch] {of_submit[0]}: every job sets its own; {advice}")
    return {**options, **dict.fromkeys(left_out)}


def _ranks_per_node(path: Path, text: str) -> int | None:
    if text and not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise SystemFileError(f"{path}: ranks_per_node {text!r}: expected a number of 1 or more, or nothing")
    return int(text) if text else None


def _split_words(text: str) -> tuple[str, ...]:
    """The words of `a, b`, also over several lines."""
    return tuple(word for word in re.split(r"[\s,]+", text) if word)
