/* Loops in C, to hold compiled Python against. osu_loop is the loop of osu_allreduce (OSU Micro-Benchmarks 7): each rank adds up the times of its own calls, with a barrier
   between two calls that is not timed; the mean over ranks is taken by the caller. Loaded into a process that MPI runs
   in already, so that it calls with the same communicator and buffers as what it is held against:

       mpicc -O2 -shared -fPIC -o osu_loop.so osu_loop.c
*/

#include <mpi.h>

/* The seconds of each of `calls` all-reduces of `count` floats on this rank, into `times_s`; the handle is read at
   `comm`. Returns the error code of the first call that fails. */
int osu_loop(const MPI_Comm *comm, const void *send, void *recv, int count, int calls, double *times_s)
{
    for (int call = 0; call < calls; call++) {
        double begin = MPI_Wtime();
        int code = MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, *comm);
        times_s[call] = MPI_Wtime() - begin;
        if (code != MPI_SUCCESS)
            return code;
        if ((code = MPI_Barrier(*comm)) != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

/* The same of the least that two ranks can do with messages: one MPI_Sendrecv, and the sum of what both had. */
int pair_loop(const MPI_Comm *comm, const float *send, float *recv, int count, int calls, double *times_s)
{
    int rank;
    MPI_Comm_rank(*comm, &rank);
    for (int call = 0; call < calls; call++) {
        double begin = MPI_Wtime();
        int code = MPI_Sendrecv(send, count, MPI_FLOAT, 1 - rank, 0, recv, count, MPI_FLOAT, 1 - rank, 0, *comm,
                                MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            recv[i] += send[i];
        times_s[call] = MPI_Wtime() - begin;
        if (code != MPI_SUCCESS)
            return code;
        if ((code = MPI_Barrier(*comm)) != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}
