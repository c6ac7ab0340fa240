"""The command line: parse, call, print. The only place where the parts are joined; heavy parts are imported late.

In: the words of a command. Out: calls of the other rooms, their results on stdout, exit status 0, 1 or 2. One file
per command; for `run` in this order: `run`, `options` and `measurement` (what may be said), `types` (sizes,
durations, errors in one line), `request` and `plan_of_options` (a plan from them), `run_from_outside` or
`run_as_rank`, `end_of_run`, `in_job` (in a Slurm job); `submit` goes through `sweep_of_options`.
"""

from importlib import import_module

import click

from .. import __version__

COMMANDS = {  # name -> module, attribute
    "run": ("run", "run"),
    "demo": ("demo", "demo"),
    "doctor": ("doctor", "doctor"),
    "health": ("health", "health"),
    "submit": ("submit", "submit"),
    "status": ("status", "status"),
    "collect": ("collect", "collect"),
    "report": ("report", "report"),
    "fit": ("fit", "fit"),
    "compare": ("compare", "compare"),
    "predict": ("predict", "predict"),
    "import": ("import_", "import_"),
    "list": ("show", "list_"),
    "explain": ("show", "explain"),
    "verify": ("show", "verify"),
}


class _Late(click.Group):
    """Imports a command when it is asked for, so that a rank loads no more than it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name]
        return getattr(import_module(f".{module}", __name__), attribute)


@click.group(cls=_Late, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="allreduce-bench")
def main() -> None:
    """Measure, prove, model and explain all-reduce algorithms over MPI.

    Results go to stdout, talk to stderr. Exit status: 0 good, 1 a check failed, 2 bad usage.
    """
