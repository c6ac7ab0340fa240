"""What jobs leave in a run folder, and what submissions leave in a sweep, as JSON Schemas."""

from collections.abc import Iterable
from dataclasses import fields as fields_of_class
from typing import Any

from ..runs.json_schema.build import Format, by_name, fields, fields_of, or_null, schema_id, text
from ..runs.json_schema.launch import STAGE
from ..runs.schema import SCHEMA_VERSION
from .commands import SlurmJob
from .job_files import StartRecord, Submission

MEANINGS = {
    "StartRecord.job": "number of the job, or of its array",
    "StartRecord.restart": "how often the job was requeued before",
    "StartRecord.only": "launches that it was to measure, as said by --only; empty: all",
    "StartRecord.nodes": "nodes that it was given",
    "StartRecord.started": "when it began, ISO 8601",
    "StartRecord.task": "number of the task in its array; null: no array",
    "StartRecord.ended": "when it ended, ISO 8601; null: it has not, or without a word",
    "StartRecord.end": "how it ended: done, warned (of its limit), stopped, refused; null: as of ended",
    "StartRecord.why": "why it ended so, in a sentence; null: no reason was said",
    "StartRecord.requeued": "whether it sent itself back to the queue",
    "Submission.submitted": "when the jobs were submitted, ISO 8601",
    "Submission.command": "command that submitted them, word by word",
    "Submission.system": "name of the system",
    "Submission.arguments": "further words for sbatch",
    "Submission.jobs": "the measuring jobs",
    "Submission.collect": "number of the collecting job; null: none",
    "Submission.again": "choices that submit --resume takes again; null: not kept",
    "SubmittedJob.name": "what it is called in tables",
    "SubmittedJob.nodes": "number of nodes",
    "SubmittedJob.job": "number of the job",
    "SubmittedJob.run": "path of the run relative to the sweep",
    "SubmittedJob.only": "launches that it shall measure, as --only takes them",
    "SubmittedJob.ranks_per_node": "ranks of a node; null: as the system says",
    "SubmittedJob.script": "name of its script",
    "SubmittedJob.array": "tasks of the job array, such as 1-5; null: no array",
    "SubmittedJob.limit_s": "limit of its time; unit: s",
    "SubmittedJob.expected_s": "time that it was expected to take; unit: s",
    "SubmissionChoices.system": "path of the file of the system",
    "SubmissionChoices.job_name": "name of the jobs",
    "SubmissionChoices.template": "path of the template; empty: the shipped one",
    "SubmissionChoices.time_s": "limit of the time; null: of the system, or by what is left; unit: s",
    "SubmissionChoices.array": "whether jobs are job arrays",
    "SubmissionChoices.stage": "folder of --stage; empty: none",
    "SubmissionChoices.steering": "options of run",
    "SubmissionChoices.arguments": "further words for sbatch",
    "SlurmJob.id": "number of the job, such as 12 or 12_3",
    "SlurmJob.state": "as Slurm calls it, such as COMPLETED",
    "SlurmJob.reason": "as Slurm says it; empty: none",
    "SlurmJob.nodelist": "its nodes, as Slurm writes them",
    "SlurmJob.elapsed_s": "how long it ran; null: not told; unit: s",
    "SlurmJob.limit_s": "limit of its time; null: none, or not told; unit: s",
    "SlurmJob.exit_code": "status:signal",
    "SlurmJob.by": "who cancelled it",
}


def _all_fields(kind: Any, without: Iterable[str] = ()) -> dict[str, Any]:
    names = [field.name for field in fields_of_class(kind) if field.name not in without]
    return fields_of(kind, names, MEANINGS)


RECORD = fields(
    _all_fields(StartRecord),
    {
        "switches": by_name(text(), "of each node the switches above it, as Slurm says; empty: not known"),
        "stage": or_null(STAGE),
    },
)
SUBMISSION = fields(_all_fields(Submission, without=["number"]))
ENDED = by_name(
    fields(fields_of(SlurmJob, SlurmJob._fields, MEANINGS)), "by number of a job what Slurm said of its end"
)
FORMATS = (
    Format(
        schema_id("job", SCHEMA_VERSION),
        "jobs/job-*.json: how a start of a Slurm job went",
        RECORD,
        ("jobs/job-*.json",),
    ),
    Format(
        schema_id("submission", SCHEMA_VERSION),
        "jobs/*/submission.json of a sweep: the jobs that one submit made",
        SUBMISSION,
        ("jobs/*/submission.json",),
    ),
    Format(
        schema_id("ended", SCHEMA_VERSION),
        "jobs/ended.json of a sweep: what Slurm said of jobs that are over",
        ENDED,
        ("jobs/ended.json",),
    ),
)
