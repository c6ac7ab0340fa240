"""Start and stop of ranks, and their nodes.

In: a plan with launches that have cells left. Out: commands of mpirun or srun, run one after the other and watched.
Read in this order: `supervision` (the launches of a run, each from mpirun's start to its end), `tied_process` (its
mpirun), `own_program` and `wrapped_rank` (programs of users), `restarts` (of these, without lost ranks), `find`
(reachable hosts, the launcher of this MPI, and the scheduler), `launcher` and `launchers` (one file per family),
`layout` (ranks per node); `check_mpi` (the lines of `doctor` about MPIs and launchers).
"""
