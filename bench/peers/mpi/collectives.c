/* Collectives: collectives OPERATION COUNT BUDGET.
 *
 *   barrier    COUNT is not used
 *   allreduce  the sum of COUNT doubles
 *   broadcast  COUNT doubles from process 0
 *   allgather  COUNT doubles from each to all
 *   alltoall   COUNT doubles from each to each
 *
 * Rounds last about BUDGET us. */
#include "peer.h"

static double *from, *to;
static int each;

static void barrier(long rounds)
{
    for (long round = 0; round < rounds; round++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(long rounds)
{
    for (long round = 0; round < rounds; round++)
        MPI_Allreduce(from, to, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcast(long rounds)
{
    for (long round = 0; round < rounds; round++)
        MPI_Bcast(from, each, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void allgather(long rounds)
{
    for (long round = 0; round < rounds; round++)
        MPI_Allgather(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(long rounds)
{
    for (long round = 0; round < rounds; round++)
        MPI_Alltoall(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, MPI_COMM_WORLD);
}

static int perform(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "collectives OPERATION COUNT BUDGET\n");
        return 2;
    }
    const char *operation = argv[1];
    long count = number(argv[2]), rounds;
    double budget = (double)number(argv[3]), us, expected = 0, got = 0;
    each = (int)count;
    from = malloc(sizeof(double) * (size_t)(count * size + 1));
    to = malloc(sizeof(double) * (size_t)(count * size + 1));
    for (long at = 0; at < count * size; at++)
        from[at] = rank + 1;
    memset(to, 0, sizeof(double) * (size_t)(count * size + 1));
    if (!strcmp(operation, "barrier")) {
        us = measure(barrier, LEAST, budget, &rounds);
    } else if (!strcmp(operation, "allreduce")) {
        us = measure(allreduce, LEAST, budget, &rounds);
        expected = size * (size + 1) / 2.0;
        got = to[count - 1];
    } else if (!strcmp(operation, "broadcast")) {
        us = measure(broadcast, LEAST, budget, &rounds);
        expected = 1;
        got = from[count - 1];
    } else if (!strcmp(operation, "allgather")) {
        us = measure(allgather, LEAST, budget, &rounds);
        expected = size;
        got = to[count * size - 1];
    } else if (!strcmp(operation, "alltoall")) {
        us = measure(alltoall, LEAST, budget, &rounds);
        expected = size;
        got = to[count * size - 1];
    } else {
        fprintf(stderr, "no operation %s\n", operation);
        return 2;
    }
    if (got != expected) {
        fprintf(stderr, "%f, not %f\n", got, expected);
        return 1;
    }
    told(us, rounds);
    free(from);
    free(to);
    return 0;
}
