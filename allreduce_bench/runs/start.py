"""How the ranks of a run are started: decided once, kept with the plan."""

import re
from dataclasses import dataclass, field
from typing import Annotated

from ..units import unknown_word
from .typed_json import LATER, Positive, at_least

AUTO = "auto"
LAUNCHERS = (AUTO, "openmpi", "mpich", "intel", "srun")
FIELDS = ("{ranks}", "{nodes}")  # of a template
SSH = "ssh"
HOST = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,6}))?")  # and slots


class StartError(ValueError):
    """A way to start ranks that makes no sense."""


@dataclass(frozen=True)
class Start:
    """Launcher, hosts, mapping and binding as they were asked for; empty: left to the launcher. Raises StartError."""

    launcher: str = AUTO  # one of LAUNCHERS, or a template with {ranks}
    launcher_args: str = ""  # further options, one string
    hosts: tuple[str, ...] = ()  # each with an optional :slots
    remote_shell: str = SSH  # starts the MPI's daemons on the hosts
    ranks_per_node: Positive | None = None
    map_by: str = ""
    bind_to: str = ""
    interface: str = ""  # of the network that shall carry the messages
    # Of each host's link, where the hosts are virtual ones of one machine; empty: they are machines
    virtual_rates_bytes_per_s: tuple[Annotated[float, at_least(1)], ...] = field(default=(), metadata=LATER)

    def __post_init__(self) -> None:
        given_texts = {"arguments": self.launcher_args, "template": self.launcher, "remote shell": self.remote_shell}
        for name, text in given_texts.items():
            if text not in ("", AUTO, SSH):
                _check_shell_words(name, text)
        if self.launcher not in LAUNCHERS:
            _check_template(self.launcher)
        if not self.remote_shell.strip():
            raise StartError("the remote shell is empty; expected a program that is called like ssh")
        for host in self.hosts:
            if not HOST.fullmatch(host):  # from a file, it could be an option
                raise StartError(f"'{host}' is not a host; expected for example n1 or n1:8")


def _check_shell_words(name: str, text: str) -> None:
    import shlex  # late: no rank needs it, and all import this

    try:
        shlex.split(text)
    except ValueError as error:
        raise StartError(f"launcher {name} '{_shown(text)}': {error}") from error


def _shown(text: str) -> str:
    """What a user gave, without possible secrets."""
    from ..machine.node import hide_secrets  # late, as above

    return hide_secrets([text])[0]


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
            f"{unknown_word('launcher', _shown(template), LAUNCHERS)}, "
            f"or a template with {FIELDS[0]} such as 'flux run -n {FIELDS[0]}'"
        )


UNASKED = Start()  # everything is left to the launcher
