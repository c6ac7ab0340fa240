"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: submitted job scripts; the outcome of the jobs, and missing cells. Only `commands`
starts processes; scripts and Slurm's output are text. Read in this order: `jobs`, `template`, `scripts`, `submit`,
`commands`, `parsing`, `job_files` and `job_record` (kept beside the run), `job_states`, `endings`, `fates`, `sweep`,
`status`; then `systems`, `estimate`, `order_table`, `allocation`, `tasks`, `sbatch_words`, `check_site`.
"""
