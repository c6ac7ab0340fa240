"""The scripts of a sweep: what every job of a submission shares, and the text of each of them. Text in, text out."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .jobs import HERE, SHORT_LIMIT_S, SweepJob, format_limit, limit_for, parse_limit, warning_for
from .submit import Script
from .systems import System
from .template import ScriptError, Template, check_job_name

COLLECT = "collect"
NOT_FOR_COLLECTING = ("time", "signal", "exclusive", "nodelist", "nodefile")  # a system's, meant for measuring
LEFT_OUT = ("", "auto")  # defaults: a user's template need not have a variable for these values


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """What the scripts of one submission have in common. Raises ScriptError."""

    sweep: Path  # absolute
    job_name: str  # without -8n
    system: System
    template: Template
    collecting: Template
    venv: str
    command: Sequence[str]  # that submits
    stage: str = ""
    steering: Sequence[str] = ()  # options of run that the plan does not hold
    time_s: float | None = None  # the limit that was asked for

    def __post_init__(self) -> None:
        check_job_name(self.job_name)
        self.limit_s(0.0)

    def limit_s(self, expected_s: float) -> float:
        """The limit of a job that takes so long: the one asked for, the system's own, or twice that."""
        if self.time_s is not None:
            return self.time_s
        try:
            site_limit = self.system.sbatch.get("time")
            return parse_limit(site_limit) if site_limit else limit_for(expected_s)
        except ValueError as error:
            raise ScriptError(f"{self.system.path}: [sbatch] time: {error}") from error

    def script(self, job: SweepJob) -> Script:
        """The script that submits the job. Raises ScriptError."""
        limit_s = self.limit_s(job.expected_s)
        signal = self.system.sbatch.get("signal", self.template.directives.get("signal"))
        directives = {
            **self.system.sbatch,
            "job-name": f"{self.job_name}-{job.label}",
            "nodes": job.nodes,
            "ntasks-per-node": job.start.ranks_per_node,
            "time": format_limit(limit_s),
            **({"signal": warning_for(signal, limit_s)} if signal else {}),
            **({"array": job.array} if job.array else {}),
        }
        run = self.sweep if job.run == HERE else self.sweep / job.run
        start_values = {
            "LAUNCHER": job.start.launcher,
            "LAUNCHER_ARGS": job.start.launcher_args,
            "INTERFACE": job.start.interface,
            "STAGE": self.stage,
        }
        settable = self.template.assignments
        assignments: dict[str, str | Sequence[str]] = {
            name: value for name, value in start_values.items() if name in settable or value not in LEFT_OUT
        }
        assignments |= {"VENV": self.venv} if "VENV" in settable else {}  # else it brings one of its own
        assignments |= {"RUN": str(run), "ONLY": job.only, "WHAT": list(self.steering)}
        output = f"{job.label}-%A_%a.out" if job.array else f"{job.label}-%j.out"
        return Script(job.label, self._rendered(self.template, directives, assignments), output)

    def collecting_limit_s(self, jobs: Sequence[SweepJob]) -> float:
        """The limit of the job behind these: the template's, but not longer than theirs, or than five minutes."""
        longest_s = max(self.limit_s(job.expected_s) for job in jobs)
        return min(parse_limit(self.collecting.directives["time"]), max(SHORT_LIMIT_S, longest_s))

    def collect_script(self, jobs: Sequence[SweepJob]) -> Script:
        """The script that submits the job that collects behind these. Raises ScriptError."""
        site_directives = {name: value for name, value in self.system.sbatch.items() if name not in NOT_FOR_COLLECTING}
        directives = {**site_directives, "job-name": f"{self.job_name}-{COLLECT}"}
        directives |= {"time": format_limit(self.collecting_limit_s(jobs))}
        assignments = {"VENV": self.venv, "SWEEP": str(self.sweep)}
        return Script(COLLECT, self._rendered(self.collecting, directives, assignments), f"{COLLECT}-%j.out")

    def _rendered(self, template: Template, directives: dict, assignments: dict) -> str:
        text = template.render(directives, assignments, self.system.modules, self.system.variables)
        first, rest = text.split("\n", 1)
        command = _comment_text(shlex.join(self.command))
        return f"{first}\n# Rendered from {_comment_text(template.name)} by:\n#   {command}\n{rest}"


def _comment_text(text: str) -> str:
    """Put any text into one line: what cannot be printed is written as Python does."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
