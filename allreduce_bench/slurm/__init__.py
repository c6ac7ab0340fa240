"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: submitted job scripts; the outcome of the jobs, and missing cells. Only `commands` starts
processes; scripts are text. Read in this order: `submit` (jobs of a sweep, their expected durations, their
submission), `scripts` (templates, systems, rendering, the order as a table), `commands` (Slurm's commands and their
output), `job_files` (kept beside the run), `job_states` (outcome of jobs and cells), `sweep`; then `check_site`.
"""
