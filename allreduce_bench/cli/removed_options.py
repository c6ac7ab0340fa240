"""Options and commands that there were once, and what to do instead."""

_COUNT = "count the program's calls with I_MPI_STATS or mpiP, then: allreduce-bench run --sizes; see docs/profile.md"
_DDP = "only PyTorch's buckets are modelled: choose their length with --bucket-cap"

ADVICE: dict[str, str] = {  # an option, one of a command only, or a command
    "--stage": "copy the environment to the nodes before the run: bash jobs/stage.sh, see jobs/README.md",
    "exec --profile": _COUNT,
    "run --like": _COUNT,
    "workload --groups": "name the ranks that average one gradient with -n, and a rank's own tensors with --shapes",
    "workload --framework": _DDP,
    "workload --fusion": _DDP,
    "workload --cycle": _DDP,
    "among": "compare with one log of another system at a time: allreduce-bench compare LOG RUN",
    "schema": "the formats are described in results/README.md",
    "--template": "put what the site needs into the .cfg file of the system (any option of sbatch, modules, variables, "
    "venv), or sbatch a copy of jobs/sweep.sbatch with RUN and ONLY; see jobs/README.md",
    "--no-limit": "leave it out: long work is no longer refused; --within 10m bounds the time of a run",
}
