"""Sweeps as Slurm jobs: scripts and what Slurm says of them are text; one module, `commands`, starts processes."""
