"""Start, supervision and stop of ranks, and their nodes.

In: a plan with launches that have cells left. Out: commands of mpirun or srun, run one after the other and watched.
Read in this order: `this_start` (what belongs to one start of `run`), `launches` (which of its launches are worth the
time, one after the other), `launch` (one of them, from the launcher's start to its end), `watched_launch` (its process,
also of `health` and `survive`), `supervisor` (sockets to the ranks), `patience` (detects trouble), `blame` (its cause),
`tied_process` (ends with this one), `leftovers` (of killed ones); `idle_wait`, `live_line` (a terminal); `own_program`
and `wrapped_rank` (programs of users), `restarts` (of these, without lost ranks), `unattended` (ranks that another
program started); `find` (the launcher of this MPI), `silent_hosts`, `login_node`, `launcher` and `launchers` (one file
per family), `layout` (ranks per node); `check_mpi` (the lines of `doctor` about MPIs and launchers).
"""
