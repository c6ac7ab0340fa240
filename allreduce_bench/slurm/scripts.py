"""Job scripts: templates, settings of systems, the rendered scripts of a sweep, and its order as a table.

A template is a valid script with defaults, and rendering replaces its values. Its lines that can be replaced are
`#SBATCH --name=value`, `NAME=${NAME:-default}` and `NAME=(words)`, each at the beginning of its line and with or
without a comment, and `# module load ...` and `# export ...`. All else stays.
"""

import configparser
import re
import shlex
import site
import sysconfig
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import environ
from pathlib import Path
from typing import Any

from ..runs.files import read_given_text
from ..units import escaped, three_digits, unknown_word
from .job_files import JOBS, SubmissionChoices
from .submit import (
    HERE,
    SHORT_LIMIT_S,
    Script,
    SubmissionOrder,
    SweepJob,
    format_limit,
    limit_for,
    next_number,
    parse_limit,
    warning_for,
)

# templates
LONGEST_FILE = 2**20  # bytes: of a template, or of the file of a system
PIECE = re.compile(
    r"""^(?:
    \#SBATCH[ \t]+--(?P<directive>[a-z][a-z0-9-]*)(?:=(?P<value>"[^"\\\n]*"|[^\s"'\\\#]+))?
    | (?P<name>[A-Z][A-Z0-9_]*)=(?:\$\{(?P=name):-.*?\}|(?P<array>\((?s:.*?)\)))
    | (?P<modules>\#[ ]module[ ]load[ ].*?)
    | (?P<exports>\#[ ]export[ ].*?)
    )(?P<comment>[ \t]+\#.*)?[ \t]*$\n?""",
    re.MULTILINE | re.VERBOSE,
)
PLACEHOLDERS = {"modules": "# module load NAME", "exports": "# export NAME=VALUE"}


# values
JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]{0,99}")
MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@:/-]*")
VARIABLE = re.compile(r"(?!(?:BASH_ENV|ENV|PS4)$)[A-Za-z_][A-Za-z0-9_]*")  # shells execute the values of those three
DIRECTIVE = re.compile(r"[a-z][a-z0-9-]+")
BARE = re.compile(r"[A-Za-z0-9._+=@:/,%*\[\]-]+")  # valid for sbatch without quotes


class ScriptError(ValueError):
    """A template that cannot be rendered, or a value that a script cannot hold."""


@dataclass(frozen=True)
class Template:
    """A job script whose values can be replaced; `name` appears in errors. Raises ScriptError."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if not self.text.startswith("#!"):
            raise ScriptError(f"{self.name}: the first line must name the shell, such as #!/bin/bash")
        commands = False
        for number, line in enumerate(self.text.split("\n"), start=1):
            if not line.startswith("#SBATCH"):
                commands |= bool(line.strip()) and not line.startswith("#")
            elif commands:
                raise ScriptError(f"{self.name}, line {number}: sbatch ignores #SBATCH lines after the first command")
            elif not PIECE.match(line):
                raise ScriptError(f"{self.name}, line {number}: found '{line}', expected #SBATCH --name=value")

    @classmethod
    def read(cls, path: Path) -> "Template":
        """Read the template of a file. Raises OSError, ScriptError."""
        try:
            return cls(str(path), read_given_text(path, LONGEST_FILE))
        except UnicodeDecodeError as error:
            raise ScriptError(f"{path}: not UTF-8 text") from error

    @property
    def directives(self) -> dict[str, str]:
        """Values of the #SBATCH lines by name; empty for those without one, such as `exclusive`."""
        return {match["directive"]: (match["value"] or "").strip('"') for match in self._pieces() if match["directive"]}

    @property
    def assignments(self) -> tuple[str, ...]:
        """Names of the variables that can be set."""
        return tuple(match["name"] for match in self._pieces() if match["name"])

    def render(
        self,
        directives: Mapping[str, object] | None = None,
        assignments: Mapping[str, str | Sequence[str]] | None = None,
        modules: Sequence[str] = (),
        exports: Mapping[str, str] | None = None,
    ) -> str:
        """Put values into the script: directives, variables, modules to load and variables to export.

        A directive without a value is empty, one that is left out None; a variable is a list or tuple where the
        template has one. Raises ScriptError if the template has no place for them, or a value could be misread.
        """
        directives, assignments = dict(directives or {}), dict(assignments or {})
        lines = {"modules": _module_lines(modules), "exports": _export_lines(exports or {})}
        self._refuse_homeless(assignments, lines)
        present = self.directives
        added = [_directive_line(name, value) for name, value in directives.items() if name not in present]
        last = max((match.start() for match in self._pieces() if match["directive"]), default=None)
        if added and last is None:
            raise ScriptError(f"{self.name}: has no #SBATCH line after which others could be added")

        def replaced(match: re.Match[str]) -> str:
            new, comment = [match[0].rstrip("\n")], match["comment"] or ""
            if name := match["directive"]:
                if name in directives:
                    new = [_directive_line(name, directives[name], comment)]
                new += added if match.start() == last else []
            elif (name := match["name"]) in assignments:
                new = [f"{name}={_assigned_value(name, assignments[name], bool(match['array']))}{comment}"]
            elif kind := next((kind for kind in lines if match[kind] and lines[kind]), None):
                new, lines[kind] = lines[kind], []  # at the first of them
            return "".join(line + "\n" for line in new if line)

        return PIECE.sub(replaced, self.text)

    def _pieces(self) -> Iterable[re.Match[str]]:
        return PIECE.finditer(self.text)

    def _refuse_homeless(self, assignments: Mapping, lines: Mapping[str, list[str]]) -> None:
        if unknown := [name for name in assignments if name not in self.assignments]:
            valid = ", ".join(self.assignments) or "none"
            raise ScriptError(f"{self.name}: has no variable {unknown[0]!r} to set; valid: {valid}")
        for kind, placeholder in PLACEHOLDERS.items():
            if lines[kind] and not any(match[kind] for match in self._pieces()):
                raise ScriptError(f"{self.name}: has no line '{placeholder}' that {kind} could replace")


def check_job_name(name: str) -> str:
    """Return `name`, which also goes into file names. Raises ScriptError if invalid."""
    if not JOB_NAME.fullmatch(name):
        raise ScriptError(
            f"job name {name!r}: expected letters, digits and ._+=@- (at most 100, a letter or digit first): it goes "
            "into the names of files"
        )
    return name


def check_values(directives: Mapping[str, object], modules: Sequence[str], exports: Mapping[str, str]) -> None:
    """Raise ScriptError if a value has no place in any script, as `Template.render` does."""
    _module_lines(modules)
    _export_lines(exports)
    for name, value in directives.items():
        _directive_line(name, value)


def _directive_line(name: str, value: object, comment: str = "") -> str:
    """Return the #SBATCH line; sbatch interprets quotes, backslashes and comments there. Empty for the value None."""
    if not DIRECTIVE.fullmatch(name):
        raise ScriptError(f"directive {name!r}: expected the long name of an option of sbatch, such as partition")
    if value is None:
        return ""
    plain_value = _one_line(f"--{name}", str(value))
    if name == "job-name":
        check_job_name(plain_value)
    if '"' in plain_value or "\\" in plain_value:
        raise ScriptError(f"--{name} {value!r}: sbatch would misread double quotes and backslashes in a script")
    written = plain_value if not plain_value or BARE.fullmatch(plain_value) else f'"{plain_value}"'
    return f"#SBATCH --{name}{'=' if written else ''}{written}{comment}"


def _assigned_value(name: str, value: str | Sequence[str], array: bool) -> str:
    if isinstance(value, str) == array:
        either = "a list of words" if array else "one text"
        raise ScriptError(f"{name}: expected {either}, found {value!r}")
    return f"({' '.join(_shell_word(name, word) for word in value)})" if array else _shell_word(name, str(value))


def _module_lines(modules: Sequence[str]) -> list[str]:
    if odd := [module for module in modules if not MODULE.fullmatch(module)]:
        raise ScriptError(f"module {odd[0]!r}: expected a name such as openmpi/4.1.6")
    return [f"module load {module} || exit" for module in modules]


def _export_lines(exports: Mapping[str, str]) -> list[str]:
    if odd := [name for name in exports if not VARIABLE.fullmatch(name)]:
        raise ScriptError(f"variable {odd[0]!r}: expected a name such as UCX_TLS")
    return [f"export {name}={_shell_word(name, value)}" for name, value in exports.items()]


def _shell_word(label: str, text: str) -> str:
    return shlex.quote(_one_line(label, text))


def _one_line(label: str, text: str) -> str:
    """Return `text`. Raises ScriptError for what could end its line, or cannot be written."""
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ScriptError(f"{label} {text!r}: contains a control character or invalid text; remove it")
    return text


# Locations of the job templates, and the settings of a system to run them: small files such as generic.cfg


FOLDER = "allreduce-bench"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]*")
SITE = ("modules", "launcher", "launcher_args", "interface", "ranks_per_node", "venv", "leave_out")
SECTIONS = {"sbatch": "any option of sbatch by its long name", "site": ", ".join(SITE), "variables": "any variable"}
SUBMITS = ("job-name", "nodes", "ntasks", "ntasks-per-node", "array", "output", "dependency")


class SystemFileError(ValueError):
    """An unknown system, or a file that does not describe one."""


@dataclass(frozen=True)
class System:
    """The settings of jobs on one system; empty: the template's own default."""

    name: str
    path: Path
    sbatch: Mapping[str, str | None] = field(default_factory=dict)  # None removes the template's
    modules: tuple[str, ...] = ()
    launcher: str = ""
    launcher_args: str = ""
    interface: str = ""
    ranks_per_node: int | None = None
    venv: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # exported before the run


def jobs_folder() -> Path:
    """Return the folder of the shipped templates, in the checkout or installed. Raises SystemFileError if missing."""
    places = [Path(__file__).parents[2] / "jobs"]
    installed = [sysconfig.get_path("data"), site.getuserbase()]
    places += [Path(data) / "share" / FOLDER / "jobs" for data in installed]
    folder = next((place for place in places if (place / "sweep.sbatch").is_file()), None)
    if not folder:
        raise SystemFileError(f"no sweep.sbatch found in {', '.join(map(str, places))}; reinstall the package")
    return folder


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
        **{name: site_values.get(name, "") for name in ("launcher", "launcher_args", "interface")},
    )


def _places() -> Iterator[Path]:
    """Yield the places of system files, in search order."""
    yield from (Path("jobs") / "systems", Path("."))
    own = environ.get("XDG_CONFIG_HOME", "")
    yield (Path(own) if own else Path.home() / ".config") / FOLDER / "systems"
    yield jobs_folder() / "systems"


def _is_system(path: Path) -> bool:
    """Return whether the file describes a system: in the working folder other programs have .cfg files, too."""
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
    """Return the words of `a, b`, also over several lines."""
    return tuple(word for word in re.split(r"[\s,]+", text) if word)


# The scripts of a sweep: values shared by all jobs of a submission, and the text of each script


COLLECT = "collect"
NOT_FOR_COLLECTING = ("time", "signal", "exclusive", "nodelist", "nodefile")  # a system's, meant for measuring
LEFT_OUT = ("", "auto")  # defaults: a user's template need not have a variable for these values


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """The values shared by the scripts of one submission. Raises ScriptError."""

    sweep: Path  # absolute
    job_name: str  # without -8n
    system: System
    template: Template
    collecting: Template
    venv: str
    command: Sequence[str]  # that submits
    steering: Sequence[str] = ()  # options of run that the plan does not hold
    time_s: float | None = None  # the limit that was asked for

    def __post_init__(self) -> None:
        check_job_name(self.job_name)
        self.limit_s(0.0)

    def limit_s(self, expected_s: float) -> float:
        """Return the limit of a job of this duration: the requested one, the system's own, or twice the duration."""
        if self.time_s is not None:
            return self.time_s
        try:
            site_limit = self.system.sbatch.get("time")
            return parse_limit(site_limit) if site_limit else limit_for(expected_s)
        except ValueError as error:
            raise ScriptError(f"{self.system.path}: [sbatch] time: {error}") from error

    def script(self, job: SweepJob) -> Script:
        """Return the script of the job. Raises ScriptError."""
        limit_s = self.limit_s(job.expected_s)
        signal = self.system.sbatch.get("signal", self.template.directives.get("signal"))
        directives = {
            **self.system.sbatch,
            "job-name": f"{self.job_name}-{job.label}",
            "nodes": job.nodes,
            "ntasks-per-node": job.start.ranks_per_node,
            "time": format_limit(limit_s),
            **({"signal": warning_for(signal, limit_s)} if signal else {}),
            **({"array": job.array} if job.array else {}),
        }
        run = self.sweep if job.run == HERE else self.sweep / job.run
        start_values = {
            "LAUNCHER": job.start.launcher,
            "LAUNCHER_ARGS": job.start.launcher_args,
            "INTERFACE": job.start.interface,
        }
        settable = self.template.assignments
        assignments: dict[str, str | Sequence[str]] = {
            name: value for name, value in start_values.items() if name in settable or value not in LEFT_OUT
        }
        assignments |= {"VENV": self.venv} if "VENV" in settable else {}  # else it brings its own
        assignments |= {"RUN": str(run), "ONLY": job.only, "WHAT": list(self.steering)}
        output = f"{job.label}-%A_%a.out" if job.array else f"{job.label}-%j.out"
        return Script(job.label, self._rendered(self.template, directives, assignments), output)

    def collecting_limit_s(self, jobs: Sequence[SweepJob]) -> float:
        """Return the limit of the collecting job: the template's, but at most theirs, and at most five minutes."""
        longest_s = max(self.limit_s(job.expected_s) for job in jobs)
        return min(parse_limit(self.collecting.directives["time"]), max(SHORT_LIMIT_S, longest_s))

    def collect_script(self, jobs: Sequence[SweepJob]) -> Script:
        """Return the script of the job that collects behind these. Raises ScriptError."""
        site_directives = {name: value for name, value in self.system.sbatch.items() if name not in NOT_FOR_COLLECTING}
        directives = {**site_directives, "job-name": f"{self.job_name}-{COLLECT}"}
        directives |= {"time": format_limit(self.collecting_limit_s(jobs))}
        assignments = {"VENV": self.venv, "SWEEP": str(self.sweep)}
        return Script(COLLECT, self._rendered(self.collecting, directives, assignments), f"{COLLECT}-%j.out")

    def _rendered(self, template: Template, directives: dict, assignments: dict) -> str:
        text = template.render(directives, assignments, self.system.modules, self.system.variables)
        first, rest = text.split("\n", 1)
        return f"{first}\n# Rendered from {escaped(template.name)} by:\n#   {escaped(shlex.join(self.command))}\n{rest}"


# The output about a submission: its jobs as a table, their node-hours, and the facts kept of them


HEADS = ("", "job", "nodes", "ranks", "cells", "limit")  # of the table


def node_hours(rendering: Rendering, jobs: Sequence[SweepJob]) -> tuple[float, float]:
    """Return the node-hours expected, and those if each job takes all of its time once."""
    longest = sum(job.node_hours(rendering.limit_s(job.expected_s)) for job in jobs)
    return sum(job.node_hours(job.expected_s) for job in jobs), longest + rendering.collecting_limit_s(jobs) / 3600


def node_hours_sentence(rendering: Rendering, jobs: Sequence[SweepJob]) -> str:
    """Return the node-hours in a sentence."""
    expected, longest = map(three_digits, node_hours(rendering, jobs))
    return f"node-hours: {expected} expected, {longest} if every job uses its whole time limit once"


def overrun_sentence(rendering: Rendering, jobs: Sequence[SweepJob]) -> str:
    """Name the jobs that will hardly end within their limit, in a sentence; empty: none."""
    names = [job.label for job in jobs if job.expected_s > rendering.limit_s(job.expected_s)]
    return f"may exceed their time limit and be requeued: {', '.join(names)}" if names else ""


def order_rows(rendering: Rendering, jobs: Sequence[SweepJob], ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the table: HEADS, then every job, the collecting one last; an id each, or none at all."""
    limits = [format_limit(rendering.limit_s(job.expected_s)) for job in jobs]
    measuring = [
        (job.label, str(job.nodes), str(job.ranks), str(job.cells), f"{job.tasks} x {limit}" if job.array else limit)
        for job, limit in zip(jobs, limits)
    ]
    rows = [*measuring, (COLLECT, "1", "", "", format_limit(rendering.collecting_limit_s(jobs)))]
    return [HEADS, *((name, number, *others) for (name, *others), number in zip(rows, ids or [""] * len(rows)))]


def commands_of(order: SubmissionOrder) -> list[str]:
    """Return the command lines that would submit it."""
    number = next_number(order.sweep)
    folder = order.sweep / JOBS / str(number)
    scripts = [(script, ()) for script in order.scripts] + [(order.collecting, [s.name for s in order.scripts])]
    return [
        shlex.join(["sbatch", "--parsable", *order.sbatch_arguments(script, number, behind), str(folder / script.file)])
        for script, behind in scripts
    ]


def shown_scripts(order: SubmissionOrder) -> list[str]:
    """Return the lines of all its scripts, each behind the path that it would have, as `head` shows several files."""
    folder = order.sweep / JOBS / str(next_number(order.sweep))
    return [
        line
        for script in (*order.scripts, order.collecting)
        for line in ("", f"==> {folder / script.file} <==", *script.text.splitlines())
    ]


def submission_facts(
    rendering: Rendering,
    jobs: Sequence[SweepJob],
    again: SubmissionChoices,
    submitted: str,
    ids: Sequence[str],
    collect: str,
) -> dict[str, Any]:
    """Return the content of submission.json: the choices, and the task of every job."""
    return {
        "submitted": submitted,
        "command": list(rendering.command),
        "system": rendering.system.name,
        "arguments": list(again.arguments),
        "again": asdict(again),
        "jobs": [_job_facts(rendering, job, number) for job, number in zip(jobs, ids)],
        "collect": collect,
    }


def _job_facts(rendering: Rendering, job: SweepJob, number: str) -> dict[str, Any]:
    return {
        "name": job.name,
        "nodes": job.nodes,
        "ranks_per_node": job.start.ranks_per_node,
        "run": job.run,
        "only": job.only,
        "script": rendering.script(job).file,
        "job": number,
        "array": job.array,
        "limit_s": rendering.limit_s(job.expected_s),
        "expected_s": round(job.expected_s, 1),
    }
