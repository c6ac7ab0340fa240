"""Start and stop of ranks, and their nodes.

In: a plan with launches that have cells left. Out: commands of mpirun or srun, run one after the other and watched.
Read in this order: `driver` (the launches of a run), `wait_idle` (for a quiet machine), `supervision` (a launch, from
mpirun's start to its end), `tied_process` (its mpirun), `own_program` and `wrapped_rank` (programs of users), `find`
(the launcher of this MPI), `launcher` and `launchers` (one file per launcher), `rank_options` (options of a rank),
`layout` (ranks per node), `scheduler`, `interface_variables`, `reach` (hosts over ssh), `packing` and `staging` (the
environment on the nodes); `check_mpi` and `check_launchers` are lines of `doctor`,
`pair_launch` is the check of nodes by `health`.
"""
