"""How the ranks of a run are started: decided once, kept with the plan."""

import shlex
from dataclasses import dataclass

AUTO = "auto"


class StartError(ValueError):
    """A way to start ranks that makes no sense, in words."""


@dataclass(frozen=True)
class Start:
    """Launcher, hosts, mapping and binding as they were asked for; empty: left to the launcher."""

    launcher: str = AUTO  # auto, openmpi, mpich, srun, or a template with {ranks}
    launcher_args: str = ""  # further options, one string
    hosts: tuple[str, ...] = ()  # each with an optional :slots
    remote_shell: str = "ssh"  # starts the MPI's daemons on the hosts
    ranks_per_node: int | None = None
    map_by: str = ""
    bind_to: str = ""
    interface: str = ""  # of the network that shall carry the messages

    def __post_init__(self) -> None:
        for what, text in (("arguments", self.launcher_args), ("template", self.launcher)):
            try:
                shlex.split(text)
            except ValueError as error:
                raise StartError(f"launcher {what} '{text}': {error}") from error
