"""Programs in place of Slurm's, for tests without one: each answers as a test says, and keeps how it was called."""

import os
import stat
from pathlib import Path

PROGRAMS = ("sbatch", "squeue", "sacct", "scontrol", "scancel", "srun", "salloc", "sinfo")

NUMBERED = """\
for word; do [ "$word" = --test-only ] && exit 0; done
n=$(cat n 2> /dev/null || echo 100)
echo $((n + 1)) | tee n
"""


class SlurmPrograms:
    """A folder of programs, first in PATH; by itself sbatch numbers jobs from 101 and everything else says nothing."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for name in PROGRAMS:
            self.answer(name)
        self.answer("sbatch", NUMBERED)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def answer(self, name: str, bash: str = ":") -> None:
        """Have the program run these lines of bash in its folder, with its arguments, after it has noted them."""
        path = self.folder / name
        path.write_text(
            f'#!/bin/bash\ncd "{self.folder}"\n'
            f'{{ printf "%s\\0" {name} "$@"; printf "\\n"; }} >> calls\nenv > "environment.{name}"\n{bash}\n'
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of every call of the program, in order."""
        log = self.folder / "calls"
        lines = log.read_text().split("\0\n") if log.exists() else []
        words = [line.split("\0") for line in lines if line]
        return [call[1:] for call in words if call[0] == name]

    def environment(self, name: str) -> str:
        """The environment of its last call."""
        return (self.folder / f"environment.{name}").read_text()
