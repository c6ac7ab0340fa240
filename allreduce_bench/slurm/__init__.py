"""Many runs on a cluster, as Slurm jobs.

In: choices of a sweep. Out: submitted job scripts; the outcome of the jobs, and missing cells. Only `commands` starts
processes. Read in this order: `jobs` (of a plan, their expected durations, what each runs), `system` (its file),
`script` (its text), `submission` (all jobs or none), `sbatch_words` (of the user), `commands` (Slurm's commands and
their output), `times` (as Slurm writes them); `allocation` (of this process), `job_files` (kept beside the run),
`job_states` (outcome of jobs and cells), `sweep`; then `check_site`.
"""
