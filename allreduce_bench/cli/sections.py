"""The help of commands: options in sections, each under its title; examples at the end."""

from typing import Any

import click

HELP_ALL = "help_all"


def examples(*commands: str) -> str:
    """Return the end of a command's help: commands as they are typed, without the name of the program."""
    return "\n".join(["\b", "Examples:", *(f"  allreduce-bench {command}" for command in commands)])


class Sectioned(click.Command):
    """A command whose help shows its options in sections.

    With `first`, the options of a first day by the names of their parameters, --help shows these alone, and --help-all
    the others, too.
    """

    def __init__(self, *args: Any, first: str = "", **keywords: Any):
        super().__init__(*args, **keywords)
        self.first = first.split()
        if first:
            self.params.append(self._help_all_option())

    def _help_all_option(self) -> click.Option:
        options = sum(isinstance(param, click.Option) and not param.hidden for param in self.params)
        said = f"Show all {options + 2} options, and exit."  # with this one and --help
        return click.Option(
            ["--help-all", HELP_ALL], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help=said
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does. Raises OneLineError for two values of a condition: click would take the last one."""
        from .types import OneLineError  # late: the list of commands needs no types

        _, _, given = self.make_parser(ctx).parse_args([*args])
        for param in given:
            if getattr(param, "is_condition", False) and not param.multiple and given.count(param) > 1:
                raise OneLineError(f"{param.opts[-1]}: given twice; two values are two runs, see --against")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each section under its title."""
        sections: dict[str, list] = {}
        title = "Options"
        for parameter in self.get_params(ctx):
            title = parameter.section.value if hasattr(parameter, "section") else title  # else the title before
            if self.first and (parameter.name == HELP_ALL or parameter is self.get_help_option(ctx)):
                title = "Help"
            elif self.first and parameter.name not in self.first and not ctx.meta.get(HELP_ALL):
                continue
            if record := parameter.get_help_record(ctx):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _show_all(context: click.Context, option: click.Parameter, asked: bool) -> None:
    """Print the help with all options, and exit."""
    if asked:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help())
        context.exit()
