"""The script of a job: one function makes it, whole and valid by itself, and no text in it is anything but a value."""

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..units import escaped

MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@:/-]*")
VARIABLE = re.compile(r"(?!(?:BASH_ENV|ENV|PS4)$)[A-Za-z_][A-Za-z0-9_]*")  # shells execute the values of those three
DIRECTIVE = re.compile(r"[a-z][a-z0-9-]+")
BARE = re.compile(r"[A-Za-z0-9._+=@:/,%*\[\]-]+")  # valid for sbatch without quotes
OF_TASK = '"-$SLURM_ARRAY_TASK_ID"'  # behind the last word of a command


class ScriptError(ValueError):
    """A value that a script cannot hold."""


def make_script(
    *,
    made_by: Sequence[str],
    directives: Mapping[str, object],
    command: Sequence[str],
    modules: Sequence[str] = (),
    exports: Mapping[str, str] | None = None,
    run_json: Path | None = None,
    is_array: bool = False,
) -> str:
    """Return the script that runs `command`, whose first word is the path of its program.

    `made_by` is the command that makes it. A directive without a value is empty, one that is left out None. Without
    the file `run_json` the job ends with status 2. In an array the last word of the command gets the task's number,
    8r-3. Raises ScriptError for a value that sbatch or the shell would misread.
    """
    words = [_one_line("command", word) for word in command]
    lines = ["#!/bin/bash", f"# Made by: {escaped(shlex.join(made_by))}", *directive_lines(directives), ""]
    lines += [
        "# The warning before the limit is for the program, and must not end the job before it listens.",
        "trap '' USR1",
    ]
    lines += [*module_lines(modules), *export_lines(exports or {})]
    advice = "submit from an environment that the nodes see, or set venv in the file of the system"
    lines += _end_unless(f"-x {shlex.quote(words[0])}", f"no program {words[0]}; {advice}")
    if run_json:
        path = _one_line("run", str(run_json))
        lines += _end_unless(f"-f {shlex.quote(path)}", f"no run {path}; it was there when this job was submitted")
    lines += [f"exec -- {shlex.join(words)}{OF_TASK if is_array else ''}"]
    return "\n".join(lines) + "\n"


def _end_unless(condition: str, complaint: str) -> list[str]:
    """Return the lines that end the job with status 2 where the condition does not hold."""
    return [f"[[ {condition} ]] || {{", f"    echo {shlex.quote(f'error: {complaint}')} >&2", "    exit 2", "}"]


def directive_lines(directives: Mapping[str, object]) -> list[str]:
    """Return the #SBATCH lines; sbatch interprets quotes, backslashes and comments there. Raises ScriptError."""
    return [_directive_line(name, value) for name, value in directives.items() if value is not None]


def _directive_line(name: str, value: object) -> str:
    if not DIRECTIVE.fullmatch(name):
        raise ScriptError(f"directive {name!r}: expected the long name of an option of sbatch, such as partition")
    text = _one_line(f"--{name}", str(value))
    if '"' in text or "\\" in text:
        raise ScriptError(f"--{name} {value!r}: sbatch would misread double quotes and backslashes in a script")
    written = text if not text or BARE.fullmatch(text) else f'"{text}"'
    return f"#SBATCH --{name}{'=' if written else ''}{written}"


def module_lines(modules: Sequence[str]) -> list[str]:
    """Return the lines that load modules, or end the job. Raises ScriptError."""
    if odd := [module for module in modules if not MODULE.fullmatch(module)]:
        raise ScriptError(f"module {odd[0]!r}: expected a name such as openmpi/4.1.6")
    return [f"module load {module} || exit" for module in modules]


def export_lines(exports: Mapping[str, str]) -> list[str]:
    """Return the lines that export variables. Raises ScriptError."""
    if odd := [name for name in exports if not VARIABLE.fullmatch(name)]:
        raise ScriptError(f"variable {odd[0]!r}: expected a name such as UCX_TLS")
    return [f"export {name}={shlex.quote(_one_line(name, value))}" for name, value in exports.items()]


def _one_line(label: str, text: str) -> str:
    """Return `text`. Raises ScriptError for what could end its line, or cannot be written."""
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ScriptError(f"{label} {text!r}: contains a control character or invalid text; remove it")
    return text
