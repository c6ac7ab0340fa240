/* Calls all-reduces of every kind, for tests of `exec --profile`; an argument says how it ends: well or abort. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static MPI_Comm comms[2];

static void first_of_three(void *in, void *inout, int *number, MPI_Datatype *type) {
    for (int place = 0; place < *number; place++) ((double *)inout)[3 * place] += ((double *)in)[3 * place];
}

static void *calls(void *number) {
    int one = 1, sum;
    for (int call = 0; call < 1000; call++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[(long)number]);
    return NULL;
}

int main(int number, char **words) {
    int level, rank, ranks, wrong = 0;
    double x[100] = {0}, y[100];
    char bytes[1200] = {0}, others[1200];
    MPI_Init_thread(&number, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* more kinds than are kept */
    for (int size = 0; size < 1200; size++) MPI_Allreduce(bytes, others, size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);

    for (int call = 0; call < 7; call++) {
        x[99] = rank + 1;
        MPI_Allreduce(x, y, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        wrong += y[99] != ranks * (ranks + 1) / 2;
    }
    MPI_Allreduce(MPI_IN_PLACE, y, 10, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    MPI_Request requests[2];
    MPI_Iallreduce(x, y, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Allreduce_init(x, y, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Allreduce_init(x, y, 3, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(x + 50, y + 50, 4, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int call = 0; call < 5; call++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int each = 0; each < 2; each++) MPI_Request_free(&requests[each]);

    for (int call = 0; call < 50; call++) { /* types and operations of its own: MPI uses their handles again */
        MPI_Datatype type;
        MPI_Op op;
        MPI_Type_vector(1 + call % 2, 1, 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(first_of_three, 1, &op);
        MPI_Allreduce(x, y, 1, type, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        MPI_Type_free(&type);
    }
    for (int call = 0; call < 20; call++) {
        MPI_Comm alone;
        MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
        MPI_Allreduce(x, y, 6, MPI_FLOAT, MPI_PROD, alone);
        MPI_Comm_free(&alone);
    }

    pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);

    if (level == MPI_THREAD_MULTIPLE) {
        pthread_t threads[2];
        for (long each = 0; each < 2; each++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[each]);
        for (long each = 0; each < 2; each++) pthread_create(&threads[each], NULL, calls, (void *)each);
        for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    } else {
        for (long each = 0; each < 2; each++) comms[each] = MPI_COMM_WORLD;
        for (long each = 0; each < 2; each++) calls((void *)each);
    }
    if (wrong) puts("wrong sums");
    if (number > 1 && !strcmp(words[1], "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
