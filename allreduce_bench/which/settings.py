"""What was set about all-reduce before a launch, where, what it means, and why it may have no effect.

Read are variables of the environment, options of launchers (`--mca NAME VALUE`, `-x NAME=VALUE`, `-genv NAME VALUE`,
`--export=NAME=VALUE`, a word NAME=VALUE after env, `--tune FILE`), and Open MPI's files of parameters. Only variables
about all-reduce, and those that choose components, are looked at.

What the library itself says of a variable, `mpi_t.read_back` asks in a rank; `judged` puts the two together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..machine import INTEL, MPICH, OPEN_MPI, Reading
from ..machine.variables import allowed_variables
from ..runs.library_algorithms import ADJUST, INTRA, MEANINGS, VALUES
from .rules import RulesError, check_mpich_rules, open_mpi_rules

ENVIRONMENT, COMMAND_LINE = "environment", "command line"  # sources; others are paths of files
IN_RANK = "environment or command line"  # as ranks see it: launchers pass both alike

# Variables
UCC = "UCC"
OF_OPEN_MPI = "OMPI_MCA_"
OF_MPICH = ("MPIR_CVAR_", "MPIR_PARAM_", "MPICH_")  # MPICH takes each of its variables by three prefixes
OTHERS = re.compile(r"allgather|alltoall|barrier|scan|gather|scatter|neighbor|_i(bcast|reduce)", re.IGNORECASE)
OTHER_ALLREDUCE = re.compile(r"MPIR_CVAR_IALLREDUCE\w*|\w*_ALLREDUCE_(INIT|INTER)_\w*")
ABOUT = {  # library -> its variables that are looked at, unless they are about another collective
    OPEN_MPI: re.compile(r"coll|coll_\w+|pml|mtl"),
    MPICH: re.compile(r"\w*(ALLREDUCE|COLL_SELECTION|COLLECTIVE|SMP_COLL|COLL_OPT|REDUCE_INTRA|BCAST_INTRA)\w*"),
    INTEL: re.compile(r"I_MPI_(ADJUST_ALLREDUCE|COLL_|TUNING)\w*"),
    UCC: re.compile(r"UCC_\w*(TUNE|ALLREDUCE|CLS|TLS)\w*|HCOLL_\w*(ALLREDUCE|ENABLE)\w*"),
}
OF_TUNED = "coll_tuned_"
DYNAMIC = "coll_tuned_use_dynamic_rules"
NEED_DYNAMIC = re.compile(r"coll_tuned_(dynamic_rules_filename|\w+_algorithm\w*)")  # are read only with DYNAMIC
RULES_FILE = "coll_tuned_dynamic_rules_filename"
MPICH_RULES = re.compile(r"MPIR_CVAR_(CH4_(POSIX_)?)?COLL_SELECTION_TUNING_JSON_FILE")
PARAMETER_FILES = ("OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files")
WORDS = {INTRA: ("auto", "nb", "smp", "ccl", *dict.fromkeys(VALUES[MPICH].values()))}  # variable -> its values
NUMBERED = {ADJUST: ("13", "14")}  # variable -> values that work, but have no names
TRUE = re.compile(r"[1-9]\d*|t(rue)?|y(es)?|enabled?", re.IGNORECASE)
SUFFIXES = {"k": 2**10, "m": 2**20, "g": 2**30}  # of Open MPI's numbers

# Commands
PAIR = ("--mca", "-mca", "--omca", "-omca", "--gmca", "-gmca")  # then a name and a value
ENVIRONMENT_PAIR = ("-env", "--env", "-genv", "--genv")  # then a name and a value, or NAME=VALUE
GENERAL = (*PAIR, "-genv", "--genv")  # lose against -x, -env
ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
TUNE = ("--tune", "-tune", "--am", "-am")  # then files of parameters
PARAMETER = re.compile(r"^[ \t]*(?:(\w+)[ \t]*=[ \t]*(.*?)|--?mca[ \t]+(\w+)[ \t]+(.*?))[ \t]*$", re.MULTILINE)
EXPORT = re.compile(r"(--export=)(.*)", re.DOTALL)  # of srun


class OfAnotherLibrary(ValueError):
    """A variable that this library does not read."""


class UnknownValue(ValueError):
    """A value that is none of those known for its variable."""


class Setting(NamedTuple):
    """A variable that was set."""

    name: str  # as its library names it: coll_tuned_allreduce_algorithm, MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM
    value: str
    meaning: str  # ring; empty: the value says it
    source: str  # ENVIRONMENT, COMMAND_LINE, IN_RANK, or the path of a file
    library: str  # whose variable
    read: bool | None = None  # whether the library has this value; None: it does not tell
    problem: ValueError | None = None  # why it has no effect, as far as is known


class _Found(NamedTuple):
    """A variable in a command: the words from `start` to `stop`, which become `rest` where it is taken out."""

    variable: str  # as in the environment
    value: str
    start: int
    stop: int
    rest: list[str]


def settings(
    environ: Mapping[str, str],
    command: Sequence[str],
    library: str,
    prefix: Path | None = None,
    of_environ: str = ENVIRONMENT,
) -> list[Setting]:
    """Return what is set for a launch by `command` of a library such as `Open MPI 5.0.11`, installed at `prefix`.

    `of_environ` is the source of what `environ` has. Of several places that set a variable the one that the library
    takes comes first; the others have a problem.
    """
    above, below = _parameter_files(environ, prefix)
    places = _in_files(above)
    of_command = sorted(_in_command(command), key=lambda found: command[found.start] in GENERAL)
    places += [(found.variable, found.value, COMMAND_LINE) for found in of_command]
    places += [(variable, value, of_environ) for variable, value in sorted(environ.items(), key=_order)]
    places += _in_files([*_tune_files(command), *below])
    found: dict[str, Setting] = {}
    overridden = []
    for variable, given, source in places:
        value = allowed_variables({variable: given}).get(variable)
        owner, name = _owner(variable)
        if value is None or not owner:
            continue
        setting = Setting(name, value, _meaning(name, value), source, owner)
        if name in found:
            problem = ValueError(f"set to {found[name].value} by the {found[name].source}")
            overridden.append(setting._replace(problem=problem))
        else:
            found[name] = setting
    checked = (setting._replace(problem=_problem(setting, found, library)) for setting in found.values())
    return [_with_rules(setting, library) for setting in checked] + overridden


def judged(found: Setting, reading: Reading, library: str) -> Setting:
    """Return a setting with what a rank's library says of it."""
    if isinstance(found.problem, OfAnotherLibrary):
        return found
    if not reading.known and not library.startswith((OPEN_MPI, MPICH, INTEL)):
        return found  # Cray's has variables of its environment that MPI_T does not list
    if not reading.known:
        absent = ValueError(f"no variable {found.name} in {library}")
        return found._replace(read=False, problem=absent)
    if reading.value is None:
        return found
    if _same(found.value, reading):
        meaning = found.meaning or (reading.meaning if reading.meaning != found.value else "")
        problem = None if isinstance(found.problem, UnknownValue) else found.problem  # the library's word settles it
        return found._replace(read=True, meaning=meaning, problem=problem)
    kept = f"{reading.value} ({reading.meaning})" if reading.meaning else str(reading.value)
    other = ValueError(f"the library has {kept} for {found.name}")
    return found._replace(read=False, problem=found.problem or other)


def names_to_read(found: Sequence[Setting], library: str) -> list[str]:
    """Return the variables whose values ranks of the library can be asked for."""
    return list(dict.fromkeys(setting.name for setting in found if _fits(setting.library, library)))


def without(environ: Mapping[str, str], command: Sequence[str], setting: Setting) -> tuple[dict[str, str], list[str]]:
    """Return environment and command of the same launch without a setting, wherever they set it.

    Raises ValueError for one that stands in a file.
    """
    if setting.source not in (ENVIRONMENT, COMMAND_LINE):
        raise ValueError(f"{setting.name} is set in {setting.source}: take it out there to see the launch without it")
    words = list(command)
    for found in reversed(list(_in_command(command))):
        if _owner(found.variable)[1] == setting.name:
            words[found.start : found.stop] = found.rest
    exports = [at for at, pair in enumerate(pairwise(words)) if pair[0] == "-x" and _owner(pair[1])[1] == setting.name]
    for at in reversed(exports):  # which would warn of a variable that is not set
        del words[at : at + 2]
    return {name: value for name, value in environ.items() if _owner(name)[1] != setting.name}, words


def parameters_of(path: Path) -> dict[str, str]:
    """Return the parameters of a file of Open MPI, as name -> value; none where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {found[1] or found[3]: (found[2] or found[4]).strip("\"'") for found in PARAMETER.finditer(text)}


def _in_files(paths: Sequence[Path]) -> list[tuple[str, str, str]]:
    """Return variables, values and files."""
    return [(OF_OPEN_MPI + name, value, str(path)) for path in paths for name, value in parameters_of(path).items()]


def _parameter_files(environ: Mapping[str, str], prefix: Path | None) -> tuple[list[Path], list[Path]]:
    """Return Open MPI's files of parameters, winners first: above the command line, and below the environment."""
    home, root = environ.get("HOME"), environ.get("OPAL_PREFIX") or prefix
    named = next((environ[name] for name in PARAMETER_FILES if name in environ), None)
    above = [Path(root) / "etc" / "openmpi-mca-params-override.conf"] if root else []
    if named is not None:
        return above, [Path(path) for path in re.split("[:,]", named) if path]
    below = [Path(home) / ".openmpi" / "mca-params.conf"] if home else []
    return above, below + ([Path(root) / "etc" / "openmpi-mca-params.conf"] if root else [])


def _tune_files(command: Sequence[str]) -> list[Path]:
    """Return the files of parameters that a command of Open MPI names."""
    named = [following for word, following in pairwise(command) if word in TUNE]
    return [Path(path) for names in named for path in names.split(",")]


def _order(item: tuple[str, str]) -> tuple[int, str]:
    """Sort so that of the prefixes of MPICH the one comes first that wins."""
    numbers = (number for number, prefix in enumerate(OF_MPICH) if item[0].startswith(prefix))
    return next(numbers, 0), item[0]


def _in_command(command: Sequence[str]) -> Iterator[_Found]:
    """Yield the variables that the words of a command set, in order."""
    at = 0
    while at < len(command):
        word, following = command[at], list(command[at + 1 : at + 3])
        pair = ASSIGNMENT.fullmatch(following[0]) if following else None
        if word in PAIR and len(following) == 2:
            yield _Found(OF_OPEN_MPI + following[0], following[1], at, at + 3, [])
            at += 3
        elif word in (*ENVIRONMENT_PAIR, "-x") and pair:
            yield _Found(pair[1], pair[2], at, at + 2, [])
            at += 2
        elif word in ENVIRONMENT_PAIR and len(following) == 2:
            yield _Found(following[0], following[1], at, at + 3, [])
            at += 3
        elif export := EXPORT.fullmatch(word):
            items = export[2].split(",")
            for item in items:
                if match := ASSIGNMENT.fullmatch(item):
                    left = ",".join(other for other in items if other != item)
                    yield _Found(match[1], match[2], at, at + 1, [export[1] + left] if left else [])
            at += 1
        elif match := ASSIGNMENT.fullmatch(word):
            yield _Found(match[1], match[2], at, at + 1, [])
            at += 1
        else:
            at += 1


def _owner(variable: str) -> tuple[str, str]:
    """Return whose variable of all-reduce this is, and its name there; empty: nobody's."""
    candidates = [(OPEN_MPI, variable.removeprefix(OF_OPEN_MPI))] if variable.startswith(OF_OPEN_MPI) else []
    for prefix in OF_MPICH:
        if variable.startswith(prefix):
            candidates.append((MPICH, OF_MPICH[0] + variable.removeprefix(prefix)))
    candidates += [(INTEL, variable), (UCC, variable)]
    return next(((owner, name) for owner, name in candidates if _is_about(owner, name)), ("", variable))


def _is_about(owner: str, name: str) -> bool:
    """Return whether a variable of a library is about all-reduce, or about which components there are."""
    if not ABOUT[owner].fullmatch(name) or OTHER_ALLREDUCE.fullmatch(name):
        return False
    return "allreduce" in name.lower() or not OTHERS.search(name)


def _meaning(name: str, value: str) -> str:
    """Return the name of the algorithm, or of the choice, that a number stands for; empty: unknown, or not needed."""
    meanings = MEANINGS.get(name, ())
    found = [meanings[int(one)] for one in _parts(value) if one.isdecimal() and int(one) < len(meanings)]
    return ", ".join(filter(None, found))


def _parts(value: str) -> list[str]:
    """Return the algorithms in a value, of Intel MPI NUMBER:FROM-TO;NUMBER:FROM-TO."""
    return [part.split(":")[0].strip() for part in value.split(";")]


def _unknown_value(name: str, value: str) -> ValueError | None:
    """Return that a value is none of those that are known for the variable, with these."""
    numbered = MEANINGS.get(name, ())
    words = [f"{number} ({word})" for number, word in enumerate(numbered) if word]
    known = {*map(str, range(len(numbered))), *filter(None, numbered), *WORDS.get(name, ()), *NUMBERED.get(name, ())}
    if not known or all(one.lower() in known for one in _parts(value)):
        return None
    shown = ", ".join([*words, *NUMBERED.get(name, ()), *WORDS.get(name, ())])
    return UnknownValue(f"{value} is no known value of {name}; known: {shown}")


def _problem(setting: Setting, found: Mapping[str, Setting], library: str) -> ValueError | None:
    """Return why a setting has no effect in this library, as far as that shows before the launch."""
    if not _fits(setting.library, library):
        return OfAnotherLibrary(f"a variable of {setting.library}, but the library is {library}")
    if unknown := _unknown_value(setting.name, setting.value):
        return unknown
    dynamic = found.get(DYNAMIC)
    if NEED_DYNAMIC.fullmatch(setting.name) and not (dynamic and TRUE.fullmatch(dynamic.value)):
        return ValueError(f"{setting.name} is read only with {DYNAMIC}=1")
    return None


def _fits(owner: str, library: str) -> bool:
    """Return whether a library has variables of this owner: Cray's and Intel's are made of MPICH, UCC is below many."""
    return owner == UCC or library.startswith(owner) or (owner == MPICH and library.startswith((INTEL, "MPI VERSION")))


def _with_rules(setting: Setting, library: str) -> Setting:
    """Return a setting that names a file of rules with what the file says, or why it is not used."""
    of_mpich = MPICH_RULES.fullmatch(setting.name)
    if setting.problem or not (of_mpich or setting.name == RULES_FILE):
        return setting
    try:
        if of_mpich:
            check_mpich_rules(Path(setting.value), is_alone=not of_mpich[1])
            return setting
        version = re.search(r"(\d+)", library)
        rules = open_mpi_rules(Path(setting.value), int(version[1]) if version else 0)
    except RulesError as error:
        return setting._replace(problem=error)
    return setting._replace(meaning=f"{len(rules)} rule{'s' * (len(rules) > 1)}")


def _same(given: str, reading: Reading) -> bool:
    """Return whether a value as given is what the library has."""
    if given in (str(reading.value), reading.meaning):
        return True
    if isinstance(reading.value, bool) or (reading.meaning in ("true", "false")):
        return bool(TRUE.fullmatch(given)) == bool(reading.value)
    scale = SUFFIXES.get(given[-1:].lower(), 1)
    digits = given[:-1] if scale > 1 else given
    try:
        return int(digits, 0) * scale == reading.value
    except ValueError:
        return False
