/* Long messages to and fro between processes 0 and 1: bandwidth COUNT BUDGET.
 *
 * COUNT doubles go one way, then the other, in place. The time is that of one way; rounds last about BUDGET us. */
#include "peer.h"

static double *values;
static int count;

static void there_and_back(long rounds)
{
    for (long round = 0; round < rounds; round++) {
        if (rank == 0)
            MPI_Send(values, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(values, count, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(values, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

static int perform(int argc, char **argv)
{
    if (argc != 3 || size != 2) {
        fprintf(stderr, "bandwidth COUNT BUDGET, on two processes\n");
        return 2;
    }
    long rounds;
    count = (int)number(argv[1]);
    values = malloc(sizeof(double) * (size_t)count);
    for (long at = 0; at < count; at++)
        values[at] = rank;
    double us = measure(there_and_back, 2, (double)number(argv[2]), &rounds);
    /* Both have the values of process 0 now. */
    if (values[0] != 0 || values[count - 1] != 0) {
        fprintf(stderr, "the values did not arrive\n");
        return 1;
    }
    told(us, 2 * rounds);
    free(values);
    return 0;
}
