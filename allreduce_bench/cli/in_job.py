"""`run` inside a Slurm job: refuse a job that is too small, keep its record, requeue it."""

import os
import signal
from contextlib import suppress

from ..launching.this_start import ThisStart
from ..runs.command_of_plan import to_continue
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..slurm.allocation import allocation, refuse_few_nodes, why_shared
from ..slurm.commands import SlurmError, requeue, step_energies, switches_of_nodes
from ..slurm.job_files import JobRecord
from ..slurm.sweep import missing_of_run
from ..watching.lifeline import SHARED_VARIABLE, switch_variables
from .types import talk


class InJob:
    """The job that contains this start, if any; as a context manager it records how the runs ended, by any cause."""

    def __init__(self, start: ThisStart):
        self.start, self.control, self.allocation = start, start.control, allocation(os.environ)
        self.records: list[JobRecord] = []  # of each run
        self._planned_cells = self._cells_left = 0  # of its launches, when this start began
        self._ended = False

    def __enter__(self) -> "InJob":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Record the exception as the end of the run, unless an end was recorded before."""
        if error is None or self._ended:
            return
        is_interrupted, output = isinstance(error, KeyboardInterrupt), self.control.output
        is_refused = not self.records and not is_interrupted
        if not self.records and self.allocation and output and RunFolder(output).run_json.is_file():
            self.records = [JobRecord(output, self.allocation, self.control.only)]
        self.record_end("refused" if is_refused else "stopped", "interrupted" if is_interrupted else str(error))

    def choose_launches(self) -> None:
        """Choose the launches of each run for this start. Raises PlanError; RunError if the job is too small."""
        start, skip_hung = self.start, self.control.skip_hung
        start.launches = chosen_launches(start.runs[0].plan, self.control.only)
        self._planned_cells = self._cells_left = 0
        for run in start.runs:
            missing = {launch: run.folder.cells_left(run.plan, launch, skip_hung) for launch in start.launches}
            refuse_few_nodes(self.allocation, run.plan, [launch for launch, cells in missing.items() if cells])
            self._planned_cells += sum(len(run.plan.cells(launch)) for launch in missing)
            self._cells_left += sum(missing.values())

    def begin(self) -> None:
        """Record that the job is at work; tell the ranks which switches are above their nodes.

        Raises as `choose_launches`.
        """
        self.choose_launches()  # meanwhile another job may have begun the run, by another plan
        if self._counts_energy:
            tell_sharing()
        if self.allocation is None:
            return
        self.records = [JobRecord(run.folder.path, self.allocation, self.control.only) for run in self.start.runs]
        switches = tell_switches()
        for record in self.records:
            record.add(switches=switches)

    def record_end(self, end: str, reason: str | None = None, requeued: bool = False) -> None:
        """Record how the run ended; see `JobRecord.end`."""
        self._ended = True
        for record in self.records:
            record.end(end, reason, requeued)

    def end_warned(self) -> str:
        """Return a sentence after the warning: number of missing cells and what happens next; empty: none is missing.

        With --requeue the job is requeued if a cell was finished since its start; a job without progress would be
        requeued forever.
        """
        runs, launches, skip_hung = self.start.runs, self.start.launches, self.control.skip_hung
        left = sum(run.folder.cells_left(run.plan, launch, skip_hung) for run in runs for launch in launches)
        if not left:
            return ""
        cells = f"{left} of {self._planned_cells} cells left"
        refusal = self._requeue(left, cells) if self.control.requeue else ""
        if refusal is None:
            return f"job {self.allocation.name if self.allocation else ''} requeued: {cells}"
        why = f"{cells}; not requeued: {refusal}" if refusal else cells
        sentence = f"the job is near its time limit: {why}; {to_continue(runs[0].folder, self.control.only)}"
        self.record_end("warned", sentence)
        return sentence

    def _requeue(self, left: int, cells: str) -> str | None:
        """Requeue the job; return the reason if it was not requeued, or None: Slurm is about to end the job."""
        if self.allocation is None:
            return "not inside a Slurm job"
        if left >= self._cells_left:
            return "no cell was finished since this start; increase the time limit"
        self.record_end("warned", f"job {self.allocation.name} requeued: {cells}", requeued=True)
        # Slurm ends this process, and scontrol with it
        former_handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            requeue(self.allocation.number)
        except SlurmError as refusal:
            signal.signal(signal.SIGTERM, former_handler)
            return str(refusal)
        return None

    @property
    def _counts_energy(self) -> bool:
        return any(run.plan.energy for run in self.start.runs)

    def keep_energy(self) -> None:
        """Record what Slurm counted of the steps of this job, beside our own count."""
        if self.allocation is None or not self._counts_energy:
            return
        with suppress(SlurmError):  # many sites keep no accounts
            energies_j = step_energies(self.allocation.number)
            for record in self.records:
                record.add(step_energies_j=energies_j)

    def report(self) -> None:
        """Write the reports if requested, unless the job was requeued; a failure is a warning."""
        if not self.control.report or any(record.facts.requeued for record in self.records):
            return
        for folder in (run.folder for run in self.start.runs if run.folder.path.exists()):
            try:
                from ..report.page import write_report  # after measuring, since it loads much

                page = write_report([folder], folder.path / "report.html", missing=[missing_of_run(folder)])
                talk(f"report: {page}")
            except Exception as error:  # whatever it is, the times are kept, and a report can be written later
                talk(f"warning: no report: {error}")


def tell_sharing() -> None:
    """Tell rank 0 why the nodes may not be this job's alone, if there is a reason."""
    os.environ[SHARED_VARIABLE] = why_shared(os.environ)


def tell_switches() -> dict[str, str]:
    """Ask Slurm for the switches above the nodes of this job, and tell rank 0; return node -> path, empty: unknown."""
    job = allocation(os.environ)
    paths = switches_of_nodes(job.nodes) if job else {}
    os.environ.update(switch_variables(paths))
    return paths
