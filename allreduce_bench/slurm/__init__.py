"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: job scripts, submitted; what became of them, and which cells are missing. Only `commands`
starts processes; scripts and what Slurm says are text. Read in this order: `jobs`, `template`, `scripts`, `submit`,
`commands`, `parsing`, `job_files` and `job_record` (kept beside the run), `job_states`, `endings`, `fates`, `sweep`,
`status`; then `systems`, `estimate`, `order_table`, `allocation`, `nodelist`, `tasks`, `sbatch_words`, `check_site`.
"""
