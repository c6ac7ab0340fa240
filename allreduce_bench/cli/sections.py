"""The help of commands: options in sections, each under its title where they are many; examples at the end."""

from collections.abc import Sequence

import click


def examples(*commands: str) -> str:
    """The end of a command's help: commands as they are typed, without the name of the program."""
    return "\n".join(["\b", "Examples:", *(f"  allreduce-bench {command}" for command in commands)])


class Sectioned(click.Command):
    """A command whose help shows its options in sections, and which knows what other tools call them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say what an option of another tool is called here."""
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.ClickException as error:
            from .types import OneLineError

            if habit := self.habit_of(words):
                raise OneLineError("cli.name_habit", name=self.name, habit=habit) from error
            raise

    def habit_of(self, words: Sequence[str]) -> str:
        """What is said of an option of another tool among the words of the command; empty: there is none."""
        from .refusals import habit_of  # late: only a mistake needs it

        return habit_of(words)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each section under its title."""
        sections: dict[str, list] = {}
        title = "Options"  # then that of the option before it
        for parameter in self.get_params(ctx):
            title = (
                parameter.section.value if hasattr(parameter, "section") else title
            )  # else that of the one before it
            if record := parameter.get_help_record(ctx):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
