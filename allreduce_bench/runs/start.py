"""How the ranks of a run are started: decided once, kept with the plan."""

from dataclasses import dataclass

from .hosts import HOST
from .typed_json import Positive

AUTO = "auto"
LAUNCHERS = (AUTO, "openmpi", "mpich", "srun")
FIELDS = ("{ranks}", "{nodes}")  # of a template
SSH = "ssh"


class StartError(ValueError):
    """A way to start ranks that makes no sense, in words."""


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

    def __post_init__(self) -> None:
        words = {"arguments": self.launcher_args, "template": self.launcher, "remote shell": self.remote_shell}
        for what, text in words.items():
            if text not in ("", AUTO, SSH):
                _check_words(what, text)
        if self.launcher not in LAUNCHERS:
            _check_template(self.launcher)
        if not self.remote_shell.strip():
            raise StartError("the remote shell is empty; expected a program that is called like ssh")
        if odd := [host for host in self.hosts if not HOST.fullmatch(host)]:  # from a file, it could be an option
            raise StartError(f"'{odd[0]}' is no host; expected such as n1 or n1:8")


def _check_words(what: str, text: str) -> None:
    import shlex  # late: no rank needs it, and all import this

    try:
        shlex.split(text)
    except ValueError as error:
        raise StartError(f"launcher {what} '{text}': {error}") from error


def _check_template(text: str) -> None:
    from string import Formatter  # late, too

    try:
        parsed = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise StartError(f"launcher template '{text}': {error}; a brace that is meant is doubled") from error
    found = [f"{{{name}{'!' if how else ''}{how or ''}{':' if form else ''}{form}}}" for _, name, form, how in parsed]
    if unknown := [field for field in found if field not in FIELDS]:
        raise StartError(f"launcher template '{text}': unknown field {unknown[0]}; known: {', '.join(FIELDS)}")
    if FIELDS[0] not in found:
        raise StartError(
            f"unknown launcher '{text}'; known: {', '.join(LAUNCHERS)}, "
            f"or a template with {FIELDS[0]} such as 'flux run -n {FIELDS[0]}'"
        )


UNASKED = Start()  # everything is left to the launcher
