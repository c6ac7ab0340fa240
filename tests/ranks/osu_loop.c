/* Loops in C, to hold compiled Python against. osu_loop is the loop of osu_allreduce (OSU Micro-Benchmarks 7): each rank
   adds up the times of its own calls, with a barrier between two calls that is not timed; the mean over ranks is taken
   by the caller. pair_loop is the same of the least that two ranks can do with messages: one MPI_Sendrecv, and the sum
   of what both had. Loaded into a process that MPI runs in already, so that they call with the same communicator and
   buffers as what they are held against:

       mpicc -O2 -shared -fPIC -o osu_loop.so osu_loop.c

   With STAND_IN it is a program that stands in for osu_allreduce -m MIN:MAX -T mpi_float [-i CALLS -x WARM-UPS] where there is none: the same
   order of calls and barriers, numbers of calls, warm-ups and buffers, and the same table.

       mpicc -O2 -DSTAND_IN -o stand_in osu_loop.c
*/

#define _POSIX_C_SOURCE 200809L
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

#ifdef STAND_IN
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 8192, CALLS = 1000, WARMUPS = 100, CALLS_OF_LARGE = 100, WARMUPS_OF_LARGE = 10 }; /* OSU's defaults */

static float *pages(size_t nbytes, int value)
{
    void *place = NULL;
    if (posix_memalign(&place, sysconf(_SC_PAGESIZE), nbytes))
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(place, value, nbytes);
    return place;
}

int main(int argc, char **argv)
{
    long least = 4, most = 1 << 20;
    static double times_s[CALLS + WARMUPS];
    int rank, ranks;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    int asked_calls = 0, asked_warmups = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "-m"))
            sscanf(argv[i + 1], "%ld:%ld", &least, &most);
        else if (!strcmp(argv[i], "-i"))
            asked_calls = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "-x"))
            asked_warmups = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-T") || strcmp(argv[i + 1], "mpi_float"))
            MPI_Abort(world, 2);
    }
    if (asked_calls + asked_warmups > CALLS + WARMUPS)
        MPI_Abort(world, 2);
    float *send = pages(most, 1), *recv = pages(most, 0);
    if (rank == 0)
        printf("\n# stand-in for the OSU MPI Allreduce Latency Test\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n");
    for (long nbytes = least; nbytes <= most; nbytes *= 2) {
        int warmups = nbytes > LARGE ? WARMUPS_OF_LARGE : WARMUPS, calls = nbytes > LARGE ? CALLS_OF_LARGE : CALLS;
        if (asked_calls)
            warmups = asked_warmups, calls = asked_calls;
        double sum_s = 0, of_ranks_s;
        MPI_Barrier(world);
        if (osu_loop(&world, send, recv, nbytes / sizeof(float), warmups + calls, times_s) != MPI_SUCCESS)
            MPI_Abort(world, 1);
        for (int call = warmups; call < warmups + calls; call++)
            sum_s += times_s[call];
        MPI_Reduce(&sum_s, &of_ranks_s, 1, MPI_DOUBLE, MPI_SUM, 0, world);
        if (rank == 0)
            printf("%-10ld%22.4f\n", nbytes, of_ranks_s / calls / ranks * 1e6);
    }
    return MPI_Finalize();
}
#endif
