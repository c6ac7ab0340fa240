"""Job scripts: a template is a valid script with defaults, and rendering replaces its values. Text in, text out.

A template's lines that can be replaced are `#SBATCH --name=value`, `NAME=${NAME:-default}` and `NAME=(words)`, each at
the beginning of its line and with or without a comment, and `# module load ...` and `# export ...`. All else stays.
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..runs.files import read_given_text

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
VARIABLE = re.compile(r"(?!(?:BASH_ENV|ENV|PS4)$)[A-Za-z_][A-Za-z0-9_]*")  # shells execute what stands in those three
DIRECTIVE = re.compile(r"[a-z][a-z0-9-]+")
BARE = re.compile(r"[A-Za-z0-9._+=@:/,%*\[\]-]+")  # what sbatch reads as it stands; other values are put into quotes


class ScriptError(ValueError):
    """Error: a template that cannot be rendered, or a value that a script cannot hold."""


@dataclass(frozen=True)
class Template:
    """A job script whose values can be replaced; `name` is what errors call it. Raises ScriptError."""

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
        """The template of a file. Raises OSError, ScriptError."""
        try:
            return cls(str(path), read_given_text(path, LONGEST_FILE))
        except UnicodeDecodeError as error:
            raise ScriptError(f"{path}: not UTF-8 text") from error

    @property
    def directives(self) -> dict[str, str]:
        """The values of the #SBATCH lines by name; empty for those that have none, such as `exclusive`."""
        return {match["directive"]: (match["value"] or "").strip('"') for match in self._pieces() if match["directive"]}

    @property
    def assignments(self) -> tuple[str, ...]:
        """The names of the variables that can be set."""
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
        template has one. Raises ScriptError where the template has no place for them, or a value could be read as
        something else.
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
    """`name`, which also goes into the names of files. Raises ScriptError."""
    if not JOB_NAME.fullmatch(name):
        raise ScriptError(
            f"job name {name!r}: expected letters, digits and ._+=@- (at most 100, a letter or digit first): "
            "it goes into the names of files"
        )
    return name


def check_values(directives: Mapping[str, object], modules: Sequence[str], exports: Mapping[str, str]) -> None:
    """Raises ScriptError where one of them has no place in any script, as `Template.render` does."""
    _module_lines(modules)
    _export_lines(exports)
    for name, value in directives.items():
        _directive_line(name, value)


def _directive_line(name: str, value: object, comment: str = "") -> str:
    """The #SBATCH line; sbatch knows quotes, backslashes and comments there. Empty for the value None."""
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
        raise ScriptError(f"{name}: expected {'a list of words' if array else 'one text'}, found {value!r}")
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
