"""Wrong words on the command line: options of other tools with their counterparts here, and refusals in one line.

Options with the same meaning everywhere are accepted: `-np 4`, `-w 5`, `-d float`, `--op MPI_SUM`. An option that
means one thing in one tool and another elsewhere is refused, naming the options to use here: `-i` are iterations in
osu_allreduce and bytes of a step in nccl-tests, `-x` are warm-ups in the one and bytes in the other, `-m` are sizes or
calls.
"""

import re
from collections.abc import Sequence

import click

from ..message import say
from ..units import nearest
from .removed_options import ADVICE
from .types import INTERRUPTED, OneLineError

_SIZES = "set the sizes with -b 8 -e 1M -f 2, or --sizes 8,1K,1M"
_ITERS = "set the number of timed calls with --iters 100"
_WARMUPS = "set the number of untimed calls with --warmups 5, or -w 5"
_RANKS = "set the number of ranks with -n 4, or -n 2,4,8 for several"
_CHECKED = "every result is checked, before and after the timed calls"
_FORMAT = "choose the format on stdout with --format json, csv, nccl or osu; -o is the run folder"
_ALL_CALLS = "every call is kept in the run folder; --record all also keeps entry and exit of every rank"
_CPU = "buffers are in host memory, one per rank"

OPTION_HABITS = {
    # nccl-tests
    "-g": f"{_CPU}; {_RANKS}",
    "--ngpus": f"{_CPU}; {_RANKS}",
    "-t": f"each rank is a process; {_RANKS}",
    "--nthreads": f"each rank is a process; {_RANKS}",
    "-i": f"{_ITERS}; {_SIZES}",
    "--stepbytes": f"{_SIZES}",
    "--warmup_iters": _WARMUPS,
    "--warmup-iters": _WARMUPS,
    "--agg_iters": "time calls without a common start with --back-to-back 20",
    "-N": "set the starts with --launches 5, the ranks on each node with --ranks-per-node 8, the nodes with submit",
    "--run_cycles": "set the number of starts with --launches 5",
    "--average": "a time is the maximum over ranks; --record all also keeps those of every rank",
    "-c": _CHECKED,
    "--blocking": "every call is blocking; time calls without a common start with --back-to-back 20",
    "--datatype": "set the element type with -d float32, or --dtype float32",
    "-J": _FORMAT,
    "--output_file": _FORMAT,
    "-I": _ALL_CALLS,
    "--per_iter_timing": _ALL_CALLS,
    "-T": "set the time limit without progress with --timeout 60s, the element type with -d float32",
    "-r": "an all-reduce has no root",
    "--root": "an all-reduce has no root",
    # OSU Micro-Benchmarks
    "-x": _WARMUPS,
    "--warmup": _WARMUPS,
    "--iterations": _ITERS,
    "-m": f"{_SIZES}",
    "--message-size": f"{_SIZES}",
    "-M": "sizes that do not fit into memory are skipped; set the largest size with -e 16M",
    "--mem-limit": "sizes that do not fit into memory are skipped; set the largest size with -e 16M",
    "--full": "print all columns with --format long; --format osu is the layout of osu_allreduce -f",
    "--validation": _CHECKED,
    "-u": _CHECKED,
    "-z": f"percentiles are in summary.csv and in the report; {_ALL_CALLS}",
    "--tail-lat": f"percentiles are in summary.csv and in the report; {_ALL_CALLS}",
    "-G": "make figures with: allreduce-bench report RUN",
    "--graph": "make figures with: allreduce-bench report RUN",
    "-l": "results are out of place",
    # Intel MPI Benchmarks
    "-npmin": _RANKS,
    "--npmin": _RANKS,
    "-msglog": "set sizes 2^3 to 2^20 with -b 8 -e 1M -f 2",
    "--msglog": "set sizes 2^3 to 2^20 with -b 8 -e 1M -f 2",
    "-msglen": f"{_SIZES}",
    "-msgsize": f"{_SIZES}",
    "-iter": _ITERS,
    "-iter_policy": "calls are repeated until --precision or --cell-time; set a fixed number with --iters 100",
    "-time": "limit the time of a cell with --cell-time 2s, that of the run with --within 10m",
    "-mem": "sizes that do not fit into memory are skipped; set the largest size with -e 16M",
    "-off_cache": "use other buffers in each call with --cache cold",
    "-multi": "measure groups at the same time with --groups 2, div:8 or mod:8",
    "-red_data_type": "set the element type with -d float32, or --dtype float32",
    "-include": "choose the algorithms with -a native,ring",
    "-sync": "choose how ranks enter a call together with --sync round_time or --sync barrier",
    # mpirun
    "--np": _RANKS,
    "--host": "name the hosts with --hosts n1:8,n2:8",
    "-hosts": "name the hosts with --hosts n1:8,n2:8",
    "-hostfile": "name a file of hosts with --hostfile FILE",
    "--machinefile": "name a file of hosts with --hostfile FILE",
    "-machinefile": "name a file of hosts with --hostfile FILE",
    "-ppn": "set the ranks on each node with --ranks-per-node 8",
    "--floors": "reference times are measured by default",
    "--no-floors": "leave out the reference times with --no-reference-times",
    "--ntasks-per-node": "set the ranks on each node with --ranks-per-node 8",
}
_MEASURE = "measure with: allreduce-bench run -n 4"
COMMAND_HABITS = {
    "osu_allreduce": f"{_MEASURE} --format osu;",
    "all_reduce_perf": f"{_MEASURE} --format nccl;",
    "imb-mpi1": f"{_MEASURE} -a native;",
    "imb": f"{_MEASURE} -a native;",
    "allreduce": f"{_MEASURE};",
    "bench": f"{_MEASURE};",
    "benchmark": f"{_MEASURE};",
    "plot": "make figures with: allreduce-bench report RUN;",
    "help": "help is an option:",
    "version": "the version is an option: allreduce-bench --version;",
}


# Refusals of wrong words on the command line: one line, printed once for all ranks


NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)  # click's words, in English


def say_refusal(error: Exception, is_interrupted: bool) -> int:
    """Print the error; return the exit status, which is INTERRUPTED if `is_interrupted`.

    An error that is none of click's is an interrupt, too.
    """
    if not isinstance(error, click.ClickException):
        error, is_interrupted = OneLineError("cli.interrupted"), True
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    refusal = (
        error
        if isinstance(error, OneLineError)
        else OneLineError("as_said", words=_sentence(error), exit_code=error.exit_code)
    )
    refusal.show()
    return INTERRUPTED if is_interrupted else refusal.exit_code


def _sentence(error: click.ClickException) -> str:
    """Return click's message, in one line that begins with the command."""
    context = getattr(error, "ctx", None)
    command = _command_of(context)
    said = f"{command}: " if command else ""
    if isinstance(error, click.NoSuchOption):
        return f"{said}{_no_option(error, command)}"
    if isinstance(error, click.MissingParameter):
        return f"{said}{_in_small(error)}; {_meant_or_help('', command)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name(error.param)}: {_bad_value(error.message, error.param)}"
    return f"{said}{_in_small(error)}"


def _command_of(context: click.Context | None) -> str:
    """Return the command, such as `lab ping`; empty: none."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, context.command.name or "")
        context = context.parent
    return " ".join(names)


def _in_small(error: click.ClickException) -> str:
    """Return click's message, without the capital letter and the full stop."""
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _no_option(error: click.NoSuchOption, command: str) -> str:
    """Format `no such option: --withn; did you mean --within? …`."""
    name, options = error.option_name, error.ctx.command.params if error.ctx is not None else []
    if not command:
        return say("cli.no_such_option_before", name=name)
    if advice := ADVICE.get(f"{command} {name}") or ADVICE.get(name):
        return f"no such option: {name}; {advice}"
    known = [text for option in options if isinstance(option, click.Option) for text in option.opts]
    meant = nearest(name, [text for text in known if text.startswith("--")], "--") if name.startswith("--") else ""
    return f"no such option: {name}; {_meant_or_help(meant, command)}"


def _bad_value(message: str, parameter: click.Parameter) -> str:
    """Format `'tabel' is not one of 'table', 'csv'; did you mean table?`."""
    match, kind = NO_CHOICE.match(message), parameter.type
    meant = nearest(match[1], map(str, kind.choices)) if match and isinstance(kind, click.Choice) else ""
    return "; ".join(filter(None, [" ".join(message.split()).rstrip("."), meant]))


def _name(parameter: click.Parameter) -> str:
    """Return `--sync` for an option; for an argument its name in the help."""
    return parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name


def _meant_or_help(meant: str, command: str) -> str:
    """Return the suggestion, and the help command that shows all options or commands."""
    help_option = "--help-all" if command == "run" else "--help"  # of `run`, --help shows but the first
    words = " ".join(filter(None, ["allreduce-bench", command, help_option]))
    return " ".join(filter(None, [meant, say("cli.shows", words=words)]))


def unknown_command(name: str, known: Sequence[str]) -> OneLineError:
    """Return the refusal of a command that is not one of `known`."""
    if name in ADVICE:
        return OneLineError("as_said", words=f"no such command: '{name}'; {ADVICE[name]}")
    meant = COMMAND_HABITS.get(name.lower().partition(".")[0]) or nearest(name, known)
    return OneLineError("cli.no_such_command", name=name, meant=_meant_or_help(meant, ""))


def option_of_another_tool(command: str | None, words: Sequence[str]) -> OneLineError | None:
    """Return the refusal of an option of another tool among the `words` of a command; None: there is none."""
    habit = habit_of(words)
    return OneLineError("cli.name_habit", name=command, habit=habit) if habit else None


def habit_of(words: Sequence[str]) -> str:
    """Return advice on the first option of another tool among `words`, the words of a command; empty: none."""
    for word in words:
        if word == "--":
            break
        if habit := OPTION_HABITS.get(word.partition("=")[0]):
            return f"no such option: {word.partition('=')[0]}; {habit}"
    return ""
