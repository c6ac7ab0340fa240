"""`explain --all`: the gallery, a folder of pages about all algorithms."""

from pathlib import Path
from typing import Any

import click

from ..cli.types import OneLineError, given_options

TAKEN = {"every", "output", "ranks", "names"}  # options that go with --all
USUAL_RANKS = 8  # of the pictures


def required_beside_all(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """The value of an option that only --all can do without. Raises click.MissingParameter."""
    if value is None and not context.params.get("every"):
        raise click.MissingParameter(ctx=context, param=option)
    return value


def explain_all(context: click.Context) -> Path:
    """Write the gallery that the options of `explain --all` ask for; return its first page.

    Raises OneLineError for options that do not go with it, and what `write_site` does.
    """
    from .gallery.site import write_site

    chosen = context.params
    others = [name for name in context.params if name in given_options(context) - TAKEN]
    if others:
        words = {parameter.name: parameter.opts[0] for parameter in context.command.params}
        named = " ".join(chosen["algorithms"]) if others[0] == "algorithms" else words[others[0]]
        raise OneLineError(f"--all shows every algorithm in the same way; leave out {named}")
    if chosen["output"] is None:
        raise OneLineError("--all writes a folder of pages; add -o and the name of a new folder, such as -o site")
    ranks = chosen["ranks"] or [USUAL_RANKS]
    if len(ranks) != 1:
        raise OneLineError(f"explain takes a single rank count, found {','.join(map(str, ranks))}")
    return write_site(chosen["output"], ranks[0], chosen["names"])
