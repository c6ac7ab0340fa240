"""`schema`: print the JSON Schemas of the files of a run and of `--format json`, or check files against them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ..runs.files import MOST_NBYTES, read_given
from ..runs.folder import RunFolder
from ..runs.json_schema import folder as runs
from ..runs.json_schema.build import Format
from ..runs.json_schema.check import Violation, document_violations, folder_violations, format_of
from ..slurm import sweep as slurm
from ..tables import columns_of, fitted
from ..wings import load_offers
from .sections import examples
from .types import OneLineError, errors_in_one_line, talk, tell_damages


@click.command(epilog=examples("schema", "schema run", "schema --check results/today"))
@click.argument("words", nargs=-1, metavar="[NAME] | --check PATH...")
@click.option("--check", is_flag=True, help="Check run folders and files; - is stdin. Exit 1 if one does not match.")
@click.option(
    "--as", "as_", metavar="NAME", help="Check files against this schema [default: the schema that each file names]."
)
@errors_in_one_line
def schema(words, check, as_) -> None:
    """Print the JSON Schema of a file of a run folder, or of what a command prints with --format json.

    Without NAME the names are listed with their versions. Within a version no field is removed, and its name, type,
    unit and meaning do not change; fields may be added. --check needs the package jsonschema:
    pip install 'allreduce-bench[schema]'.
    """
    formats = _formats()
    if as_ and not check:
        raise OneLineError("--as needs --check and a path")
    if check:
        _check(formats, words, _named(formats, as_) if as_ else None)
    elif not words:
        rows = [(one.name, str(one.version), one.title) for one in formats]
        click.echo("\n".join(fitted(columns_of(rows, left=(0, 2), heads=0))))
    elif len(words) == 1:
        click.echo(json.dumps(_named(formats, words[0]).document(), indent=1))
    else:
        raise OneLineError(f"schema prints one schema at a time, found {len(words)} names; to check files add --check")


def _formats() -> tuple[Format, ...]:
    """Return all formats, those of a run folder first."""
    from ..models import listing as models  # late, as the next: they load much
    from ..report.formats import document as report

    of_core = [module.SCHEMAS for module in (runs, slurm, report, models)]
    return tuple(format_ for formats in [*of_core, *load_offers("schemas")] for format_ in formats)


def _named(formats: tuple[Format, ...], name: str) -> Format:
    for format_ in formats:
        if name in (format_.name, format_.id):
            return format_
    known = ", ".join(format_.name for format_ in formats)
    raise OneLineError(f"unknown schema '{name}'; known: {known}")


def _check(formats: tuple[Format, ...], words: tuple[str, ...], chosen: Format | None) -> None:
    """Print every violation, and per path the number of files checked. Raises OneLineError if there is any."""
    if not words:
        raise OneLineError("--check: name a run folder or a file, or - for stdin")
    failed = 0
    for word in words:
        number = 0
        for violations in _violations(formats, word, chosen):
            number += 1
            failed += bool(violations)
            if violations:
                click.echo("\n".join(map(str, violations)))
        talk(f"{word}: {number} file{'' if number == 1 else 's'} checked")
    if failed:
        either = " is" if failed == 1 else "s are"
        raise OneLineError(f"{failed} file{either} not valid under the schema", exit_code=1)


def _violations(formats: tuple[Format, ...], word: str, chosen: Format | None) -> Iterator[list[Violation]]:
    """Yield the violations of the schema, file by file."""
    path = Path(word)
    if not path.is_dir():
        content = sys.stdin.buffer.read(MOST_NBYTES) if word == "-" else read_given(path)
        known = chosen or format_of(formats, path, content)
        if known is None:
            raise OneLineError(f"{word}: unknown schema; add --as NAME")
        yield list(document_violations(known, content, word))
        return
    folders = (
        [path] if (path / "run.json").exists() else [path, *sorted(folder.parent for folder in path.glob("*/run.json"))]
    )
    if folders == [path] and not (path / "run.json").exists():
        raise OneLineError(f"{word}: contains no run; expected a run or a sweep")
    tell_damages(map(RunFolder, folders), missing=True)
    for folder in folders:
        for _, violations in folder_violations((chosen,) if chosen else formats, folder):
            yield violations
