"""Options and commands that there were once, and what to do instead."""

_COUNT = "count the program's calls with I_MPI_STATS or mpiP, see docs/profile.md; then: allreduce-bench run --sizes"
_DDP = "only PyTorch's buckets are modelled: choose their length with --bucket-cap"
ADVICE: dict[str, str] = {
    "among": "compare with one log of another system at a time: allreduce-bench compare LOG RUN",
    "exec --profile": _COUNT,
    "run --like": _COUNT,
    "workload --cycle": _DDP,
    "workload --framework": _DDP,
    "workload --fusion": _DDP,
    "workload --groups": "name the ranks that average one gradient with -n, and a rank's own tensors with --shapes",
}
