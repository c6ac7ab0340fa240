#!/bin/bash
# Copy a Python environment to the own disk of each node of a Slurm job, and print its folder there.
#   VENV=$(bash jobs/stage.sh .venv /tmp)          in a job; then: "$VENV/bin/allreduce-bench" run ...
# From about 64 nodes up: the start of Python on all of them at once holds up a shared file system.
# The environment is one of venv or conda, with allreduce-bench installed (not pip install -e, which leads back to the
# checkout). The folder is removed when the job ends, also if it is cancelled.
set -euo pipefail
umask 077
[[ $# -eq 2 && -x $1/bin/python && -n ${SLURM_JOB_ID:-} ]] ||
    { echo "error: in a Slurm job: stage.sh ENVIRONMENT DIR, with a bin/python in the environment" >&2; exit 2; }
from=$(realpath -s -- "$1") to=$(realpath -s -- "$2")/allreduce-bench-$SLURM_JOB_ID-$RANDOM
nodes=$SLURM_JOB_NUM_NODES
on_each() { srun --overlap --mpi=none --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 "$@"; }

packed=$(mktemp) && trap 'rm -f -- "$packed"' EXIT
tar -cf "$packed" -C "$from" .
on_each mkdir -- "$to"                 # fails where two nodes share DIR: it is no disk of their own
#   This step ends with the job, and with it the folder.
on_each bash -c 'trap "rm -rf -- \"\$1\"" EXIT; trap exit HUP INT TERM; sleep infinity & wait' hold "$to" \
    < /dev/null > /dev/null 2>&1 &
sbcast "$packed" "$to/packed.tar"
#   Programs of the environment name its interpreter in their first line.
on_each bash -c 'cd "$2" && tar -xf packed.tar && rm packed.tar &&
    { grep -lIrF "#!$1/bin/" bin | xargs -r sed -i "1s|^#!$1/bin/|#!$2/bin/|" && bin/python -c ""; }' unpack "$from" "$to"
echo "$to"
