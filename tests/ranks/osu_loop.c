/* Loops in C, to hold compiled Python against. osu_loop is the loop of osu_allreduce (OSU Micro-Benchmarks 7): each rank
   adds up the times of its own calls, with a barrier between two calls that is not timed; the mean over ranks is taken
   by the caller. pair_loop is the same of the least that two ranks can do with messages: one MPI_Sendrecv, and the sum
   of what both had. Loaded into a process that MPI runs in already, so that they call with the same communicator and
   buffers as what they are held against:

       mpicc -O2 -shared -fPIC -o osu_loop.so osu_loop.c
*/

#include <mpi.h>

static inline int all_reduce(const float *send, float *recv, int count, int other, MPI_Comm comm)
{
    (void)other;
    return MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, comm);
}

static inline int exchange(const float *send, float *recv, int count, int other, MPI_Comm comm)
{
    int code = MPI_Sendrecv(send, count, MPI_FLOAT, other, 0, recv, count, MPI_FLOAT, other, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        recv[i] += send[i];
    return code;
}

/* The seconds of each of `calls` calls of the function CALL on `count` floats on this rank, into `times_s`; the handle is
   read at `comm`. Returns the error code of the first call that fails. */
#define LOOP(NAME, CALL)                                                                                             \
    int NAME(const MPI_Comm *comm, const float *send, float *recv, int count, int calls, double *times_s)            \
    {                                                                                                                \
        int rank;                                                                                                    \
        MPI_Comm_rank(*comm, &rank);                                                                                 \
        for (int call = 0; call < calls; call++) {                                                                   \
            double begin = MPI_Wtime();                                                                              \
            int code = CALL(send, recv, count, 1 - rank, *comm);                                                     \
            times_s[call] = MPI_Wtime() - begin;                                                                     \
            if (code != MPI_SUCCESS || (code = MPI_Barrier(*comm)) != MPI_SUCCESS)                                   \
                return code;                                                                                         \
        }                                                                                                            \
        return MPI_SUCCESS;                                                                                          \
    }

LOOP(osu_loop, all_reduce)
LOOP(pair_loop, exchange)
