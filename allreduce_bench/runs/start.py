"""How the ranks of a run are started, chosen once and kept with the plan."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from ..machine.variables import drop_values
from ..units import unknown_word
from .option import STARTED, Section, Words, option
from .option_values import HOSTS
from .typed_json import Positive, at_least

AUTO = "auto"
LAUNCHERS = (AUTO, "openmpi", "mpich", "intel", "srun")
FIELDS = ("{ranks}", "{nodes}")  # of a template
SSH = "ssh"
CHECKPOINT_VARIABLE = "ALLREDUCE_BENCH_CHECKPOINT"  # tells a program's ranks the folder of its checkpoints
RESTART_VARIABLE = "ALLREDUCE_BENCH_RESTART"  # tells them which restart this is, from 1
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # its name


class StartError(ValueError):
    """An invalid way to start ranks."""


@dataclass(frozen=True)
class Start:
    """Launcher, hosts, mapping and binding as requested; empty: left to the launcher. Raises StartError."""

    launcher: str = option(
        "--launcher",
        section=Section.STARTED,
        default=AUTO,
        condition=True,
        help="auto, openmpi, mpich, intel, srun, or a template such as 'flux run -n {ranks} -N {nodes}'.",
        metavar="NAME",
        too_late=STARTED,
    )
    launcher_args: str = option(
        "--launcher-args",
        section=Section.STARTED,
        default="",
        condition=True,
        help="Further options of the launcher, in one string, e.g. '--display bind-to'.",
        metavar="WORDS",
        too_late=STARTED,
    )
    hosts: tuple[str, ...] = option(
        "--hosts",
        section=Section.STARTED,
        default=(),
        help="Hosts for the ranks, e.g. n1,n2 or n[1-4]:8, or a file of them: lines n1, n1:8 or n1 slots=8.",
        of=HOSTS,
        too_late=STARTED,
    )
    remote_shell: str = option(
        "--remote-shell",
        section=Section.STARTED,
        default=SSH,
        help="Program that reaches the hosts, called like ssh.",
        metavar="PROGRAM",
        too_late=STARTED,
    )
    ranks_per_node: Positive | None = option(
        "--ranks-per-node",
        section=Section.STARTED,
        default=None,
        condition=True,
        help="Ranks on each node [default: the launcher's].",
        too_late=STARTED,
    )
    # The second names: so Open MPI's mpirun rewrites these words, even behind the program that it starts
    map_by: str = option(
        "--map-by",
        "--mapby",
        section=Section.STARTED,
        default="",
        condition=True,
        help="Placement of ranks, in the syntax of the MPI, e.g. core, socket, ppr:4:node.",
        metavar="WORD",
        too_late=STARTED,
    )
    bind_to: str = option(
        "--bind-to",
        "--bindto",
        section=Section.STARTED,
        default="",
        condition=True,
        help="Binding of ranks, in the syntax of the MPI, e.g. core, socket, none.",
        metavar="WORD",
        too_late=STARTED,
    )
    interface: str = option(
        "--interface",
        section=Section.STARTED,
        default="",
        condition=True,
        help="Network interface for the messages, e.g. hsn0; also under mpirun or srun.",
        metavar="IF",
    )
    virtual_rates_bytes_per_s: tuple[Annotated[float, at_least(1)], ...] = option(  # of each host; empty: real hosts
        "--virtual-hosts",
        section=Section.STARTED,
        default=(),
        help="Measure over N virtual hosts in this machine, with links of --link-rate [default: 100mbit]; see lab.",
        of=int,
        metavar="N",
    )
    variables: tuple[str, ...] = option(
        "-x",
        section=Section.STARTED,
        default=(),
        condition=True,
        help="Variable that the launcher gives to the ranks, e.g. UCX_TLS=tcp; may be repeated. Values of MPIs, "
        "their networks and OpenMP are stored, of others the names only.",
        of=Words("name=value", lambda text: parse_variable(text)),
        metavar="NAME=VALUE",
        repeated=True,
    )

    def __post_init__(self) -> None:
        given_texts = {"arguments": self.launcher_args, "template": self.launcher, "remote shell": self.remote_shell}
        for name, text in given_texts.items():
            if text not in ("", AUTO, SSH):
                _check_shell_words(name, text)
        if self.launcher not in LAUNCHERS:
            _check_template(self.launcher)
        if not self.remote_shell.strip():
            raise StartError("the remote shell is empty; expected a program that is called like ssh")
        names = [name for name, _ in split_variables(self.variables)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise StartError(f"-x {twice}: given twice; a variable has one value in a run")
        if self.hosts:
            from .hosts import HOST  # late: few ranks are given any

            if wrong := next((host for host in self.hosts if not HOST.fullmatch(host)), None):  # it could be an option
                raise StartError(f"'{wrong}' is not a host; expected for example n1 or n1:8")


def parse_variable(text: str) -> str:
    """Return the NAME=VALUE of -x. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals or not VARIABLE.fullmatch(name):
        raise ValueError(f"'{drop_values([text])[0]}': expected NAME=VALUE, such as UCX_TLS=tcp")
    if not value.isprintable():
        raise ValueError(f"{name}: its value has line ends or control characters; expected printable ones")
    return text


def split_variables(variables: Iterable[str]) -> list[tuple[str, str]]:
    """Return (name, value) of each NAME=VALUE."""
    return [(name, value) for name, _, value in (setting.partition("=") for setting in variables)]


UNASKED = Start()  # everything is left to the launcher


def _check_shell_words(name: str, text: str) -> None:
    from shlex import split  # late: no rank needs it

    try:
        split(text)
    except ValueError as error:
        raise StartError(f"launcher {name} '{_shown(text)}': {error}") from error


def _check_template(template: str) -> None:
    from string import Formatter  # late, too

    try:
        parsed = [part for part in Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise StartError(f"launcher template '{_shown(template)}': {error}; write a literal brace twice") from error
    fields = [
        f"{{{name}{'!' if conversion else ''}{conversion or ''}{':' if format_spec else ''}{format_spec}}}"
        for _, name, format_spec, conversion in parsed
    ]
    if unknown := [field for field in fields if field not in FIELDS]:
        raise StartError(
            f"launcher template '{_shown(template)}': unknown field {unknown[0]}; known: {', '.join(FIELDS)}"
        )
    if FIELDS[0] not in fields:
        raise StartError(
            f"{unknown_word('launcher', _shown(template), LAUNCHERS)}, or a template with {FIELDS[0]} such as 'flux "
            f"run -n {FIELDS[0]}'"
        )


def _shown(text: str) -> str:
    """Return a user's text without values of variables."""
    return drop_values([text])[0]
