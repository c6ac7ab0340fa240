"""The help of commands with many options: in sections, each under its title."""

import click

SECTIONS = {  # the option that begins a section of the help -> its title
    "nodes": "Jobs",
    "ranks": "What is measured",
    "within": "How long and how often",
    "sync": "What a time is",
    "launcher": "How ranks are started",
    "output": "What comes of it",
    "only": "In a job",
    "resume": "When something goes wrong",
}


class Sectioned(click.Command):
    """A command whose help shows its options in SECTIONS."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each section under its title."""
        sections: dict[str, list] = {}
        title = "Options"
        for parameter in self.get_params(ctx):
            title = SECTIONS.get(parameter.name or "", title)
            if record := parameter.get_help_record(ctx):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
