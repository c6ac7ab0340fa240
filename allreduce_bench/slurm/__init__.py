"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: submitted job scripts; the outcome of the jobs, and missing cells. Only `commands`
starts processes; scripts and Slurm's output are text. Read in this order: `jobs` (of a sweep, and how long they take),
`template`, `scripts`, `submit`, `order_table` (what is said of it), `commands`, `parsing`, `job_files` (kept beside the
run), `job_states` (what became of jobs and cells), `sweep`; then `systems`, `check_site`, `json_schema`.
"""
