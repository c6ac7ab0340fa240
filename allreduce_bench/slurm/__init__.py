"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: submitted job scripts; the outcome of the jobs, and missing cells. Only `commands` starts
processes; scripts are text. Read in this order: `jobs` (of a sweep, and their expected durations), `scripts`
(templates, systems, rendering), `submit`, `order_table` (output about a submission), `commands` (Slurm's commands and
their output), `job_files` (kept beside the run), `job_states` (outcome of jobs and cells), `sweep`; then `check_site`,
`json_schema`.
"""
