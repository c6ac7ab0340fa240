"""JSON Schemas of the files of jobs in a run folder, and of submissions in a sweep."""

from ..runs.json_schema.build import Format, by_name, fields, fields_of, or_null, schema_id, text
from ..runs.json_schema.launch import STAGE
from ..runs.schema import SCHEMA_VERSION
from .commands import SlurmJob
from .job_files import StartRecord, Submission

RECORD = fields(
    fields_of(StartRecord),
    {
        "switches": by_name(text(), "of each node the switches above it, as Slurm says; empty: not known"),
        "stage": or_null(STAGE),
    },
)
SUBMISSION = fields(fields_of(Submission, without=["number"]))
ENDED = by_name(fields(fields_of(SlurmJob)), "by number of a job what Slurm said of its end")
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
